//! The number of control planes, and the one to bootstrap.

use crate::cluster::section::Role;
use crate::rules::{Findings, Rule, RuleContext, Severity};

pub(super) const RULES: &[Rule] = &[NONE, EVEN, BOOTSTRAP];

const NONE: Rule = Rule {
    id: "no-control-plane",
    severity: Severity::Error,
    summary: "no node is a control plane",
    failure: "A node without `role` is a worker. If all nodes are workers, they wait for an API server that is never \
              started.",
    fix: "set `role: controlplane` on one node or on three",
    check: check_none,
};

const EVEN: Rule = Rule {
    id: "even-control-planes",
    severity: Severity::Warning,
    summary: "the number of control planes is even",
    failure: "etcd needs more than half of its members. With two control planes the cluster stops if either fails, \
              which is less reliable than one.",
    fix: "use one, three or five control planes",
    check: check_even,
};

const BOOTSTRAP: Rule = Rule {
    id: "bootstrap-worker",
    severity: Severity::Error,
    summary: "`cluster.bootstrap` names a worker",
    failure: "A worker has no etcd and rejects the request, so etcd is never bootstrapped and the control planes keep \
              waiting.",
    fix: "name a control plane in `cluster.bootstrap`, or leave it out",
    check: check_bootstrap,
};

fn check_none(context: &RuleContext<'_>, findings: &mut Findings) {
    if context.plan.control_planes().next().is_none() {
        let place = context.plan.nodes.first().map_or(context.cluster.place(), |node| node.place);
        let message =
            if context.plan.nodes.is_empty() { "the file has no nodes" } else { "every node is a worker" };
        findings.add("nodes", place, message);
    }
}

fn check_even(context: &RuleContext<'_>, findings: &mut Findings) {
    let count = context.plan.control_planes().count();
    if let Some(last) = context.plan.control_planes().last().filter(|_| count.is_multiple_of(2)) {
        let message = format!("{count} control planes tolerate no more failures than {}", count - 1);
        findings.add("nodes", last.place, message);
    }
}

fn check_bootstrap(context: &RuleContext<'_>, findings: &mut Findings) {
    let Some(at) = context.cluster.section().bootstrap.at() else { return };
    if context.plan.node(at.value.as_str()).is_some_and(|node| node.role == Role::Worker) {
        findings.add("cluster.bootstrap", at.place, format!("{} is a worker", at.value));
    }
}
