//! Port names that only Talos knows.

use super::session::{self, matching_nodes, sessions};
use crate::plan::{NeighborAddress, NodePlan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::Carrier;
use ichor_values::LinkName;

pub(super) const RULES: &[Rule] = &[OFFICIAL];

const OFFICIAL: Rule = Rule {
    id: "official-port-alias",
    severity: Severity::Error,
    summary: "an official extension refers to a port by a name that only Talos knows",
    failure: "Talos finds the port by its MAC address and stores the name as the port's description. The kernel and \
              BIRD use the kernel's name, so BIRD waits for a port that never appears.",
    fix: "use the kernel's name of the port, or ichor's extension, whose agent finds ports by MAC address",
    check: check_official,
};

fn check_official(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for session in sessions(context) {
        let NeighborAddress::Link(link) = &session.neighbor.peer else { continue };
        if session.routing.carrier.as_ref().is_some_and(|carrier| carrier.value == Carrier::Official) {
            let renamed = matching_nodes(context, session.nodes, |node| is_alias(node, link));
            problems.add(link.as_str(), &renamed, session.neighbor.place);
        }
    }
    for (link, affected) in problems {
        let path = session::key_path(context, affected.first(), affected.place());
        findings.add(
            path,
            affected.place(),
            format!("on {affected} the kernel has no link {link}, which is an alias in Talos"),
        );
    }
}

fn is_alias(node: &NodePlan, link: &LinkName) -> bool {
    let port = node.ports.iter().find(|port| port.name == *link);
    port.is_some_and(|port| port.mac.is_some()) && !node.is_kernels_port_name(link.as_str())
}
