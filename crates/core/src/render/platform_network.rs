//! The network of one node for META key 10, which a metal machine uses until it is configured.
//!
//! [`text`] writes addresses, links, routes, hostname, resolvers and time servers of a [`NodePlan`] in Talos' format. Every
//! port is listed as a link, because Talos uses DHCP on each port that the platform does not mention.
//!
//! Not here: how Talos reads the text ([`talos::platform_network`](ichor_talos::platform_network)), and VIPs, which require a
//! configuration.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Map, Value, json};

use crate::plan::link::METRIC;
use crate::plan::{ConfigStage, LinkKind, LinkPlan, Master, NodePlan, RoutePlan};
use crate::render::machine::network::{name_servers, time_servers};
use ichor_values::go_yaml::emit;

/// The value of META key 10 of `node`.
pub fn text(node: &NodePlan) -> String {
    emit::emit(&network(node))
}

/// The same as a value.
pub fn network(node: &NodePlan) -> Value {
    let links = node.links(ConfigStage::Boot);
    let (dns, ntp) = (name_servers(node), time_servers(node));
    let addresses = links.iter().flat_map(|link| link.addresses.iter().map(|net| address(link, *net)));
    let routes =
        links.iter().flat_map(|link| link.routes.iter().filter_map(|route| self::route(link, route)));
    let mut value = Map::new();
    let mut put = |name: &str, items: Vec<Value>| {
        if !items.is_empty() {
            value.insert(name.to_owned(), Value::Array(items));
        }
    };
    put("addresses", addresses.collect());
    put("links", links.iter().filter(|link| link.kind != LinkKind::Loopback).map(self::link).collect());
    put("routes", routes.collect());
    put("hostnames", vec![json!({"hostname": node.name.as_str(), "layer": "platform"})]);
    put(
        "resolvers",
        if dns.is_empty() { vec![] } else { vec![json!({"dnsServers": dns, "layer": "platform"})] },
    );
    put(
        "timeServers",
        if ntp.is_empty() { vec![] } else { vec![json!({"timeServers": ntp, "layer": "platform"})] },
    );
    put("operators", links.iter().filter(|link| link.dhcp).map(dhcp_operator).collect());
    Value::Object(value)
}

/// A DHCP client on a link.
fn dhcp_operator(link: &LinkPlan) -> Value {
    json!({"operator": "dhcp4", "linkName": link.name.as_str(), "requireUp": true,
        "dhcp4": {"routeMetric": METRIC}, "layer": "platform"})
}

fn address(link: &LinkPlan, address: IpNet) -> Value {
    json!({"address": address.to_string(), "linkName": link.name.as_str(), "family": family(address.addr()),
        "scope": "global", "flags": "permanent", "layer": "platform"})
}

fn route(link: &LinkPlan, route: &RoutePlan) -> Option<Value> {
    // The destination of a default route is "": a prefix of length 0 does not compare equal to the kernel's route in Talos.
    let to = route.to.filter(|to| to.prefix_len() > 0).map(|to| to.to_string()).unwrap_or_default();
    Some(json!({"family": family(route.family()?), "dst": to,
        "gateway": route.via.map(|via| via.to_string()).unwrap_or_default(), "outLinkName": link.name.as_str(),
        "table": "main", "priority": route.metric, "scope": if route.via.is_some() { "global" } else { "link" },
        "type": "unicast", "protocol": "static", "layer": "platform"}))
}

fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "inet4" } else { "inet6" }
}

fn link(link: &LinkPlan) -> Value {
    let mtu = link.mtu.map_or(0, |mtu| mtu.0);
    let is_logical = !matches!(link.kind, LinkKind::Port { .. } | LinkKind::Loopback);
    let mut value = json!({"name": link.name.as_str(), "logical": is_logical, "up": true, "mtu": mtu});
    if is_logical {
        value["kind"] = json!("");
        value["type"] = json!("ether");
    }
    match &link.kind {
        LinkKind::Loopback | LinkKind::Port { .. } => {}
        LinkKind::Dummy => value["kind"] = json!("dummy"),
        LinkKind::Bond { mode, miimon, hash, .. } => {
            value["kind"] = json!("bond");
            // By number: 1.11 does not read a name here, and later releases still read the number.
            value["bondMaster"] = json!({"mode": mode.word(), "xmitHashPolicy": hash.word(), "lacpRate": "slow",
                "arpValidate": "none", "arpAllTargets": "any", "primaryReselect": "always", "failOverMac": 0,
                "miimon": miimon});
        }
        LinkKind::Vlan { id, link } => {
            value["kind"] = json!("vlan");
            value["parentName"] = json!(link.as_str());
            value["vlan"] = json!({"vlanID": id.0, "vlanProtocol": "802.1q"});
        }
        LinkKind::Bridge { stp, .. } => {
            value["kind"] = json!("bridge");
            value["bridgeMaster"] = json!({"stp": {"enabled": stp}});
        }
    }
    match &link.master {
        Some(Master::Bond(master, nth)) => {
            value["masterName"] = json!(master.as_str());
            value["slaveIndex"] = json!(nth);
        }
        Some(Master::Bridge(master)) => value["bridgeSlave"] = json!({"masterName": master.as_str()}),
        None => {}
    }
    value["layer"] = json!("platform");
    value
}
