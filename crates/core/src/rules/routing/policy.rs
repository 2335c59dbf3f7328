//! What the policies toward the fabric ask of a daemon.

use super::session::alike;
use crate::cluster::section::{Backend, Rung};
use crate::rules::roll::Rolls;
use crate::rules::{Context, Found, Rule, Severity, rung};

pub(super) const RULES: &[Rule] = &[PREPEND_TOO_OFTEN];

const PREPEND_TOO_OFTEN: Rule = Rule {
    id: "prepend-too-often",
    severity: Severity::Error,
    summary: "the AS number is prepended more often than FRR can",
    story: "A node was to be the last choice of all and got `prepend: 255`. FRR knew no such command, left the line out, and the \
            node announced everything with the shortest path of all.",
    fix: "prepend 252 times at most; five are enough to be the last choice in any fabric",
    look: prepend_too_often,
};

/// A line of FRR 8.4 and 10.3 has 255 words at most, and three of them are `set as-path prepend`.
const MOST: u8 = 252;

fn prepend_too_often(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for (nodes, node, _) in alike(context).filter(|(_, _, plan)| plan.backend.value == Backend::Frr) {
        let written = node.written().routing.get().and_then(|routing| routing.policy.get()?.out.get());
        if let Some(prepend) =
            written.and_then(|out| out.prepend.at()).filter(|prepend| *prepend.value > MOST)
        {
            rolls.add((prepend.place, *prepend.value), nodes, prepend.place);
        }
    }
    for ((place, times), roll) in rolls {
        let at = |rung: &Rung| rung.routing.get()?.policy.get()?.out.get()?.prepend.place();
        let path = rung::path(context.cluster, roll.first(), "routing.policy.out.prepend", place, at);
        found.at(path, place, format!("{times} is more than the {MOST} that fit on a line of FRR"));
    }
}
