//! `show nodes`: names, roles, addresses, AS numbers.

use std::io::Write;

use ichor_core::cluster::section::Addressing;
use ichor_core::plan::{NodePlan, Prefixes};
use ichor_values::read::Read;
use serde_json::{Value, json};

use super::{lines, plain, text, write_list};
use crate::project::Project;
use crate::table;

pub(super) fn print(project: &Project, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if as_json {
        return write_list(out, project.plan.nodes.iter().map(object));
    }
    let rows: Vec<_> = project.plan.nodes.iter().map(row).collect();
    Ok(table::print(out, HEADING, &rows)?)
}

/// The headings of [`row`].
pub(super) const HEADING: &[&str] = &["NODE", "ROLE", "INDEX", "ADDRESS", "LOOPBACK", "ASN", "ROUTER ID"];

/// The row of a node, in this view and in the overview.
pub(super) fn row(node: &NodePlan) -> Vec<String> {
    vec![
        node.name.to_string(),
        lines([node.role.to_string(), text(node.site.as_ref())]),
        text(node.index),
        lines(addresses(node)),
        lines(node.loopback.iter().map(|(net, _)| net.addr().to_string())),
        text(node.asn.as_ref().map(|asn| asn.value)),
        text(node.router_id.as_ref().map(|id| id.value)),
    ]
}

/// The final addresses, and those at other stages.
fn addresses(node: &NodePlan) -> Vec<String> {
    let mut lines: Vec<_> = node.address.iter().map(|(net, _)| net.to_string()).collect();
    if lines.is_empty() && node.addressing.value != Addressing::Static {
        lines.push(node.addressing.value.to_string());
    }
    let stages = &node.stages;
    let known = [("dhcp", stages.dhcp()), ("external", stages.external()), ("overlay", stages.overlay())];
    lines.extend(known.into_iter().filter_map(|(stage, address)| Some(format!("{stage} {}", address?))));
    lines
}

pub(super) fn families(prefixes: &Prefixes) -> Value {
    json!({
        "ipv4": prefixes.v4.as_ref().map(|v4| v4.value.to_string()),
        "ipv6": prefixes.v6.as_ref().map(|v6| v6.value.to_string()),
    })
}

fn object(node: &NodePlan) -> Value {
    let ports: Vec<_> = node
        .ports
        .iter()
        .map(|port| json!({"interface": port.name.as_str(), "mac": port.mac.as_ref().map(|mac| mac.value.to_string())}))
        .collect();
    let dummies: Vec<_> = node
        .dummies
        .iter()
        .map(|dummy| json!({"interface": dummy.name.as_str(), "anycast": dummy.anycast, "addresses": families(&dummy.address)}))
        .collect();
    let stages = &node.stages;
    let stage = |address: Option<std::net::IpAddr>| address.map(|address| address.to_string());
    json!({
        "node": node.name.as_str(),
        "role": node.role.word(),
        "index": node.index,
        "site": node.site.as_ref().map(|site| site.as_str()),
        "platform": node.platform.value.word(),
        "arch": node.arch.value.word(),
        "talos_version": node.talos.value.to_string(),
        "addresses": families(&node.address),
        "addressing": node.addressing.value.word(),
        "interface": node.link.value.as_str(),
        "gateways": {
            "ipv4": node.gateway.v4.as_ref().map(|v4| v4.value.to_string()),
            "ipv6": node.gateway.v6.as_ref().map(|v6| v6.value.to_string()),
        },
        "addresses_by_stage": {
            "dhcp": stage(stages.dhcp()),
            "external": stage(stages.external()),
            "overlay": stage(stages.overlay()),
        },
        "loopbacks": families(&node.loopback),
        "dummies": dummies,
        "ports": ports,
        "labels": node.labels.as_ref().map(|labels| plain(&labels.value.print())),
        "taints": node.taints.as_ref().map(|taints| plain(&taints.value.print())),
        "asn": node.asn.as_ref().map(|asn| asn.value.0),
        "router_id": node.router_id.as_ref().map(|id| id.value.to_string()),
    })
}
