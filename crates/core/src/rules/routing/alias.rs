//! Names of ports that a daemon cannot know.

use super::session::{self, sessions, those};
use crate::plan::{NeighborAddress, NodePlan};
use crate::rules::roll::NodesByProblem;
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

fn check_official(context: &RuleContext<'_>, found: &mut Findings) {
    let mut rolls = NodesByProblem::new(context.plan);
    for session in sessions(context) {
        let NeighborAddress::Link(link) = &session.neighbor.peer else { continue };
        if session.routing.carrier.as_ref().is_some_and(|carrier| carrier.value == Carrier::Official) {
            let renamed = those(context, session.nodes, |node| is_alias(node, link));
            rolls.add(link.as_str(), &renamed, session.neighbor.place);
        }
    }
    for (link, roll) in rolls {
        let path = session::path(context, roll.first(), roll.place());
        found.at(
            path,
            roll.place(),
            format!("on {roll} the kernel has no link {link}, which is an alias in Talos"),
        );
    }
}

fn is_alias(node: &NodePlan, link: &LinkName) -> bool {
    let port = node.ports.iter().find(|port| port.name == *link);
    port.is_some_and(|port| port.mac.is_some()) && !node.is_kernels_port_name(link.as_str())
}
