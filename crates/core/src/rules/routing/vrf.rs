//! Routing tables of VRFs.

use serde_json::Value;

use super::session::routed_nodes;
use super::speaker;
use crate::cluster::section::NodeSettings;
use crate::model::layer;
use crate::plan::{NodePlan, RoutingPlan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::patch::{nodes_of, used_patches};
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::document;
use ichor_values::Backend;
use ichor_values::Location;

pub(super) const RULES: &[Rule] = &[TABLE_CLASH];

const TABLE_CLASH: Rule = Rule {
    id: "vrf-table-clash",
    severity: Severity::Error,
    summary: "a VRF has a routing table that is already used or not supported",
    failure: "zebra exits if two VRF devices share a table, so the node has no routing. Its log reports a \
              misconfiguration without naming it.",
    fix: "give each VRF a unique table between 1 and 252",
    check: check_table_clash,
};

/// The other user of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TableOwner<'c> {
    Kernel,
    Kubespan,
    Tailscale,
    /// A VRF in a patch, by its name and the patch's file.
    Patch(&'c str, Option<&'c str>),
    /// Unused, but above Talos' limit.
    TooLarge,
}

fn check_table_clash(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, routing) in routed_nodes(context) {
        if let Some((table, place)) = own_table(routing)
            && let Some(owner) = reserved_owner(context, node, routing, table)
        {
            problems.add((table, owner, place), &[node.nth], place);
        }
    }
    for (patch, kinds) in used_patches(context) {
        for (name, table) in patch.of_kind("VRFConfig").filter_map(vrf_table) {
            for node in nodes_of(&kinds).into_iter().map(|nth| &context.plan.nodes[nth]) {
                if let Some(place) = clash_location(context, node, name, table) {
                    let owner = TableOwner::Patch(name, patch.file.as_deref());
                    problems.add((table, owner, place), &[node.nth], place);
                }
            }
        }
    }
    for ((table, owner, place), affected) in problems {
        let at = |settings: &NodeSettings| settings.routing.get()?.workload.get()?.vrf.get()?.table.place();
        let node = affected.first();
        let is_written = layer::find_setting(context.cluster, node.nth, |settings| {
            at(settings).filter(|found| *found == place)
        })
        .is_some();
        let path = if is_written {
            layer::setting_path(context.cluster, node.nth, "routing.workload.vrf.table", place, at)
        } else {
            speaker::key_path(context, node)
        };
        findings.add(path, place, message(table, owner));
    }
}

fn message(table: u32, owner: TableOwner<'_>) -> String {
    match owner {
        TableOwner::Kernel => format!("table {table} is reserved by the kernel"),
        TableOwner::Kubespan => format!("table {table} is used by KubeSpan"),
        TableOwner::Tailscale => format!("table {table} is used by Tailscale"),
        TableOwner::Patch(name, file) => {
            format!("table {table} is used by VRF {name} in {}", file.unwrap_or("a patch"))
        }
        TableOwner::TooLarge => format!("Talos accepts VRF tables up to 252, not {table}"),
    }
}

fn own_table(routing: &RoutingPlan) -> Option<(u32, Location)> {
    let workload = routing.workload.as_ref()?;
    let table = workload.table.as_ref()?;
    Some((table.value, table.place().unwrap_or(workload.place)))
}

/// The user of a table independent of patches.
fn reserved_owner(
    context: &RuleContext<'_>,
    node: &NodePlan,
    routing: &RoutingPlan,
    table: u32,
) -> Option<TableOwner<'static>> {
    let discovery = context.cluster.section().discovery.get();
    let kubespan = || discovery.and_then(|discovery| discovery.kubespan.value()) == Some(true);
    match table {
        0 | 253..=255 => Some(TableOwner::Kernel),
        180 if kubespan() => Some(TableOwner::Kubespan),
        52 if node.joins_overlay() => Some(TableOwner::Tailscale),
        256.. if routing.backend.value == Backend::Native => Some(TableOwner::TooLarge),
        _ => None,
    }
}

/// Name and table of a VRF in a patch.
fn vrf_table(document: &Value) -> Option<(&str, u32)> {
    let table = match document.get("table")? {
        Value::Number(number) => number.as_u64()?.try_into().ok()?,
        Value::String(text) => text.parse().ok()?,
        _ => return None,
    };
    Some((document::name(document)?, table))
}

/// The location of the node's VRF if it has this table, unless it has this name or the table is reserved.
fn clash_location(context: &RuleContext<'_>, node: &NodePlan, name: &str, table: u32) -> Option<Location> {
    let routing = node.routing.as_deref()?;
    let (own, place) = own_table(routing)?;
    let domain = routing.workload.as_ref()?.domain.as_ref();
    let other = domain.is_none_or(|domain| domain.value != name);
    (own == table && other && reserved_owner(context, node, routing, table).is_none()).then_some(place)
}
