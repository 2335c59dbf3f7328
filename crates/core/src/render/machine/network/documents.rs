//! The network of a node as documents, for Talos 1.12 and later.

use serde_json::{Map, Value, json};

use super::{name_servers, time_servers};
use crate::plan::{ConfigStage, LinkKind, LinkPlan, NodePlan, RoutePlan};

/// The documents, for a Talos that has them (1.12 and later).
///
/// Any link among them ends the DHCP that Talos does by itself, so every link that shall ask has a document for that.
pub fn documents(node: &NodePlan, stage: ConfigStage) -> Vec<Value> {
    let links = node.links(stage);
    let mut documents: Vec<Value> = links.iter().filter_map(alias).collect();
    documents.extend(links.iter().filter_map(link));
    documents
        .extend(links.iter().filter(|link| link.dhcp).map(|link| named("DHCPv4Config", link.name.as_str())));
    documents.extend(links.iter().filter_map(vip));
    documents.push(
        json!({"apiVersion": "v1alpha1", "kind": "HostnameConfig", "auto": "off", "hostname": node.name.as_str()}),
    );
    let dns: Vec<_> = name_servers(node).into_iter().map(|address| json!({"address": address})).collect();
    if !dns.is_empty() {
        documents.push(json!({"apiVersion": "v1alpha1", "kind": "ResolverConfig", "nameservers": dns}));
    }
    let ntp = time_servers(node);
    if !ntp.is_empty() {
        documents.push(json!({"apiVersion": "v1alpha1", "kind": "TimeSyncConfig", "ntp": {"servers": ntp}}));
    }
    documents
}

fn named(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "v1alpha1", "kind": kind, "name": name})
}

/// The name of a port that the kernel calls otherwise.
fn alias(link: &LinkPlan) -> Option<Value> {
    let mac = link.kind.found_by()?;
    let mut document = named("LinkAliasConfig", link.name.as_str());
    document["selector"] = json!({"match": format!("mac(link.permanent_addr) == \"{mac}\"")});
    Some(document)
}

fn vip(link: &LinkPlan) -> Option<Value> {
    let mut document = named("Layer2VIPConfig", &link.vip?.to_string());
    document["link"] = json!(link.name.as_str());
    Some(document)
}

fn link(link: &LinkPlan) -> Option<Value> {
    let kind = match link.kind {
        LinkKind::Loopback | LinkKind::Port { .. } => "LinkConfig",
        LinkKind::Bond { .. } => "BondConfig",
        LinkKind::Vlan { .. } => "VLANConfig",
        LinkKind::Bridge { .. } => "BridgeConfig",
        LinkKind::Dummy => "DummyLinkConfig",
    };
    let is_port = matches!(link.kind, LinkKind::Port { .. });
    // A member is brought up by its master, and a port that asks by its DHCP client.
    if is_port && link.is_bare() && (link.dhcp || link.master.is_some()) {
        return None;
    }
    let Value::Object(mut document) = named(kind, link.name.as_str()) else { return None };
    own(&mut document, &link.kind);
    if is_port {
        document.insert("up".to_owned(), json!(true));
    }
    if let Some(mtu) = link.mtu {
        document.insert("mtu".to_owned(), json!(mtu.0));
    }
    let addresses: Vec<_> =
        link.addresses.iter().map(|address| json!({"address": address.to_string()})).collect();
    if !addresses.is_empty() {
        document.insert("addresses".to_owned(), json!(addresses));
    }
    let routes: Vec<_> = link.routes.iter().map(route).collect();
    if !routes.is_empty() {
        document.insert("routes".to_owned(), json!(routes));
    }
    Some(Value::Object(document))
}

/// What only links of this kind have.
fn own(document: &mut Map<String, Value>, kind: &LinkKind) {
    let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
    match kind {
        LinkKind::Loopback | LinkKind::Port { .. } | LinkKind::Dummy => {}
        LinkKind::Bond { links, mode, miimon, hash } => {
            put("links", json!(links.iter().map(|name| name.as_str()).collect::<Vec<_>>()));
            put("bondMode", json!(mode.word()));
            put("miimon", json!(miimon));
            // The kernel's own; Talos warns of an LACP bond that does not say so.
            put("updelay", json!(0));
            put("downdelay", json!(0));
            put("xmitHashPolicy", json!(hash.word()));
        }
        LinkKind::Vlan { id, link } => {
            put("vlanID", json!(id.0));
            put("parent", json!(link.as_str()));
        }
        LinkKind::Bridge { links, stp } => {
            put("links", json!(links.iter().map(|name| name.as_str()).collect::<Vec<_>>()));
            put("stp", json!({"enabled": stp}));
        }
    }
}

/// Talos refuses a destination of length 0: a default route has none.
fn route(route: &RoutePlan) -> Value {
    let mut value = Map::new();
    if let Some(to) = route.to {
        value.insert("destination".to_owned(), json!(to.to_string()));
    }
    if let Some(via) = route.via {
        value.insert("gateway".to_owned(), json!(via.to_string()));
    }
    value.insert("metric".to_owned(), json!(route.metric));
    Value::Object(value)
}
