//! Configuration of the routers around the nodes.
//!
//! [`render`] sorts the sessions of every listed router into peer `group`s and writes them for its software: `frr` or
//! `routeros`. For other software and for operators, `sessions` lists every session with both ends, and `containerlab` runs the
//! fabric on one machine. All of it comes from the same [`BgpTopology`] as the nodes' configurations, so that the two ends
//! agree.

pub mod containerlab;
mod frr;
mod group;
mod routeros;
mod sessions;

use super::artifact::Artifact;
use crate::plan::Plan;
use crate::routing::{BgpTopology, FabricRouter};
use group::PeerGroup;
use ichor_bgp::render::SecretFetcher;
use ichor_bgp::setting::Software;
use ichor_values::Issue;

/// Prefix limit per node and family, counted after the filter.
const MOST_PREFIXES: u32 = 10_000;

/// The files below `fabric/`, or all errors; no files without routing.
pub fn render(
    plan: &Plan,
    network: &BgpTopology,
    fetch: &SecretFetcher<'_>,
) -> Result<Vec<Artifact>, Vec<Issue>> {
    if is_empty(network) {
        return Ok(Vec::new());
    }
    let name = plan.cluster.name.as_str();
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    for router in network.routers.iter().filter(|router| router.listed && router.software != Software::Other)
    {
        match router_files(name, router, fetch) {
            Ok(mut made) => files.append(&mut made),
            Err(mut found) => errors.append(&mut found),
        }
    }
    files.push(Artifact::public("fabric/sessions.csv", sessions::render(network)));
    files.push(Artifact::public("fabric/containerlab.clab.yml", containerlab::render(plan, network)));
    if errors.is_empty() { Ok(files) } else { Err(errors) }
}

/// Whether there are neither sessions nor listed routers.
pub fn is_empty(network: &BgpTopology) -> bool {
    network.sessions.is_empty() && !network.routers.iter().any(|router| router.listed)
}

/// The files of one router.
fn router_files(
    cluster: &str,
    router: &FabricRouter,
    fetch: &SecretFetcher<'_>,
) -> Result<Vec<Artifact>, Vec<Issue>> {
    let at = |key: &str| format!("fabric.routers.{}{key}", router.name);
    let refuse = |key: &str, reason: &str| Issue::error(at(key), reason);
    let mut errors = Vec::new();
    if router.asn.is_none() {
        errors.push(refuse(".asn", "the configuration of a router requires an AS number"));
    }
    if router.vrf.as_deref().is_some_and(|vrf| !is_link_name(vrf)) {
        errors.push(refuse(".vrf", "the name of a VRF has 1 to 15 letters, digits, `-`, `_` and `.`"));
    }
    let release = router.version.as_ref().map(|version| version.minor().0);
    if router.software == Software::Routeros && release.is_some_and(|release| release != 7) {
        errors
            .push(refuse(".version", "ichor supports RouterOS 7; use `software: other` for other releases"));
    }
    let groups = match group::peer_groups(router, fetch) {
        Ok(groups) => groups,
        Err(reasons) => {
            errors.extend(reasons.iter().map(|reason| refuse("", reason)));
            Vec::new()
        }
    };
    let path = |name: &str| format!("fabric/{}/{name}", router.name);
    let mut files = Vec::new();
    match router.software {
        Software::Routeros => {
            files.push(Artifact::private(path("config.rsc"), routeros::render(cluster, router, &groups)));
        }
        Software::Frr | Software::Other => {
            files.push(Artifact::private(path("frr.conf"), frr::complete_config(router, &groups)));
            files.push(Artifact::public(path("daemons"), frr::daemons(router, &groups)));
            if frr::is_in_proxmox(router) {
                let dropped = frr::dropped_by_proxmox(&groups);
                errors.extend(dropped.iter().map(|(key, reason)| refuse(key, reason)));
                let text = frr::drop_in(cluster, router, &groups);
                files.push(Artifact::private(path("frr.conf.local"), text));
            }
        }
    }
    if errors.is_empty() { Ok(files) } else { Err(errors) }
}

/// Whether it is a valid link name in Linux, and a single word in every configuration.
fn is_link_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..16).contains(&name.len()) && name.bytes().all(plain)
}
