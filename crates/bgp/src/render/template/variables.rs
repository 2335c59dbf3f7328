//! The variables of templates: the routing model in plain words, the same for every backend.
//!
//! `docs/reference/template-variables.md` lists them. Existing names never change; new ones may be added.

use serde_json::{Value, json};

use crate::model::fabric::{Neighbor, PeerAddress};
use crate::model::workload::SessionEndpoint;
use crate::model::{Bfd, BgpModel, Fabric, Family, PrefixFilter, RoutingDomain, Workload};
use ichor_values::Backend;

/// The daemon that reads the file.
#[derive(Clone, Copy)]
pub struct DaemonInfo<'a> {
    /// The daemon.
    pub backend: Backend,
    /// Its release.
    pub version: (u16, u16),
    /// The file that ichor would have written.
    pub default: &'a str,
}

/// All variables.
pub fn template_variables(model: &BgpModel, passwords: &[Option<String>], daemon: DaemonInfo<'_>) -> Value {
    json!({
        "backend": daemon.backend.to_string(),
        "version": format!("{}.{}", daemon.version.0, daemon.version.1),
        "default": daemon.default,
        "node": model.name.as_str(),
        "asn": model.asn.0,
        "router_id": model.router_id,
        "sources": model.sources,
        "fabric": fabric(&model.fabric, passwords),
        "workload": model.workload.as_ref().map(workload),
    })
}

fn fabric(fabric: &Fabric, passwords: &[Option<String>]) -> Value {
    let neighbors = fabric.neighbors.iter().zip(passwords);
    let announced = fabric.announced.iter();
    let communities = fabric.outward.communities.iter();
    json!({
        "neighbors": neighbors.map(|(one, password)| neighbor(one, password.as_deref())).collect::<Vec<_>>(),
        "announced": announced
            .map(|one| json!({"kind": one.kind.to_string(), "link": one.link.as_str(), "prefix": one.net}))
            .collect::<Vec<_>>(),
        "aggregates": fabric.aggregates,
        "inward": {
            "filter": filter(&fabric.inward.filter),
            "max_prefixes": fabric.inward.max_prefixes,
            "local_preference": fabric.inward.local_preference,
        },
        "outward": {
            "communities": communities.map(|community| community.as_str()).collect::<Vec<_>>(),
            "prepend": fabric.outward.prepend,
        },
        "graceful_restart": fabric.graceful_restart,
    })
}

fn neighbor(neighbor: &Neighbor, password: Option<&str>) -> Value {
    let (link, mac, address, source) = match &neighbor.found {
        PeerAddress::Port { name, mac } => (Some(name.as_str()), *mac, None, None),
        PeerAddress::Address { address, source } => (None, None, Some(*address), *source),
    };
    json!({
        "link": link,
        "mac": mac.map(|mac| mac.to_string()),
        "address": address,
        "source": source,
        "asn": neighbor.asn.map(|asn| asn.0),
        "families": families(&neighbor.families),
        "extended_nexthop": neighbor.extends_next_hops(),
        "bfd": neighbor.bfd.map(bfd),
        "timers": timers(neighbor.timers),
        "passive": neighbor.passive,
        "password": password,
    })
}

fn workload(workload: &Workload) -> Value {
    let (kind, table) = match workload.domain {
        RoutingDomain::Vrf { table, .. } => ("vrf", Some(table)),
        RoutingDomain::Namespace { .. } => ("netns", None),
        RoutingDomain::Shared => ("none", None),
    };
    json!({
        "speaker": workload.speaker.to_string(),
        "isolation": {"kind": kind, "name": workload.domain.name(), "table": table},
        "ours": end(&workload.ours),
        "theirs": end(&workload.theirs),
        "prefix": workload.prefix,
        "families": families(&workload.families),
        "extended_nexthop": workload.extends_next_hops(),
        "bfd": workload.bfd.map(bfd),
        "timers": timers(workload.timers),
        "filter": filter(&workload.filter),
    })
}

fn end(end: &SessionEndpoint) -> Value {
    json!({"link": end.link, "address": end.address, "asn": end.asn.0})
}

fn bfd(bfd: Bfd) -> Value {
    json!({"interval": bfd.interval, "multiplier": bfd.multiplier})
}

fn timers((keepalive, hold): (u16, u16)) -> Value {
    json!({"keepalive": keepalive, "hold": hold})
}

fn families(families: &[Family]) -> Vec<&'static str> {
    families.iter().copied().map(name).collect()
}

fn name(family: Family) -> &'static str {
    match family {
        Family::V4 => "ipv4",
        Family::V6 => "ipv6",
    }
}

fn filter(filter: &PrefixFilter) -> Vec<Value> {
    let term = filter.0.iter().map(|term| {
        json!({
            "permit": term.permit,
            "family": name(Family::of(term.net)),
            "prefix": term.net,
            "least": term.least,
            "most": term.most,
        })
    });
    term.collect()
}
