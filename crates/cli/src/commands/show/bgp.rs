//! `show bgp`: the BGP sessions, and the link to the load balancer.

use std::io::Write;

use ichor_core::plan::{Decided, NeighborAddress, NeighborPlan, NodePlan, Origin, RoutingPlan, WorkloadPlan};
use ichor_values::Asn;
use serde_json::{Value, json};

use super::{lines, text, write_list};
use crate::project::Project;
use crate::table;

pub(super) fn print(project: &Project, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let routed = || project.plan.nodes.iter().filter_map(|node| Some((node, node.routing.as_deref()?)));
    if as_json {
        return write_list(out, routed().map(|(node, routing)| object(node, routing)));
    }
    if routed().next().is_none() {
        writeln!(out, "no BGP: no node has `routing`")?;
        return Ok(());
    }
    let rows: Vec<_> = routed().flat_map(|(node, routing)| sessions(node, routing)).collect();
    table::print(out, &["NODE", "ASN", "BACKEND", "PEER", "PEER ASN", "BFD", "TIMERS", "OPTIONS"], &rows)?;
    let speakers = speakers(routed().filter_map(|(node, routing)| Some((node, routing.workload.as_ref()?))));
    if !speakers.is_empty() {
        writeln!(out)?;
        table::print(
            out,
            &["NODES", "SPEAKER", "ISOLATION", "NODE END", "SPEAKER END", "ACCEPTED"],
            &speakers,
        )?;
    }
    Ok(())
}

/// One row per group of nodes with the same speaker configuration.
fn speakers<'p>(workloads: impl Iterator<Item = (&'p NodePlan, &'p WorkloadPlan)>) -> Vec<Vec<String>> {
    let mut groups: Vec<(Vec<String>, Vec<&str>)> = Vec::new();
    for (node, workload) in workloads {
        let row = speaker(workload);
        match groups.iter_mut().find(|(known, _)| *known == row) {
            Some((_, nodes)) => nodes.push(node.name.as_str()),
            None => groups.push((row, vec![node.name.as_str()])),
        }
    }
    groups.into_iter().map(|(row, nodes)| [vec![table::names(nodes)], row].concat()).collect()
}

/// The backend, with a mark if ichor chose it.
fn backend(routing: &RoutingPlan) -> String {
    let why = match routing.backend.origin {
        Origin::Written(_) => "",
        Origin::Derived(..) | Origin::Default(_) => " (auto)",
    };
    format!("{}{why}", routing.backend.value)
}

fn sessions(node: &NodePlan, routing: &RoutingPlan) -> Vec<Vec<String>> {
    let asn = text(node.asn.as_ref().map(|asn| asn.value));
    let head = |nth: usize, text: String| if nth == 0 { text } else { String::new() };
    let mut rows: Vec<_> = routing
        .neighbors
        .iter()
        .enumerate()
        .map(|(nth, neighbor)| {
            let mut row =
                vec![head(nth, node.name.to_string()), head(nth, asn.clone()), head(nth, backend(routing))];
            row.extend(session(neighbor));
            row
        })
        .collect();
    if rows.is_empty() {
        rows.push(vec![node.name.to_string(), asn, backend(routing)]);
    }
    rows
}

fn session(neighbor: &NeighborPlan) -> [String; 5] {
    let peer = match &neighbor.peer {
        NeighborAddress::Link(link) => format!("on {link}"),
        NeighborAddress::Address(address) => address.to_string(),
    };
    let bfd =
        neighbor.bfd.as_ref().map(|bfd| format!("{} ms × {}", bfd.interval.value, bfd.multiplier.value));
    let notes = [("passive", neighbor.passive.value), ("password", neighbor.password.is_some())];
    let notes: Vec<_> = notes.into_iter().filter(|(_, is)| *is).map(|(word, _)| word).collect();
    [
        [text(neighbor.router.as_ref()), peer].join(" ").trim_start().to_owned(),
        neighbor.asn().map_or_else(|| "external".to_owned(), |asn| asn.to_string()),
        text(bfd),
        format!("{}/{}", neighbor.timers.value.0, neighbor.timers.value.1),
        notes.join(", "),
    ]
}

fn speaker(workload: &WorkloadPlan) -> Vec<String> {
    let end = |end: Option<&Decided<std::net::IpAddr>>, name: &str, asn: &Decided<Asn>| {
        lines([
            text(end.map(|end| format!("{}/{}", end.value, workload.prefix.value))),
            name.to_owned(),
            format!("AS {}", asn.value),
        ])
    };
    let domain = text(workload.domain.as_ref().map(|domain| &domain.value));
    let table = workload.table.as_ref().map(|table| format!("table {}", table.value));
    let taken: Vec<_> = workload.allow.value.iter().map(ToString::to_string).collect();
    vec![
        workload.speaker.to_string(),
        lines([format!("{} {domain}", workload.isolation.value).trim_end().to_owned(), text(table)]),
        end(workload.link.as_ref().map(|link| &link.0), &workload.names.0.value, &workload.asn.0),
        end(workload.link.as_ref().map(|link| &link.1), &workload.names.1.value, &workload.asn.1),
        if taken.is_empty() { "everything".to_owned() } else { taken.join("\n") },
    ]
}

fn object(node: &NodePlan, routing: &RoutingPlan) -> Value {
    let neighbors: Vec<_> = routing
        .neighbors
        .iter()
        .map(|neighbor| {
            let (link, address) = match &neighbor.peer {
                NeighborAddress::Link(link) => (Some(link.as_str()), None),
                NeighborAddress::Address(address) => (None, Some(address.to_string())),
            };
            json!({
                "router": neighbor.router.as_ref().map(|router| router.as_str()),
                "interface": link,
                "address": address,
                "remote_asn": neighbor.asn().map(|asn| asn.0),
                "bfd": neighbor.bfd.as_ref().map(|bfd| json!({"interval_ms": bfd.interval.value, "multiplier": bfd.multiplier.value})),
                "keepalive_seconds": neighbor.timers.value.0,
                "hold_seconds": neighbor.timers.value.1,
                "passive": neighbor.passive.value,
                "has_password": neighbor.password.is_some(),
            })
        })
        .collect();
    let advertise: Vec<_> = routing.advertise.value.iter().map(|kind| kind.word()).collect();
    json!({
        "node": node.name.as_str(),
        "asn": node.asn.as_ref().map(|asn| asn.value.0),
        "router_id": node.router_id.as_ref().map(|id| id.value.to_string()),
        "backend": routing.backend.value.word(),
        "extension": routing.carrier.as_ref().map(|carrier| carrier.value.word()),
        "announced": advertise,
        "neighbors": neighbors,
        "load_balancer": routing.workload.as_ref().map(workload),
    })
}

fn workload(workload: &WorkloadPlan) -> Value {
    let allow: Vec<_> = workload.allow.value.iter().map(ToString::to_string).collect();
    json!({
        "software": workload.speaker.word(),
        "isolation": workload.isolation.value.word(),
        "vrf_or_namespace": workload.domain.as_ref().map(|domain| &domain.value),
        "routing_table": workload.table.as_ref().map(|table| table.value),
        "prefix_length": workload.link.as_ref().map(|_| workload.prefix.value),
        "local": {
            "interface": workload.names.0.value,
            "address": workload.link.as_ref().map(|link| link.0.value.to_string()),
            "asn": workload.asn.0.value.0,
        },
        "remote": {
            "interface": workload.names.1.value,
            "address": workload.link.as_ref().map(|link| link.1.value.to_string()),
            "asn": workload.asn.1.value.0,
        },
        "accepted_prefixes": allow,
    })
}
