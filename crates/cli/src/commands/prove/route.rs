//! `prove --to`: everyone's way to one address.

use std::io::Write;
use std::net::IpAddr;
use std::process::ExitCode;

use ichor_core::plan::Plan;
use ichor_core::prove::Subject;
use ichor_core::prove::failure::Failure;
use ichor_core::prove::way::{self, Next, Subnet, Way};
use serde_json::{Value, json};

use crate::table;

pub(super) fn run(
    subject: &Subject,
    plan: &Plan,
    address: IpAddr,
    failures: &[Failure],
    as_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let (subnet, ways) = way::all(subject, plan, address, failures);
    if as_json {
        let rows: Vec<Value> = ways.iter().map(|way| object(subject, way)).collect();
        let prefix = match &subnet {
            Subnet::Announced(net, _) | Subnet::Connected(net) => Some(net.to_string()),
            Subnet::Outside => None,
        };
        serde_json::to_writer_pretty(&mut *out, &json!({"prefix": prefix, "ways": rows}))?;
        writeln!(out)?;
    } else {
        match &subnet {
            Subnet::Announced(net, kind) if net.contains(&address) => {
                writeln!(out, "{address} is in {net} ({kind})\n")?;
            }
            Subnet::Announced(net, kind) => writeln!(out, "{address} is like {net} ({kind})\n")?,
            Subnet::Connected(net) => writeln!(out, "{address} is in {net}, a network of nodes\n")?,
            Subnet::Outside => {
                writeln!(out, "{address} is announced by nobody, and in no network of nodes\n")?;
            }
        }
        let rows: Vec<_> = ways.iter().map(|way| row(subject, way)).collect();
        table::print(out, &["WHO", "NEXT", "ROUTE", "AS PATH"], &rows)?;
    }
    let reached = ways.iter().all(|way| way.next != Next::Nowhere);
    Ok(ExitCode::from(u8::from(!reached)))
}

fn name(subject: &Subject, vertex: u32) -> &str {
    &subject.graph.vertices[vertex as usize].name
}

fn row(subject: &Subject, way: &Way) -> Vec<String> {
    let next = match &way.next {
        Next::Itself => "itself".to_owned(),
        Next::Link(Some(link)) => format!("its link {link}"),
        Next::Link(None) => "its link".to_owned(),
        Next::Neighbors(next) => table::names(next.iter().map(|vertex| name(subject, *vertex))),
        Next::Gateway(address) => format!("gateway {address}"),
        Next::Unknown => "not in the file".to_owned(),
        Next::Nowhere => "no way".to_owned(),
    };
    let path: Vec<_> = way.path.iter().map(ToString::to_string).collect();
    let route = way.route.map(|net| net.to_string()).unwrap_or_default();
    vec![name(subject, way.vertex).to_owned(), next, route, path.join(" ")]
}

fn object(subject: &Subject, way: &Way) -> Value {
    let (kind, next) = match &way.next {
        Next::Itself => ("itself", Vec::new()),
        Next::Link(link) => ("link", link.iter().map(ToString::to_string).collect()),
        Next::Neighbors(next) => {
            ("neighbors", next.iter().map(|vertex| name(subject, *vertex).to_owned()).collect())
        }
        Next::Gateway(address) => ("gateway", vec![address.to_string()]),
        Next::Unknown => ("unknown", Vec::new()),
        Next::Nowhere => ("nowhere", Vec::new()),
    };
    json!({
        "who": name(subject, way.vertex),
        "own": way.next == Next::Itself,
        "by": kind,
        "next": next,
        "route": way.route.map(|net| net.to_string()),
        "path": way.path,
    })
}
