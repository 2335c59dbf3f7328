//! Nodes on their way out.

use crate::cluster::section::Role;
use crate::rules::roll::Rolls;
use crate::rules::{Context, Found, Rule, Severity};

pub(super) const RULES: &[Rule] = &[DRAIN_ALL];

const DRAIN_ALL: Rule = Rule {
    id: "drain-all",
    severity: Severity::Error,
    summary: "every control plane drains",
    story: "`drain: true` was meant for one node and written into the role. All control planes withdraw their routes at \
            once, the API's address among them, and there is nothing left to ask what happened.",
    fix: "drain one node at a time, with `drain: true` on the node itself",
    look: drain_all,
};

fn drain_all(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for (node, kind) in context.plan.by_kind().filter(|(node, _)| node.role == Role::Controlplane) {
        let Some(drain) = node.written().drain.at().filter(|at| *at.value) else { return };
        rolls.say("drain", Some(drain.place), "not one control plane is left", &kind.nodes);
    }
    rolls.report(context, found);
}
