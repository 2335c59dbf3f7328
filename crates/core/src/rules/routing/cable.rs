//! Cables: existing ports, one cable per port, and agreement with the sessions.

use std::collections::HashMap;

use crate::plan::{NeighborAddress, NodePlan};
use crate::rules::machine::link;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::Location;

pub(super) const RULES: &[Rule] = &[PORT_UNKNOWN, PORT_TWICE, CONTRADICTS, NAMED_LIKE_NODE];

const PORT_UNKNOWN: Rule = Rule {
    id: "cable-port-unknown",
    severity: Severity::Error,
    summary: "a cable ends in a port that its node does not have",
    failure: "The cable list describes a connection that does not exist. Drawing, lab and cabling follow the list and \
              differ from the node's configuration.",
    fix: "name one of the node's ports, or add it to the node's `ports` and `macs`",
    check: check_port_unknown,
};

const PORT_TWICE: Rule = Rule {
    id: "cable-port-twice",
    severity: Severity::Error,
    summary: "two cables end in the same port",
    failure: "Only one of the two cables can be connected. The other node has no connection to this port, although the \
              drawing shows one.",
    fix: "connect each cable to ports of its own",
    check: check_port_twice,
};

const CONTRADICTS: Rule = Rule {
    id: "cable-contradicts",
    severity: Severity::Error,
    summary: "a cable leads to a router other than the one the session on its port expects",
    failure: "The node opens the session to the router that the cable leads to. Its AS number differs, and it rejects \
              the session with `Bad Peer AS`.",
    fix: "correct the cable, or the neighbour's `router` or `link`",
    check: check_contradicts,
};

const NAMED_LIKE_NODE: Rule = Rule {
    id: "router-named-like-node",
    severity: Severity::Error,
    summary: "a router has the name of a node",
    failure: "Cables, files and sessions refer to routers and nodes by name. A router with a node's name gets the \
              node's cables, and its configuration overwrites the node's.",
    fix: "give the router a unique name",
    check: check_named_like_node,
};

/// One end of a cable, and the host at the other end.
struct CableEndpoint<'c> {
    path: String,
    place: Location,
    host: &'c str,
    port: &'c str,
    far: &'c str,
}

/// The ends of every cable.
fn ends<'c>(context: &RuleContext<'c>) -> impl Iterator<Item = CableEndpoint<'c>> {
    let cables = context.cluster.file.fabric.get().map(|fabric| &fabric.cables);
    let cables = cables.into_iter().flat_map(|cables| cables.items()).enumerate();
    cables.flat_map(|(nth, cable)| {
        let (one, other) = (&cable.value.0, &cable.value.1);
        [(one, other), (other, one)].map(|(near, far)| {
            let ((host, port), (far, _)) = (near.value.parts(), far.value.parts());
            CableEndpoint { path: format!("fabric.cables[{nth}]"), place: near.place, host, port, far }
        })
    })
}

fn node<'c>(context: &RuleContext<'c>, name: &str) -> Option<&'c NodePlan> {
    context.cluster.node(name).map(|nth| &context.plan.nodes[nth])
}

fn check_port_unknown(context: &RuleContext<'_>, findings: &mut Findings) {
    for end in ends(context) {
        let Some(node) = node(context, end.host) else { continue };
        if !has_port(context, node, end.port) {
            let names: Vec<_> = node.ports.iter().map(|port| port.name.as_str()).collect();
            let message =
                format!("{} has no port {}; its ports are {}", end.host, end.port, names.join(", "));
            findings.add(end.path, end.place, message);
        }
    }
}

/// Whether a node has a port or link of this name, or a bond or bridge with such a member.
fn has_port(context: &RuleContext<'_>, node: &NodePlan, name: &str) -> bool {
    let members = || node.written().links.values().flat_map(link::members);
    node.ports.iter().any(|port| port.name.as_str() == name)
        || members().any(|(_, member)| member.value.as_str() == name)
        || link::known_links(context, node).contains(name)
}

fn check_port_twice(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut known: HashMap<(&str, &str), String> = HashMap::new();
    for end in ends(context) {
        if let Some(first) = known.get(&(end.host, end.port)) {
            let message = format!("{}:{} is already connected by {first}", end.host, end.port);
            findings.add(end.path, end.place, message);
        } else {
            known.insert((end.host, end.port), end.path);
        }
    }
}

fn check_contradicts(context: &RuleContext<'_>, findings: &mut Findings) {
    for end in ends(context).filter(|end| context.cluster.router(end.far).is_some()) {
        let Some(node) = node(context, end.host) else { continue };
        let neighbors = node.routing.iter().flat_map(|routing| &routing.neighbors);
        let mut on_port = neighbors.filter(|neighbor| match &neighbor.peer {
            NeighborAddress::Link(link) => link.as_str() == end.port,
            NeighborAddress::Address(_) => false,
        });
        let other =
            on_port.find_map(|neighbor| neighbor.router.as_ref().filter(|name| name.as_str() != end.far));
        if let Some(router) = other {
            let (host, port, far) = (end.host, end.port, end.far);
            let message = format!("{host}:{port} leads to {far}, but the neighbour on {port} is {router}");
            findings.add(end.path, end.place, message);
        }
    }
}

fn check_named_like_node(context: &RuleContext<'_>, findings: &mut Findings) {
    for router in context.cluster.routers() {
        if let Some(name) = router.value.name.at()
            && context.cluster.node(name.value.as_str()).is_some()
        {
            let message = format!("a node is also named {}", name.value);
            findings.add(format!("fabric.routers.{}", name.value), name.place, message);
        }
    }
}
