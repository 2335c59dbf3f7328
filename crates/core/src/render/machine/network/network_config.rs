//! The network of a node as nocloud data: the file `network-config`, version 2.

use serde_json::{Map, Value, json};

use super::name_servers;
use crate::plan::link::vlan_name;
use crate::plan::{ConfigStage, LinkKind, LinkPlan, NodePlan};
use ichor_values::LinkName;
use ichor_values::go_yaml::emit;

/// The file `network-config` of a node.
///
/// Talos 1.11 has nothing else to know its network from before it is configured. It reads no bridges and no dummies there,
/// and no routes without a next hop, so these come with the configuration. Clusters of later releases have documents; for them the
/// file only has to be there, because without it Talos does not read the hostname beside it.
pub fn network_config(node: &NodePlan, stage: ConfigStage) -> String {
    let mut file = json!({"version": 2, "ethernets": {}});
    if node.old_links {
        fill(&mut file, node, &node.links(stage));
    }
    emit::emit(&file)
}

fn fill(file: &mut Value, node: &NodePlan, links: &[LinkPlan]) {
    let names = LinkNames(node);
    let mut dns = name_servers(node);
    let lone = links.iter().all(|link| link.kind == LinkKind::Loopback);
    for link in links {
        let Some(section) = section(&link.kind) else { continue };
        let mut entry = Map::new();
        own(&mut entry, &link.kind, &names);
        common(&mut entry, link);
        if !dns.is_empty() && (lone || link.kind != LinkKind::Loopback) {
            entry.insert("nameservers".to_owned(), json!({"addresses": std::mem::take(&mut dns)}));
        }
        file[section][names.of(link).as_str()] = Value::Object(entry);
    }
}

/// Where a link stands in the file.
fn section(kind: &LinkKind) -> Option<&'static str> {
    match kind {
        LinkKind::Loopback | LinkKind::Port { .. } => Some("ethernets"),
        LinkKind::Bond { .. } => Some("bonds"),
        LinkKind::Vlan { .. } => Some("vlans"),
        LinkKind::Bridge { .. } | LinkKind::Dummy => None,
    }
}

/// What links are called in the file.
struct LinkNames<'n>(&'n NodePlan);

impl LinkNames<'_> {
    /// A VLAN has the name that the configuration will give it, or there would be two of it.
    fn of(&self, link: &LinkPlan) -> LinkName {
        match &link.kind {
            LinkKind::Vlan { id, link } => vlan_name(&self.below(link), *id),
            _ => self.below(&link.name),
        }
    }

    /// Talos finds a port itself by its MAC address, but what a VLAN stands on by the kernel's name only.
    fn below(&self, name: &LinkName) -> LinkName {
        let node = self.0;
        let nth = node.ports.iter().position(|port| port.name == *name);
        match nth.filter(|_| node.has_plain_port_names() && !node.is_kernels_port_name(name.as_str())) {
            Some(nth) => LinkName::parse(&format!("eth{nth}")).expect("a link name"),
            None => name.clone(),
        }
    }
}

fn own(entry: &mut Map<String, Value>, kind: &LinkKind, names: &LinkNames<'_>) {
    let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
    match kind {
        LinkKind::Port { .. } => {
            if let Some(mac) = kind.found_by() {
                put("match", json!({"macaddress": mac.to_string()}));
            }
        }
        LinkKind::Bond { links, mode, miimon, hash } => {
            put(
                "interfaces",
                json!(links.iter().map(|name| names.below(name).to_string()).collect::<Vec<_>>()),
            );
            put(
                "parameters",
                json!({"mode": mode.word(), "lacp-rate": "slow", "transmit-hash-policy": hash.word(),
                "mii-monitor-interval": miimon}),
            );
        }
        LinkKind::Vlan { id, link } => {
            put("id", json!(id.0));
            put("link", json!(names.below(link).as_str()));
        }
        LinkKind::Loopback | LinkKind::Bridge { .. } | LinkKind::Dummy => {}
    }
}

fn common(entry: &mut Map<String, Value>, link: &LinkPlan) {
    let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
    if link.dhcp {
        put("dhcp4", json!(true));
    }
    if let Some(mtu) = link.mtu {
        put("mtu", json!(mtu.0));
    }
    if !link.addresses.is_empty() {
        put("addresses", json!(link.addresses.iter().map(ToString::to_string).collect::<Vec<_>>()));
    }
    let routes: Vec<_> = link
        .routes
        .iter()
        .filter_map(|route| {
            let to = route.to.map_or_else(|| "default".to_owned(), |to| to.to_string());
            Some(json!({"to": to, "via": route.via?.to_string(), "metric": route.metric}))
        })
        .collect();
    if !routes.is_empty() {
        put("routes", json!(routes));
    }
}
