//! The network of one node for META key 10: what a machine on metal has before it has a configuration.
//!
//! [`text`] writes addresses, links, routes, hostname, resolvers and time servers of a [`NodePlan`] the way Talos reads them.
//! Every port is named as a link, because Talos asks DHCP servers on each port that no platform speaks of.
//!
//! Not here: what Talos makes of the text ([`talos::platform_network`](crate::talos::platform_network)), and addresses
//! that move between machines, which need a configuration.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Map, Value, json};

use crate::cluster::section::{Addressing, BondHash, BondMode, Link};
use crate::cluster::value::LinkName;
use crate::plan::NodePlan;
use crate::talos::emit;

/// The metric of a route that names none.
const METRIC: u32 = 1024;

/// What META key 10 of `node` holds.
pub fn text(node: &NodePlan) -> String {
    emit::emit(&network(node))
}

/// The same as a value.
pub fn network(node: &NodePlan) -> Value {
    let mut all = Parts::default();
    all.ports(node);
    all.dummies(node);
    for link in node.settings.links.values() {
        all.link(node, link);
    }
    all.node_address(node);
    for (address, _) in node.loopback.iter() {
        all.address("lo", address);
    }
    let network = node.settings.network.get();
    let dns: Vec<String> =
        network.into_iter().flat_map(|network| network.dns.values()).map(IpAddr::to_string).collect();
    let ntp: Vec<&str> =
        network.into_iter().flat_map(|network| network.ntp.values()).map(|name| name.as_str()).collect();
    let mut value = Map::new();
    let mut put = |name: &str, items: Vec<Value>| {
        if !items.is_empty() {
            value.insert(name.to_owned(), Value::Array(items));
        }
    };
    put("addresses", all.addresses);
    put("links", all.links);
    put("routes", all.routes);
    put("hostnames", vec![json!({"hostname": node.name.as_str(), "layer": "platform"})]);
    put(
        "resolvers",
        if dns.is_empty() { vec![] } else { vec![json!({"dnsServers": dns, "layer": "platform"})] },
    );
    put(
        "timeServers",
        if ntp.is_empty() { vec![] } else { vec![json!({"timeServers": ntp, "layer": "platform"})] },
    );
    put("operators", all.operators);
    Value::Object(value)
}

#[derive(Default)]
struct Parts {
    addresses: Vec<Value>,
    links: Vec<Value>,
    routes: Vec<Value>,
    operators: Vec<Value>,
}

impl Parts {
    fn ports(&mut self, node: &NodePlan) {
        let links: Vec<&Link> = node.settings.links.values().collect();
        for port in &node.ports {
            let name = port.name.as_str();
            let own = links.iter().find(|link| is_named(link, name));
            let mtu = own.and_then(|link| link.mtu.value()).or_else(|| shared_mtu(node));
            let mut value =
                json!({"name": name, "logical": false, "up": true, "mtu": mtu.map_or(0, |mtu| mtu.0)});
            enslave(&mut value, name, &links);
            value["layer"] = json!("platform");
            self.links.push(value);
            let carries = node.link.value.as_str() == name;
            let written = own.and_then(|link| link.dhcp.value());
            let free = value_is_free(self.links.last())
                && !carries
                && own.is_none_or(|link| !link.addresses.is_set());
            let asks = if carries { node.addressing.value != Addressing::Static } else { free };
            if written.unwrap_or(asks) {
                self.ask(name);
            }
        }
    }

    /// A DHCP client on a link.
    fn ask(&mut self, link: &str) {
        self.operators.push(json!({"operator": "dhcp4", "linkName": link, "requireUp": true,
            "dhcp4": {"routeMetric": METRIC}, "layer": "platform"}));
    }

    fn dummies(&mut self, node: &NodePlan) {
        for dummy in &node.dummies {
            let name = dummy.name.as_str();
            let mtu =
                node.settings.network.get().and_then(|network| {
                    network.dummy.get()?.get(name).and_then(|dummy| dummy.value.mtu.value())
                });
            self.links
                .push(json!({"name": name, "logical": true, "up": true, "mtu": mtu.map_or(0, |mtu| mtu.0),
                "kind": "dummy", "type": "ether", "layer": "platform"}));
            for (address, _) in dummy.address.iter() {
                self.address(name, address);
            }
        }
    }

    /// A bond, VLAN or bridge, and what any link has of addresses and routes.
    fn link(&mut self, node: &NodePlan, link: &Link) {
        let Some(name) = link.name.get().map(LinkName::as_str) else { return };
        if let Some(made) = made(node, link, name) {
            self.links.push(made);
            if link.dhcp.value() == Some(true) {
                self.ask(name);
            }
        }
        for address in link.addresses.values() {
            self.address(name, address.0);
        }
        for route in link.routes.values() {
            let to = route.to.get().map(|to| to.0);
            self.route(name, to, route.via.value(), route.metric.value().unwrap_or(METRIC));
        }
    }

    fn node_address(&mut self, node: &NodePlan) {
        if node.addressing.value != Addressing::Static {
            return;
        }
        let link = node.link.value.as_str();
        for (address, _) in node.address.iter() {
            self.address(link, address);
        }
        let network = node.settings.network.get().and_then(|network| network.node.get());
        let metric = network.and_then(|network| network.metric.value()).unwrap_or(METRIC);
        let v4 = node.gateway.v4.as_ref().map(|v4| IpAddr::V4(v4.value));
        let v6 = node.gateway.v6.as_ref().map(|v6| IpAddr::V6(v6.value));
        for gateway in v4.into_iter().chain(v6) {
            self.route(link, None, Some(gateway), metric);
        }
    }

    fn address(&mut self, link: &str, address: IpNet) {
        self.addresses
            .push(json!({"address": address.to_string(), "linkName": link, "family": family(address.addr()),
            "scope": "global", "flags": "permanent", "layer": "platform"}));
    }

    fn route(&mut self, link: &str, to: Option<IpNet>, via: Option<IpAddr>, metric: u32) {
        let Some(address) = via.or(to.map(|to| to.addr())) else { return };
        // Talos calls the way to everywhere "": a prefix of length 0 it would not compare equal to the kernel's.
        let to = to.filter(|to| to.prefix_len() > 0).map(|to| to.to_string()).unwrap_or_default();
        self.routes.push(json!({"family": family(address), "dst": to,
            "gateway": via.map(|via| via.to_string()).unwrap_or_default(), "outLinkName": link, "table": "main",
            "priority": metric, "scope": if via.is_some() { "global" } else { "link" }, "type": "unicast",
            "protocol": "static", "layer": "platform"}));
    }
}

fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "inet4" } else { "inet6" }
}

fn is_named(link: &Link, name: &str) -> bool {
    link.name.get().is_some_and(|own| own.as_str() == name)
}

fn shared_mtu(node: &NodePlan) -> Option<crate::cluster::value::Mtu> {
    node.settings.network.get().and_then(|network| network.mtu.value())
}

/// Whether a link belongs to no bond or bridge.
fn value_is_free(link: Option<&Value>) -> bool {
    link.is_none_or(|link| link.get("masterName").is_none() && link.get("bridgeSlave").is_none())
}

/// Puts a link into the bond or bridge that names it.
fn enslave(value: &mut Value, name: &str, links: &[&Link]) {
    for link in links {
        let Some(master) = link.name.get().map(LinkName::as_str) else { continue };
        let position = |members: &[&LinkName]| members.iter().position(|member| member.as_str() == name);
        if let Some(nth) = link.bond.get().and_then(|bond| position(&bond.links.values().collect::<Vec<_>>()))
        {
            value["masterName"] = json!(master);
            value["slaveIndex"] = json!(nth);
        }
        if let Some(bridge) = link.bridge.get()
            && position(&bridge.links.values().collect::<Vec<_>>()).is_some()
        {
            value["bridgeSlave"] = json!({"masterName": master});
        }
    }
}

/// A link that is made, as opposed to a port.
fn made(node: &NodePlan, link: &Link, name: &str) -> Option<Value> {
    let mtu = link.mtu.value().or_else(|| shared_mtu(node)).map_or(0, |mtu| mtu.0);
    let mut value =
        json!({"name": name, "logical": true, "up": true, "mtu": mtu, "kind": "", "type": "ether"});
    if let Some(bond) = link.bond.get() {
        let mode = bond.mode.value().unwrap_or(BondMode::ActiveBackup);
        let hash = bond.hash.value().map_or("layer2", BondHash::word);
        let hash = if mode == BondMode::Lacp && !bond.hash.is_set() { "layer3+4" } else { hash };
        value["kind"] = json!("bond");
        // By number: 1.11 reads no name here, and later releases still read the number.
        value["bondMaster"] = json!({"mode": mode.word(), "xmitHashPolicy": hash, "lacpRate": "slow", "arpValidate": "none",
            "arpAllTargets": "any", "primaryReselect": "always", "failOverMac": 0,
            "miimon": bond.miimon.value().unwrap_or(100)});
    } else if let Some(vlan) = link.vlan.get() {
        value["kind"] = json!("vlan");
        value["parentName"] = json!(vlan.link.get()?.as_str());
        value["vlan"] = json!({"vlanID": vlan.id.value()?.0, "vlanProtocol": "802.1q"});
    } else if let Some(bridge) = link.bridge.get() {
        value["kind"] = json!("bridge");
        value["bridgeMaster"] = json!({"stp": {"enabled": bridge.stp.value().unwrap_or(false)}});
    } else {
        return None;
    }
    let links: Vec<&Link> = node.settings.links.values().collect();
    enslave(&mut value, name, &links);
    value["layer"] = json!("platform");
    Some(value)
}
