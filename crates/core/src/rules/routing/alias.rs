//! Names of ports that a daemon cannot know.

use super::session::{self, sessions, those};
use crate::plan::{NodePlan, Peer};
use crate::rules::roll::Rolls;
use crate::rules::{Context, Found, Rule, Severity};
use ichor_bgp::setting::Carrier;
use ichor_values::LinkName;

pub(super) const RULES: &[Rule] = &[OFFICIAL];

const OFFICIAL: Rule = Rule {
    id: "official-port-alias",
    severity: Severity::Error,
    summary: "an official extension shall find a router on a port by a name that only Talos knows",
    story: "A port was called fab0 in the file. Talos found it by its MAC address and wrote that name down as its description; \
            the kernel went on calling it enp3s0, and so did BIRD, which waited for fab0 for ever.",
    fix: "use the kernel's name of the port, or ichor's extension, whose agent knows ports by their MAC addresses",
    look: official,
};

fn official(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for session in sessions(context) {
        let Peer::Link(link) = &session.neighbor.peer else { continue };
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
            format!("on {roll} the kernel has no link {link}: it is an alias of Talos"),
        );
    }
}

fn is_alias(node: &NodePlan, link: &LinkName) -> bool {
    let port = node.ports.iter().find(|port| port.name == *link);
    port.is_some_and(|port| port.mac.is_some()) && !node.is_kernels_port_name(link.as_str())
}
