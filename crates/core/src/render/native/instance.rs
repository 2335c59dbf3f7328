//! BGPInstanceConfig: one for the fabric in the main table, one for the speaker in its VRF.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Map, Value, json};

use super::document;
use ichor_bgp::model::fabric::{Neighbor, PeerAddress};
use ichor_bgp::model::{Bfd, BgpModel, Family, Workload};
use ichor_values::{Asn, LinkName};

/// Name of the instance toward the fabric.
pub(crate) const FABRIC: &str = "fabric";

/// Name of the instance toward the speaker.
pub(crate) const WORKLOAD: &str = "load-balancer";

/// The instance toward the fabric. It announces the addresses of `links` and the imported routes of the speaker.
pub fn fabric(model: &BgpModel, links: &[&LinkName], imports: &[IpNet]) -> Value {
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    put("localASN", json!(model.asn.0));
    put("routerID", json!(model.router_id.to_string()));
    if let Some(source) = source_address(model) {
        put("routeSource", json!(source.to_string()));
    }
    if !links.is_empty() {
        put("advertise", json!(links.iter().map(|link| link.as_str()).collect::<Vec<_>>()));
    }
    put("multipath", json!(true));
    if !imports.is_empty() {
        let prefixes: Vec<_> = imports.iter().map(ToString::to_string).collect();
        put("importRoutes", json!([{"bgpInstance": WORKLOAD, "prefixes": prefixes}]));
    }
    let neighbors: Vec<_> = model.fabric.neighbors.iter().map(neighbor).collect();
    if !neighbors.is_empty() {
        put("neighbors", json!(neighbors));
    }
    document("BGPInstanceConfig", FABRIC, body)
}

/// The instance toward the speaker, in the VRF `domain`. It originates and imports no routes, so it announces none.
pub fn workload(model: &BgpModel, workload: &Workload, domain: &str) -> Value {
    let mut speaker = session(Some(workload.theirs.asn), workload.timers, true, None);
    speaker.insert("address".to_owned(), json!(workload.theirs.address.to_string()));
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    put("vrf", json!(domain));
    put("localASN", json!(workload.ours.asn.0));
    put("routerID", json!(model.router_id.to_string()));
    // The CNI serves the speaker's addresses on the node: a route to them would cause a loop.
    put("installRoutes", json!(false));
    put("neighbors", json!([speaker]));
    document("BGPInstanceConfig", WORKLOAD, body)
}

/// The source address of installed routes. Talos supports one: an IPv6 address if IPv6 routes are learned.
///
/// Otherwise the kernel may use any IPv6 address of the node, even an anycast address. For IPv4 it uses that of `lo`, as long
/// as the port has none.
fn source_address(model: &BgpModel) -> Option<IpAddr> {
    let learns = |family| model.fabric.neighbors.iter().any(|neighbor| neighbor.families.contains(&family));
    let of = |family| model.sources.iter().copied().find(|source| Family::of(IpNet::from(*source)) == family);
    [Family::V6, Family::V4].into_iter().filter(|family| learns(*family)).find_map(of)
}

fn neighbor(neighbor: &Neighbor) -> Value {
    let mut value = session(neighbor.asn, neighbor.timers, neighbor.passive, neighbor.bfd);
    match &neighbor.found {
        PeerAddress::Port { name, .. } => value.insert("link".to_owned(), json!(name.as_str())),
        PeerAddress::Address { address, .. } => {
            value.insert("address".to_owned(), json!(address.to_string()))
        }
    };
    Value::Object(value)
}

fn session(asn: Option<Asn>, (_, hold): (u16, u16), passive: bool, bfd: Option<Bfd>) -> Map<String, Value> {
    let mut value = Map::new();
    if let Some(asn) = asn {
        value.insert("peerASN".to_owned(), json!(asn.0));
    }
    if passive {
        value.insert("passive".to_owned(), json!(true));
    }
    value.insert("holdTime".to_owned(), json!(format!("{hold}s")));
    if let Some(bfd) = bfd {
        let interval = format!("{}ms", bfd.interval);
        value.insert(
            "bfd".to_owned(),
            json!({"transmitInterval": interval, "receiveInterval": interval, "detectMultiplier": bfd.multiplier}),
        );
    }
    value
}
