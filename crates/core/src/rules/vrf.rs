//! Routing tables of VRFs.

use super::roll::Rolls;
use super::session::routed;
use super::{Context, Found, Rule, Severity, inline, rung, speaker};
use crate::cluster::Place;
use crate::cluster::section::{Backend, Rung};
use crate::plan::{NodePlan, RoutingPlan};

pub(super) const RULES: &[Rule] = &[TABLE_CLASH];

const TABLE_CLASH: Rule = Rule {
    id: "vrf-table-clash",
    severity: Severity::Error,
    summary: "a VRF has a table that is somebody else's",
    story: "A patch brought a VRF for storage, with table 88 like MetalLB's. zebra exits at once when two VRF devices share a \
            table, so the node had no routing at all, and the log blamed a misconfiguration without naming it.",
    fix: "give each VRF a table of its own between 1 and 252",
    look: table_clash,
};

/// Who else has a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner<'c> {
    Kernel,
    Kubespan,
    Tailscale,
    Patch(&'c str),
    /// Nobody, but Talos takes no such number.
    TooLarge,
}

fn table_clash(context: &Context<'_>, found: &mut Found) {
    let discovery = context.cluster.section().discovery.get();
    let kubespan = discovery.and_then(|discovery| discovery.kubespan.value()) == Some(true);
    let mut rolls = Rolls::new(context.plan);
    for (node, routing) in routed(context) {
        if let Some((table, place)) = own_table(routing)
            && let Some(owner) = owner(node, routing, table, kubespan)
        {
            rolls.add((table, owner, place), &[node.nth], place);
        }
    }
    for ((table, owner, place), roll) in rolls {
        let at = |rung: &Rung| rung.routing.get()?.workload.get()?.vrf.get()?.table.place();
        let node = roll.first();
        let is_written =
            rung::find(context.cluster, node, |rung| at(rung).filter(|found| *found == place)).is_some();
        let path = if is_written {
            rung::path(context.cluster, node, "routing.workload.vrf.table", place, at)
        } else {
            speaker::path(context, node)
        };
        found.at(path, place, message(table, owner));
    }
}

fn message(table: u32, owner: Owner<'_>) -> String {
    match owner {
        Owner::Kernel => format!("table {table} is the kernel's own"),
        Owner::Kubespan => format!("table {table} is KubeSpan's"),
        Owner::Tailscale => format!("table {table} is Tailscale's"),
        Owner::Patch(name) => format!("table {table} is that of VRF {name} in a patch"),
        Owner::TooLarge => format!("Talos takes no table above 252 for a VRF, and this is {table}"),
    }
}

fn own_table(routing: &RoutingPlan) -> Option<(u32, Place)> {
    let workload = routing.workload.as_ref()?;
    let table = workload.table.as_ref()?;
    Some((table.value, table.place().unwrap_or(workload.place)))
}

fn owner<'c>(node: &'c NodePlan, routing: &RoutingPlan, table: u32, kubespan: bool) -> Option<Owner<'c>> {
    let domain = routing.workload.as_ref().and_then(|workload| workload.domain.as_ref());
    let others = inline::documents(&node.settings, "VRFConfig").filter(|(document, _)| {
        inline::text(document, "table").and_then(|text| text.parse().ok()) == Some(table)
    });
    let mut others = others.filter_map(|(document, _)| inline::text(document, "name"));
    match table {
        0 | 253..=255 => Some(Owner::Kernel),
        180 if kubespan => Some(Owner::Kubespan),
        52 if node.settings.overlay.get().is_some_and(|overlay| overlay.tailscale.is_set()) => {
            Some(Owner::Tailscale)
        }
        256.. if routing.backend.value == Backend::Native => Some(Owner::TooLarge),
        _ => others.find(|name| domain.is_none_or(|domain| domain.value != *name)).map(Owner::Patch),
    }
}
