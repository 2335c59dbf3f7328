//! `prove --to`: the path from every node and router to one address.

use std::io::Write;
use std::net::IpAddr;
use std::process::ExitCode;

use ichor_core::plan::Plan;
use ichor_core::prove::ProofModel;
use ichor_core::prove::failure::Failure;
use ichor_core::prove::forwarding::{self, AddressScope, ForwardingPath, NextHop};
use serde_json::{Value, json};

use crate::table;

pub(super) fn run(
    subject: &ProofModel,
    plan: &Plan,
    address: IpAddr,
    failures: &[Failure],
    as_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let (subnet, ways) = forwarding::forwarding_paths(subject, plan, address, failures);
    if as_json {
        let rows: Vec<Value> = ways.iter().map(|way| object(subject, way)).collect();
        let prefix = match &subnet {
            AddressScope::Announced(net, _) | AddressScope::Connected(net) => Some(net.to_string()),
            AddressScope::Outside => None,
        };
        serde_json::to_writer_pretty(&mut *out, &json!({"prefix": prefix, "routes": rows}))?;
        writeln!(out)?;
    } else {
        match &subnet {
            AddressScope::Announced(net, kind) if net.contains(&address) => {
                writeln!(out, "{address} is in {net} ({kind})\n")?;
            }
            AddressScope::Announced(net, kind) => writeln!(out, "{address} is like {net} ({kind})\n")?,
            AddressScope::Connected(net) => writeln!(out, "{address} is in {net}, a node network\n")?,
            AddressScope::Outside => {
                writeln!(out, "{address} is not announced and not in a node network\n")?;
            }
        }
        let rows: Vec<_> = ways.iter().map(|way| row(subject, way)).collect();
        table::print(out, &["FROM", "NEXT HOP", "ROUTE", "AS PATH"], &rows)?;
    }
    let reached = ways.iter().all(|way| way.next != NextHop::Nowhere);
    Ok(ExitCode::from(u8::from(!reached)))
}

fn name(subject: &ProofModel, vertex: u32) -> &str {
    &subject.graph.vertices[vertex as usize].name
}

fn row(subject: &ProofModel, way: &ForwardingPath) -> Vec<String> {
    let next = match &way.next {
        NextHop::Itself => "local".to_owned(),
        NextHop::Link(Some(link)) => format!("link {link}"),
        NextHop::Link(None) => "link".to_owned(),
        NextHop::Neighbors(next) => table::names(next.iter().map(|vertex| name(subject, *vertex))),
        NextHop::Gateway(address) => format!("gateway {address}"),
        NextHop::Unknown => "unknown".to_owned(),
        NextHop::Nowhere => "unreachable".to_owned(),
    };
    let path: Vec<_> = way.path.iter().map(ToString::to_string).collect();
    let route = way.route.map(|net| net.to_string()).unwrap_or_default();
    vec![name(subject, way.vertex).to_owned(), next, route, path.join(" ")]
}

fn object(subject: &ProofModel, way: &ForwardingPath) -> Value {
    let (kind, next) = match &way.next {
        NextHop::Itself => ("local", Vec::new()),
        NextHop::Link(link) => ("link", link.iter().map(ToString::to_string).collect()),
        NextHop::Neighbors(next) => {
            ("neighbors", next.iter().map(|vertex| name(subject, *vertex).to_owned()).collect())
        }
        NextHop::Gateway(address) => ("gateway", vec![address.to_string()]),
        NextHop::Unknown => ("unknown", Vec::new()),
        NextHop::Nowhere => ("unreachable", Vec::new()),
    };
    json!({
        "machine": name(subject, way.vertex),
        "via": kind,
        "next_hops": next,
        "matched_prefix": way.route.map(|net| net.to_string()),
        "as_path": way.path,
    })
}
