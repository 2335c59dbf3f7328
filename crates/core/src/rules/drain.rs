//! Nodes on their way out.

use super::group::{self, Groups};
use super::{Context, Found, Rule, Severity};
use crate::cluster::section::Role;

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
    let mut groups = Groups::new(context);
    for (node, kind) in group::kinds(context).filter(|(node, _)| node.role == Role::Controlplane) {
        let Some(drain) = node.settings.drain.at().filter(|at| *at.value) else { return };
        groups.add("drain", Some(drain.place), "not one control plane is left", &kind.nodes);
    }
    groups.report(found);
}
