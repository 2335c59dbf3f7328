//! The network of a node as documents, for Talos 1.12 and later.

use serde_json::{Map, Value, json};

use super::{name_servers, time_servers};
use crate::plan::{ConfigStage, LinkKind, LinkPlan, NodePlan, RoutePlan};

/// The network documents.
///
/// With any link document Talos no longer uses DHCP by default, so every link with DHCP has a document for it.
pub fn documents(node: &NodePlan, stage: ConfigStage) -> Vec<Value> {
    let links = node.links(stage);
    let mut documents: Vec<Value> = links.iter().filter_map(alias).collect();
    documents.extend(links.iter().filter_map(link));
    documents.extend(
        links.iter().filter(|link| link.dhcp).map(|link| named_document("DHCPv4Config", link.name.as_str())),
    );
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

fn named_document(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "v1alpha1", "kind": kind, "name": name})
}

/// The alias of a port to which the kernel gives another name.
fn alias(link: &LinkPlan) -> Option<Value> {
    let mac = link.kind.matched_mac()?;
    let mut document = named_document("LinkAliasConfig", link.name.as_str());
    document["selector"] = json!({"match": format!("mac(link.permanent_addr) == \"{mac}\"")});
    Some(document)
}

fn vip(link: &LinkPlan) -> Option<Value> {
    let mut document = named_document("Layer2VIPConfig", &link.vip?.to_string());
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
    // The master brings its members up, the DHCP client its port.
    if is_port && link.is_bare() && (link.dhcp || link.master.is_some()) {
        return None;
    }
    let Value::Object(mut document) = named_document(kind, link.name.as_str()) else { return None };
    add_kind_keys(&mut document, &link.kind);
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

/// Adds the keys that only links of this kind have.
fn add_kind_keys(document: &mut Map<String, Value>, kind: &LinkKind) {
    let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
    match kind {
        LinkKind::Loopback | LinkKind::Port { .. } | LinkKind::Dummy => {}
        LinkKind::Bond { links, mode, miimon, hash } => {
            put("links", json!(links.iter().map(|name| name.as_str()).collect::<Vec<_>>()));
            put("bondMode", json!(mode.word()));
            put("miimon", json!(miimon));
            // The kernel's defaults; Talos warns about an LACP bond without them.
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

/// A default route has no destination: Talos rejects a prefix of length 0.
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
