//! Cilium 1.18 and later, 1.19 without isolation: BGP toward the node, advertisements, and pools of service addresses.

use serde_json::{Value, json};

use super::{SpeakerLink, numbered_name};
use crate::plan::Plan;
use ichor_bgp::model::{Family, RoutingDomain};

/// Label that selects the advertisements of a peer.
const LABEL: (&str, &str) = ("announced-to", "node");

/// The objects for these links; none without links.
pub(crate) fn objects(plan: &Plan, links: &[&SpeakerLink<'_>]) -> Vec<Value> {
    let mut objects = Vec::new();
    for (nth, link) in links.iter().enumerate() {
        let (name, label) = (numbered_name("node", nth), numbered_name(LABEL.1, nth));
        objects.push(cluster_config(&name, link));
        objects.push(peer_config(&name, &label, link));
        objects.push(advertisement(&name, &label, plan, link));
        objects.extend(overrides(&name, link));
    }
    if !links.is_empty() {
        objects.extend(plan.cluster.pools.iter().map(|(name, prefixes)| {
            let blocks: Vec<_> =
                prefixes.iter().map(|prefix| json!({"cidr": prefix.value.to_string()})).collect();
            object("CiliumLoadBalancerIPPool", name.as_str(), &json!({"blocks": blocks}))
        }));
    }
    objects
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "cilium.io/v2", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// Cilium does not listen: it connects.
fn cluster_config(name: &str, link: &SpeakerLink<'_>) -> Value {
    let workload = link.workload;
    let peer = json!({
        "name": "node",
        "peerASN": workload.ours.asn.0,
        "peerAddress": workload.ours.address,
        "peerConfigRef": {"name": name},
    });
    let instance = json!({"name": name, "localASN": workload.theirs.asn.0, "peers": [peer]});
    let mut spec = json!({"bgpInstances": [instance]});
    if let Some(selector) = link.selector() {
        spec["nodeSelector"] = selector;
    }
    object("CiliumBGPClusterConfig", name, &spec)
}

fn peer_config(name: &str, label: &str, link: &SpeakerLink<'_>) -> Value {
    let workload = link.workload;
    let (keepalive, hold) = workload.timers;
    let family = |family: &Family| {
        let afi = match family {
            Family::V4 => "ipv4",
            Family::V6 => "ipv6",
        };
        json!({"afi": afi, "safi": "unicast", "advertisements": {"matchLabels": {LABEL.0: label}}})
    };
    let families: Vec<_> = workload.families.iter().map(family).collect();
    let mut spec = json!({
        "timers": {"connectRetryTimeSeconds": 5, "holdTimeSeconds": hold, "keepAliveTimeSeconds": keepalive},
        "families": families,
    });
    // With both ends in one table, the kernel would take the node's address for the source. Only Cilium 1.19 and later have it.
    if workload.domain == RoutingDomain::Shared {
        spec["transport"] = json!({"sourceInterface": workload.theirs.link});
    }
    object("CiliumBGPPeerConfig", name, &spec)
}

/// Advertises service addresses, and pod networks if the node accepts them.
fn advertisement(name: &str, label: &str, plan: &Plan, link: &SpeakerLink<'_>) -> Value {
    // Cilium selects nothing without a selector; this one matches every service.
    let all = json!({"matchExpressions": [{"key": "announced", "operator": "NotIn", "values": ["never"]}]});
    let mut advertisements = vec![json!({
        "advertisementType": "Service",
        "service": {"addresses": ["LoadBalancerIP"]},
        "selector": all,
    })];
    let taken = |pods: &ipnet::IpNet| link.allow.iter().any(|allowed| allowed.contains(pods));
    if link.allow.is_empty() || plan.cluster.pods.value.iter().any(taken) {
        advertisements.push(json!({"advertisementType": "PodCIDR"}));
    }
    json!({
        "apiVersion": "cilium.io/v2",
        "kind": "CiliumBGPAdvertisement",
        "metadata": {"name": name, "labels": {LABEL.0: label}},
        "spec": {"advertisements": advertisements},
    })
}

/// Router IDs of nodes without an IPv4 address, from which Cilium would derive them.
fn overrides<'l>(name: &'l str, link: &'l SpeakerLink<'_>) -> impl Iterator<Item = Value> + 'l {
    link.nodes.iter().filter(|node| node.address.v4.is_none()).filter_map(move |node| {
        let id = node.router_id.as_ref()?.value;
        let spec = json!({"bgpInstances": [{"name": name, "routerID": id}]});
        Some(object("CiliumBGPNodeConfigOverride", node.name.as_str(), &spec))
    })
}
