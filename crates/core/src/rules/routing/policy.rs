//! What the policies toward the fabric ask of a daemon.

use super::session::alike;
use crate::cluster::section::NodeSettings;
use crate::model::layer;
use crate::rules::roll::NodesByProblem;
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

/// A line of FRR 8.4 and 10.3 has 255 words at most, and three of them are `set as-path prepend`.
const MOST: u8 = 252;

fn check_prepend_too_often(context: &RuleContext<'_>, found: &mut Findings) {
    let mut rolls = NodesByProblem::new(context.plan);
    for (nodes, node, _) in alike(context).filter(|(_, _, plan)| plan.backend.value == Backend::Frr) {
        let written = node.written().routing.get().and_then(|routing| routing.policy.get()?.out.get());
        if let Some(prepend) =
            written.and_then(|out| out.prepend.at()).filter(|prepend| *prepend.value > MOST)
        {
            rolls.add((prepend.place, *prepend.value), nodes, prepend.place);
        }
    }
    for ((place, times), roll) in rolls {
        let at = |settings: &NodeSettings| settings.routing.get()?.policy.get()?.out.get()?.prepend.place();
        let path =
            layer::setting_path(context.cluster, roll.first().nth, "routing.policy.out.prepend", place, at);
        found.at(path, place, format!("{times} exceeds FRR's limit of {MOST}"));
    }
}
