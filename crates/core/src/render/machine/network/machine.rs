//! The network of a node for Talos 1.11: keys of the document with `machine` and `cluster`.

use serde_json::{Map, Value, json};

use super::{name_servers, time_servers};
use crate::plan::{ConfigStage, LinkKind, LinkPlan, Master, NodePlan, RoutePlan};
use ichor_values::{LinkName, Mac};

/// The network for Talos 1.11, to merge into the document with `machine` and `cluster`.
///
/// VLANs are part of their parent link, which determines their name: `bond0.20`.
pub fn machine(node: &NodePlan) -> Value {
    let links = LegacyLinks(node.links(ConfigStage::Final));
    let mut network = Map::new();
    network.insert("hostname".to_owned(), json!(node.name.as_str()));
    let interfaces: Vec<_> = links.0.iter().filter_map(|link| links.interface(link)).collect();
    let interfaces: Vec<_> = interfaces.into_iter().chain(links.unplanned_parents()).collect();
    if !interfaces.is_empty() {
        network.insert("interfaces".to_owned(), json!(interfaces));
    }
    let dns = name_servers(node);
    if !dns.is_empty() {
        network.insert("nameservers".to_owned(), json!(dns));
    }
    let mut machine = json!({"network": network});
    let ntp = time_servers(node);
    if !ntp.is_empty() {
        machine["time"] = json!({"servers": ntp});
    }
    json!({"machine": machine})
}

struct LegacyLinks(Vec<LinkPlan>);

impl LegacyLinks {
    fn find(&self, name: &LinkName) -> Option<&LinkPlan> {
        self.0.iter().find(|link| link.name == *name)
    }

    /// The selector of a link that is matched by MAC address.
    fn selector(&self, name: &LinkName) -> Option<Value> {
        self.find(name)?.kind.matched_mac().map(selector)
    }

    /// The entry of a link; none for a VLAN without VLANs of its own, and for a port that its master's entry describes
    /// completely.
    fn interface(&self, link: &LinkPlan) -> Option<Value> {
        let mut value = self.link_key(&link.name);
        let vlans = self.vlans(&link.name);
        if matches!(link.kind, LinkKind::Vlan { .. }) {
            if vlans.is_empty() {
                return None;
            }
        } else {
            if vlans.is_empty() && link.is_bare() && self.is_listed_by_master(link) {
                return None;
            }
            self.add_kind_keys(&mut value, link);
            add_common_keys(&mut value, link);
        }
        if !vlans.is_empty() {
            value.insert("vlans".to_owned(), json!(vlans));
        }
        Some(Value::Object(value))
    }

    fn link_key(&self, name: &LinkName) -> Map<String, Value> {
        let mut value = Map::new();
        match self.selector(name) {
            Some(selector) => value.insert("deviceSelector".to_owned(), selector),
            None => value.insert("interface".to_owned(), json!(name.as_str())),
        };
        value
    }

    /// Whether the master's entry includes the link, which a bridge's entry can do by name only.
    fn is_listed_by_master(&self, link: &LinkPlan) -> bool {
        match &link.master {
            Some(Master::Bond(..)) => true,
            Some(Master::Bridge(_)) => self.selector(&link.name).is_none(),
            None => false,
        }
    }

    fn add_kind_keys(&self, value: &mut Map<String, Value>, link: &LinkPlan) {
        let mut put = |key: &str, made: Value| value.insert(key.to_owned(), made);
        match &link.kind {
            LinkKind::Bond { links, mode, miimon, hash } => {
                let mut bond = json!({"interfaces": names(links.iter())});
                if links.iter().any(|name| self.selector(name).is_some()) {
                    bond = json!({"deviceSelectors": self.selectors(links)});
                }
                bond["mode"] = json!(mode.word());
                bond["miimon"] = json!(miimon);
                bond["xmitHashPolicy"] = json!(hash.word());
                put("bond", bond);
            }
            LinkKind::Bridge { links, stp } => {
                let known = links.iter().filter(|name| self.selector(name).is_none());
                put("bridge", json!({"interfaces": names(known), "stp": {"enabled": stp}}));
            }
            LinkKind::Dummy => {
                put("dummy", json!(true));
            }
            LinkKind::Loopback | LinkKind::Port { .. } | LinkKind::Vlan { .. } => {}
        }
        if let Some(Master::Bridge(master)) = &link.master
            && !self.is_listed_by_master(link)
        {
            value.insert("bridgePort".to_owned(), json!({"master": master.as_str()}));
        }
    }

    /// Selectors of the members of a bond, which lists all of them either by name or by MAC address.
    fn selectors(&self, members: &[LinkName]) -> Vec<Value> {
        let mac = |name| match self.find(name)?.kind {
            LinkKind::Port { mac, .. } => mac.map(selector),
            _ => None,
        };
        members.iter().filter_map(mac).collect()
    }

    /// The VLANs of a link.
    fn vlans(&self, below: &LinkName) -> Vec<Value> {
        let vlan_id = |link: &LinkPlan| match &link.kind {
            LinkKind::Vlan { id, link: parent } if parent == below => Some(id.0),
            _ => None,
        };
        let vlan = |link: &LinkPlan| {
            let mut value = Map::new();
            value.insert("vlanId".to_owned(), json!(vlan_id(link)?));
            add_common_keys(&mut value, link);
            Some(Value::Object(value))
        };
        self.0.iter().filter_map(vlan).collect()
    }

    /// Parents of VLANs that are not in the plan, because something else creates them.
    fn unplanned_parents(&self) -> Vec<Value> {
        let mut names: Vec<_> = self
            .0
            .iter()
            .filter_map(|link| match &link.kind {
                LinkKind::Vlan { link, .. } if self.find(link).is_none() => Some(link),
                _ => None,
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| json!({"interface": name.as_str(), "vlans": self.vlans(name)})).collect()
    }
}

fn selector(mac: Mac) -> Value {
    json!({"permanentAddr": mac.to_string()})
}

fn names<'n>(names: impl Iterator<Item = &'n LinkName>) -> Vec<&'n str> {
    names.map(LinkName::as_str).collect()
}

/// Adds the keys that all kinds of links have.
fn add_common_keys(value: &mut Map<String, Value>, link: &LinkPlan) {
    let mut put = |key: &str, made: Value| value.insert(key.to_owned(), made);
    if let Some(mtu) = link.mtu {
        put("mtu", json!(mtu.0));
    }
    if !matches!(link.kind, LinkKind::Loopback | LinkKind::Dummy) {
        put("dhcp", json!(link.dhcp));
    }
    if !link.addresses.is_empty() {
        put("addresses", json!(link.addresses.iter().map(ToString::to_string).collect::<Vec<_>>()));
    }
    if !link.routes.is_empty() {
        put("routes", json!(link.routes.iter().map(route).collect::<Vec<_>>()));
    }
    if let Some(vip) = link.vip {
        put("vip", json!({"ip": vip.to_string()}));
    }
}

fn route(route: &RoutePlan) -> Value {
    let everywhere = match route.via {
        Some(via) if via.is_ipv4() => "0.0.0.0/0",
        _ => "::/0",
    };
    let to = route.to.map_or_else(|| everywhere.to_owned(), |to| to.to_string());
    let mut value = json!({"network": to});
    if let Some(via) = route.via {
        value["gateway"] = json!(via.to_string());
    }
    value["metric"] = json!(route.metric);
    value
}
