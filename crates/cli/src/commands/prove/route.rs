//! `prove --to`: everyone's way to one address.

use std::io::Write;
use std::net::IpAddr;
use std::process::ExitCode;

use anyhow::bail;
use ichor_core::prove::Subject;
use ichor_core::prove::destination::Destination;
use ichor_core::prove::failure::Failure;
use ichor_core::prove::spread::Spread;
use ipnet::IpNet;
use serde_json::{Value, json};

use crate::table;

/// Somebody's way.
struct Way {
    name: String,
    own: bool,
    next: Vec<String>,
    path: Vec<u32>,
}

pub(super) fn run(
    subject: &Subject,
    address: IpAddr,
    failures: &[Failure],
    as_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let (target, net) = longest(subject, address)?;
    let mut spread = Spread::new(&subject.graph);
    spread.settle(target);
    let mut ways = Vec::new();
    spread.without(failures, |spread| ways = all(subject, spread));
    if as_json {
        let rows: Vec<Value> = ways.iter().map(object).collect();
        serde_json::to_writer_pretty(&mut *out, &json!({"prefix": net.to_string(), "ways": rows}))?;
        writeln!(out)?;
    } else {
        writeln!(out, "{address} is in {net} ({})\n", target.kind)?;
        let rows: Vec<_> = ways.iter().map(row).collect();
        table::print(out, &["WHO", "NEXT", "AS PATH"], &rows)?;
    }
    let reached = ways.iter().all(|way| way.own || !way.next.is_empty());
    Ok(ExitCode::from(u8::from(!reached)))
}

/// The longest prefix with the address that somebody announces.
fn longest(subject: &Subject, address: IpAddr) -> anyhow::Result<(&Destination, IpNet)> {
    let announced = subject.destinations.iter().filter(|target| !target.is_hidden());
    let nets = announced.flat_map(|target| target.nets.iter().map(move |net| (target, *net)));
    match nets.filter(|(_, net)| net.contains(&address)).max_by_key(|(_, net)| net.prefix_len()) {
        Some(found) => Ok(found),
        None => bail!("nobody announces {address}; `ichor prove` lists the prefixes there are"),
    }
}

fn all(subject: &Subject, spread: &Spread<'_>) -> Vec<Way> {
    let graph = &subject.graph;
    let name = |vertex: u32| graph.vertices[vertex as usize].name.clone();
    let vertices = graph.routers().chain((0..).take(graph.nodes)).filter(|vertex| !spread.is_down(*vertex));
    vertices
        .map(|vertex| {
            let next = spread.next(vertex);
            let next = next.into_iter().map(|edge| name(graph.edges[edge as usize].other(vertex)));
            Way {
                name: name(vertex),
                own: spread.is_own(vertex),
                next: next.collect(),
                path: spread.path(vertex),
            }
        })
        .collect()
}

fn row(way: &Way) -> Vec<String> {
    let next = match (way.own, &way.next[..]) {
        (true, _) => "itself".to_owned(),
        (false, []) => "no way".to_owned(),
        (false, next) => table::names(next.iter().map(String::as_str)),
    };
    let path: Vec<_> = way.path.iter().map(ToString::to_string).collect();
    vec![way.name.clone(), next, path.join(" ")]
}

fn object(way: &Way) -> Value {
    json!({"who": way.name, "own": way.own, "next": way.next, "path": way.path})
}
