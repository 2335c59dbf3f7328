//! Policies toward the fabric.

use super::session::bgp_groups;
use crate::cluster::section::NodeSettings;
use crate::model::layer;
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::Backend;

pub(super) const RULES: &[Rule] = &[PREPEND_TOO_OFTEN];

const PREPEND_TOO_OFTEN: Rule = Rule {
    id: "prepend-too-often",
    severity: Severity::Error,
    summary: "the AS number is prepended more often than FRR supports",
    failure: "FRR rejects the line, and the node announces its routes with the shortest path instead of the longest.",
    fix: "prepend at most 252 times; five are enough in any fabric",
    check: check_prepend_too_often,
};

/// A line of FRR 8.4 and 10.3 has at most 255 words, and three of them are `set as-path prepend`.
const MOST: u8 = 252;

fn check_prepend_too_often(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (nodes, node, _) in bgp_groups(context).filter(|(_, _, plan)| plan.backend.value == Backend::Frr) {
        let written = node.written().routing.get().and_then(|routing| routing.policy.get()?.out.get());
        if let Some(prepend) =
            written.and_then(|out| out.prepend.at()).filter(|prepend| *prepend.value > MOST)
        {
            problems.add((prepend.place, *prepend.value), nodes, prepend.place);
        }
    }
    for ((place, times), affected) in problems {
        let at = |settings: &NodeSettings| settings.routing.get()?.policy.get()?.out.get()?.prepend.place();
        let path = layer::setting_path(
            context.cluster,
            affected.first().nth,
            "routing.policy.out.prepend",
            place,
            at,
        );
        findings.add(path, place, format!("{times} exceeds FRR's limit of {MOST}"));
    }
}
