//! Limitations of a router's software.

use super::session::{self, FabricSession, sessions};
use crate::plan::NeighborAddress;
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::Software;

pub(super) const RULES: &[Rule] = &[UNNUMBERED];

const UNNUMBERED: Rule = Rule {
    id: "routeros-unnumbered",
    severity: Severity::Error,
    summary: "a session without addresses leads to a router that runs RouterOS",
    failure: "FRR on the node waits for a neighbour on the port, RouterOS waits for an address, and neither opens the \
              session.",
    fix: "give the router and the nodes addresses on that link, and write the router's in `addresses`",
    check: check_unnumbered,
};

fn check_unnumbered(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    let by_port = |session: &FabricSession<'_>| matches!(session.neighbor.peer, NeighborAddress::Link(_));
    for session in sessions(context).filter(by_port) {
        let software = session.router.and_then(|router| router.value.software.value());
        if software == Some(Software::Routeros) {
            problems.add(session.remote_end(), session.nodes, session.neighbor.place);
        }
    }
    for (far, affected) in problems {
        let message =
            format!("{far} runs RouterOS, which does not support unnumbered sessions with {affected}");
        findings.add(
            session::key_path(context, affected.first(), affected.place()),
            affected.place(),
            message,
        );
    }
}
