//! The network of a node as nocloud data: `network-config`, version 2.

use serde_json::{Map, Value, json};

use super::name_servers;
use crate::plan::link::vlan_name;
use crate::plan::{ConfigStage, LinkKind, LinkPlan, NodePlan};
use ichor_values::LinkName;
use ichor_values::go_yaml::emit;

/// The file `network-config` of a node.
///
/// Talos 1.11 has no other source of its network before it is configured. It supports no bridges, dummies or routes without
/// next hop there, so these are added with the configuration. Later releases use documents; for them the file only has to
/// exist, because without it Talos ignores the hostname in `meta-data`.
pub fn network_config(node: &NodePlan, stage: ConfigStage) -> String {
    let mut file = json!({"version": 2, "ethernets": {}});
    if node.old_links {
        add_links(&mut file, node, &node.links(stage));
    }
    emit::emit(&file)
}

fn add_links(file: &mut Value, node: &NodePlan, links: &[LinkPlan]) {
    let names = LinkNames(node);
    let mut dns = name_servers(node);
    let only_loopback = links.iter().all(|link| link.kind == LinkKind::Loopback);
    for link in links {
        let Some(section) = section(&link.kind) else { continue };
        let mut entry = Map::new();
        add_kind_keys(&mut entry, &link.kind, &names);
        add_common_keys(&mut entry, link);
        if !dns.is_empty() && (only_loopback || link.kind != LinkKind::Loopback) {
            entry.insert("nameservers".to_owned(), json!({"addresses": std::mem::take(&mut dns)}));
        }
        file[section][names.link_name(link).as_str()] = Value::Object(entry);
    }
}

/// The section of a link in the file.
fn section(kind: &LinkKind) -> Option<&'static str> {
    match kind {
        LinkKind::Loopback | LinkKind::Port { .. } => Some("ethernets"),
        LinkKind::Bond { .. } => Some("bonds"),
        LinkKind::Vlan { .. } => Some("vlans"),
        LinkKind::Bridge { .. } | LinkKind::Dummy => None,
    }
}

/// Names of links in the file.
struct LinkNames<'n>(&'n NodePlan);

impl LinkNames<'_> {
    /// A VLAN has the same name as in the configuration, so that it is not created twice.
    fn link_name(&self, link: &LinkPlan) -> LinkName {
        match &link.kind {
            LinkKind::Vlan { id, link } => vlan_name(&self.parent_name(link), *id),
            _ => self.parent_name(&link.name),
        }
    }

    /// Talos matches a port by its MAC address, but the parent of a VLAN by the kernel's name only.
    fn parent_name(&self, name: &LinkName) -> LinkName {
        let node = self.0;
        let nth = node.ports.iter().position(|port| port.name == *name);
        match nth.filter(|_| node.has_plain_port_names() && !node.is_kernels_port_name(name.as_str())) {
            Some(nth) => LinkName::parse(&format!("eth{nth}")).expect("a link name"),
            None => name.clone(),
        }
    }
}

fn add_kind_keys(entry: &mut Map<String, Value>, kind: &LinkKind, names: &LinkNames<'_>) {
    let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
    match kind {
        LinkKind::Port { .. } => {
            if let Some(mac) = kind.matched_mac() {
                put("match", json!({"macaddress": mac.to_string()}));
            }
        }
        LinkKind::Bond { links, mode, miimon, hash } => {
            put(
                "interfaces",
                json!(links.iter().map(|name| names.parent_name(name).to_string()).collect::<Vec<_>>()),
            );
            put(
                "parameters",
                json!({"mode": mode.word(), "lacp-rate": "slow", "transmit-hash-policy": hash.word(),
                "mii-monitor-interval": miimon}),
            );
        }
        LinkKind::Vlan { id, link } => {
            put("id", json!(id.0));
            put("link", json!(names.parent_name(link).as_str()));
        }
        LinkKind::Loopback | LinkKind::Bridge { .. } | LinkKind::Dummy => {}
    }
}

fn add_common_keys(entry: &mut Map<String, Value>, link: &LinkPlan) {
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
