//! MetalLB: peers, pools, advertisements, and extended next hop for IPv4 over an IPv6 link.

use serde_json::{Value, json};

use super::{SpeakerLink, numbered_name};
use crate::plan::Plan;
use ichor_bgp::model::Bfd;
use ichor_bgp::setting::MetallbMode;
use ichor_values::Issue;

/// Namespace of MetalLB and FRR-K8s.
const NAMESPACE: &str = "metallb-system";

/// The objects for these links; none without links.
pub(crate) fn objects(plan: &Plan, links: &[&SpeakerLink<'_>]) -> Result<Vec<Value>, Issue> {
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let mut objects: Vec<Value> = profiles(links).into_iter().map(profile).collect();
    let mut peers = Vec::new();
    for (nth, link) in links.iter().enumerate() {
        let name = numbered_name("node", nth);
        objects.push(peer(&name, link));
        objects.extend(extended(&name, link, links.len())?);
        peers.push(name);
    }
    for (name, prefixes) in &plan.cluster.pools {
        let addresses: Vec<_> = prefixes.iter().map(|prefix| prefix.value.to_string()).collect();
        objects.push(object("v1beta1", "IPAddressPool", name.as_str(), &json!({"addresses": addresses})));
    }
    let mut spec = json!({"aggregationLength": 32, "aggregationLengthV6": 128, "peers": peers});
    let pools: Vec<_> = plan.cluster.pools.iter().map(|(name, _)| name.as_str()).collect();
    if !pools.is_empty() {
        spec["ipAddressPools"] = json!(pools);
    }
    objects.push(object("v1beta1", "BGPAdvertisement", "host-routes", &spec));
    Ok(objects)
}

fn object(version: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("metallb.io/{version}"),
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    })
}

/// BFD of a link; MetalLB's native mode does not support it.
fn bfd_of(link: &SpeakerLink<'_>) -> Option<Bfd> {
    link.workload.bfd.filter(|_| link.mode != MetallbMode::Native)
}

fn profiles(links: &[&SpeakerLink<'_>]) -> Vec<Bfd> {
    let mut profiles: Vec<_> = links.iter().filter_map(|link| bfd_of(link)).collect();
    profiles.sort();
    profiles.dedup();
    profiles
}

fn profile_name(bfd: Bfd) -> String {
    format!("bfd-{}ms-x{}", bfd.interval, bfd.multiplier)
}

fn profile(bfd: Bfd) -> Value {
    let spec = json!({
        "detectMultiplier": bfd.multiplier,
        "receiveInterval": bfd.interval,
        "transmitInterval": bfd.interval,
    });
    object("v1beta1", "BFDProfile", &profile_name(bfd), &spec)
}

/// The node as a peer of its speaker: `ours` and `theirs` are swapped.
fn peer(name: &str, link: &SpeakerLink<'_>) -> Value {
    let workload = link.workload;
    let (keepalive, hold) = workload.timers;
    let mut spec = json!({
        "myASN": workload.theirs.asn.0,
        "peerASN": workload.ours.asn.0,
        "peerAddress": workload.ours.address,
        "sourceAddress": workload.theirs.address,
        "holdTime": format!("{hold}s"),
    });
    // In native mode MetalLB sends keepalives at a third of the negotiated hold time, and refuses its whole configuration if a
    // peer has this key (`DiscardFRROnly`, 0.15 and 0.16).
    if link.mode != MetallbMode::Native {
        spec["keepaliveTime"] = json!(format!("{keepalive}s"));
    }
    if link.mode != MetallbMode::Native && workload.families.len() > 1 {
        spec["dualStackAddressFamily"] = json!(true);
    }
    if let Some(bfd) = bfd_of(link) {
        spec["bfdProfile"] = json!(profile_name(bfd));
    }
    if let Some(selector) = link.selector() {
        spec["nodeSelectors"] = json!([selector]);
    }
    object("v1beta2", "BGPPeer", name, &spec)
}

/// Extended next hop, for which MetalLB has no key, as raw FRR configuration.
fn extended(name: &str, link: &SpeakerLink<'_>, links: usize) -> Result<Option<Value>, Issue> {
    let workload = link.workload;
    if !workload.extends_next_hops() {
        return Ok(None);
    }
    let lines = format!(
        "router bgp {}\n neighbor {} capability extended-nexthop\n",
        workload.theirs.asn, workload.ours.address
    );
    match link.mode {
        MetallbMode::Native => Ok(None),
        MetallbMode::FrrK8s => {
            let mut spec = json!({"raw": {"rawConfig": lines}});
            if let Some(selector) = link.selector() {
                spec["nodeSelector"] = selector;
            }
            Ok(Some(json!({
                "apiVersion": "frrk8s.metallb.io/v1beta1",
                "kind": "FRRConfiguration",
                "metadata": {"name": format!("{name}-extended-next-hop"), "namespace": NAMESPACE},
                "spec": spec,
            })))
        }
        MetallbMode::Frr if links == 1 && link.everywhere => Ok(Some(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "bgpextras", "namespace": NAMESPACE},
            "data": {"extras": lines},
        }))),
        // The ConfigMap applies to every node, and FRR rejects lines for an unknown neighbour.
        MetallbMode::Frr => Err(Issue::error(
            "routing.workload.metallb.mode",
            "in mode `frr` MetalLB supports extended next hop only if all nodes have the same link to the speaker; use \
                         `mode: frr-k8s`, or an IPv4 link",
        )),
    }
}
