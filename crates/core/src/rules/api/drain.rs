//! Draining nodes.

use crate::cluster::section::Role;
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};

pub(super) const RULES: &[Rule] = &[DRAIN_ALL];

const DRAIN_ALL: Rule = Rule {
    id: "drain-all",
    severity: Severity::Error,
    summary: "every control plane drains",
    failure: "All control planes withdraw their routes at once, including the route to the API's address, and the API \
              becomes unreachable.",
    fix: "drain one node at a time: set `drain: true` on the node itself",
    check: check_drain_all,
};

fn check_drain_all(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class().filter(|(node, _)| node.role == Role::Controlplane) {
        let Some(drain) = node.written().drain.at().filter(|at| *at.value) else { return };
        problems.add_message("drain", Some(drain.place), "no control plane remains", &kind.nodes);
    }
    problems.report(context, findings);
}
