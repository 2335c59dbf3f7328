//! The speaker of service addresses, and its link to the node.

use std::net::IpAddr;

use ipnet::IpNet;

use super::session::{RemoteEnd, bgp_groups};
use crate::cluster::section::Workload;
use crate::model::layer;
use crate::plan::{CniPlan, NodePlan, RoutingPlan, WorkloadPlan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::{Isolation, Speaker};
use ichor_values::{Backend, Location, SoftwareVersion};

pub(super) const RULES: &[Rule] =
    &[LINK_BROKEN, ASN_OF_NODE, ASN_OF_ROUTER, ISOLATION_NONE, WITHOUT_CILIUM, CILIUM_TOO_OLD];

const LINK_BROKEN: Rule = Rule {
    id: "speaker-link-broken",
    severity: Severity::Error,
    summary: "the addresses of the speaker's link do not match",
    failure: "::1 and ::2 with /127 are in different networks. Each end reports `no route to host`, and the speaker's \
              session stays in Active.",
    fix: "use two different addresses of one prefix, such as `::` and `::1` in a /127",
    check: check_link_broken,
};

const ASN_OF_NODE: Rule = Rule {
    id: "speaker-asn-of-node",
    severity: Severity::Error,
    summary: "the speaker has the AS number of a node",
    failure: "FRR 8 rejects the session's local AS number as not external, and no service address is reachable.",
    fix: "use a number that no node has, or leave `routing.workload.asn` out",
    check: check_asn_of_node,
};

const ASN_OF_ROUTER: Rule = Rule {
    id: "speaker-asn-of-router",
    severity: Severity::Error,
    summary: "the speaker has the AS number of a router",
    failure: "The router finds its own AS number in the path of every service address, takes it for a loop and drops \
              the route. Sessions and loopbacks work, services do not.",
    fix: "use a number that no router has, or leave `routing.workload.asn` out",
    check: check_asn_of_router,
};

const ISOLATION_NONE: Rule = Rule {
    id: "isolation-none",
    severity: Severity::Warning,
    summary: "the speaker is not isolated from the node's routing",
    failure: "With both ends of the link in one routing table, FRR 8 accepts the speaker by a range and must rewrite \
              its next hops. Some later releases of FRR lose equal-cost paths in this setup.",
    fix: "leave `isolation` out, or set `isolation: vrf`",
    check: check_isolation_none,
};

/// The first release of Cilium that can connect from a chosen link.
const SOURCE_INTERFACE: (u16, u16) = (1, 19);

const CILIUM_TOO_OLD: Rule = Rule {
    id: "cilium-too-old",
    severity: Severity::Error,
    summary: "Cilium before 1.19 cannot peer without isolation",
    failure: "Without isolation Cilium must connect from its end of the link, which is `transport.sourceInterface` of a \
              CiliumBGPPeerConfig. Cilium 1.18 does not have the field: the API server rejects the object, and Talos then \
              applies no bootstrap manifest after it.",
    fix: "use Cilium 1.19 or later, or leave `routing.workload.isolation` out",
    check: check_cilium_too_old,
};

const WITHOUT_CILIUM: Rule = Rule {
    id: "speaker-without-cilium",
    severity: Severity::Error,
    summary: "Cilium is the speaker, but the pod network is flannel",
    failure: "The node waits for Cilium, which is not installed. The session stays in Active, and no service address \
              is reachable.",
    fix: "set `cluster.cni: cilium`, `none` if Cilium is installed separately, or `speaker: metallb`",
    check: check_without_cilium,
};

/// The speaker of a BGP group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupSpeaker<'c> {
    /// The numbers of the nodes.
    pub nodes: &'c [usize],
    pub routing: &'c RoutingPlan,
    pub workload: &'c WorkloadPlan,
    pub(crate) written: &'c Workload,
}

/// The speakers, once per BGP group.
pub(super) fn speakers<'c>(context: &RuleContext<'c>) -> impl Iterator<Item = GroupSpeaker<'c>> {
    bgp_groups(context).filter_map(|(nodes, node, routing)| {
        let workload = routing.workload.as_ref()?;
        let written = node.written().routing.get()?.workload.get()?;
        Some(GroupSpeaker { nodes, routing, workload, written })
    })
}

/// The path of the speaker of `node`.
pub(super) fn key_path(context: &RuleContext<'_>, node: &NodePlan) -> String {
    let found =
        layer::find_setting(context.cluster, node.nth, |settings| settings.routing.get()?.workload.place());
    found.map_or_else(|| "routing.workload".to_owned(), |(layer, _)| layer.path("routing.workload"))
}

/// Reports each location once, with its message.
pub(super) fn report(
    context: &RuleContext<'_>,
    findings: &mut Findings,
    below: &str,
    key: impl Fn(&Workload) -> Option<Location>,
    wrong: impl Fn(&GroupSpeaker<'_>) -> Option<String>,
) {
    let mut problems = NodesByProblem::new(context.plan);
    for speaking in speakers(context) {
        if let Some(message) = wrong(&speaking) {
            let place = key(speaking.written);
            problems.add(
                (place.unwrap_or(speaking.workload.place), place.is_some(), message),
                speaking.nodes,
                Location::default(),
            );
        }
    }
    for ((place, is_written, message), affected) in problems {
        let node = affected.first();
        let at = if is_written {
            let below = format!("routing.workload.{below}");
            layer::setting_path(context.cluster, node.nth, &below, place, |settings| {
                key(settings.routing.get()?.workload.get()?)
            })
        } else {
            key_path(context, node)
        };
        findings.add(at, place, message);
    }
}

fn check_without_cilium(context: &RuleContext<'_>, findings: &mut Findings) {
    let cni = &context.plan.cluster.cni;
    if !matches!(cni.value, CniPlan::Flannel(_)) {
        return;
    }
    let why = if cni.place().is_some() {
        "`cluster.cni` is flannel"
    } else {
        "flannel is the pod network by default"
    };
    report(
        context,
        findings,
        "speaker",
        |workload| workload.speaker.place(),
        |speaking| {
            (speaking.workload.speaker == Speaker::Cilium).then(|| format!("Cilium is not installed: {why}"))
        },
    );
}

fn check_cilium_too_old(context: &RuleContext<'_>, findings: &mut Findings) {
    let Some(cilium) = &context.plan.cluster.cilium else { return };
    let Ok(version) = SoftwareVersion::parse(&cilium.version.value) else { return };
    if version.minor() >= SOURCE_INTERFACE {
        return;
    }
    report(
        context,
        findings,
        "isolation",
        |workload| workload.isolation.place(),
        |speaking| {
            let workload = speaking.workload;
            (workload.speaker == Speaker::Cilium && workload.isolation.value == Isolation::None)
                .then(|| format!("Cilium {version} cannot choose the link that it connects from"))
        },
    );
}

fn check_link_broken(context: &RuleContext<'_>, findings: &mut Findings) {
    report(
        context,
        findings,
        "link",
        |workload| workload.link.place(),
        |speaking| {
            let (ours, theirs) = speaking.workload.link.as_ref()?;
            link_fault(ours.value, theirs.value, speaking.workload.prefix.value)
        },
    );
}

/// Why two addresses with this prefix length are not the ends of a link.
fn link_fault(ours: IpAddr, theirs: IpAddr, length: u8) -> Option<String> {
    if ours.is_ipv4() != theirs.is_ipv4() {
        return Some(format!("{ours} and {theirs} are of different IP families"));
    }
    if ours == theirs {
        return Some(format!("both ends have {ours}"));
    }
    match IpNet::new(ours, length) {
        Err(_) => Some(format!("{length} is not a prefix length for {ours}")),
        Ok(net) if !net.contains(&theirs) => {
            Some(format!("{theirs} is not in {}, the prefix of {ours}", net.trunc()))
        }
        Ok(_) => None,
    }
}

fn check_asn_of_node(context: &RuleContext<'_>, findings: &mut Findings) {
    let key = |workload: &Workload| workload.asn.get()?.theirs.place();
    report(context, findings, "asn.theirs", key, |speaking| {
        let theirs = speaking.workload.asn.1.value;
        let nodes = speaking.nodes.iter().map(|nth| &context.plan.nodes[*nth]);
        let mut same = nodes.filter(|node| node.asn.as_ref().is_some_and(|asn| asn.value == theirs));
        same.next().map(|node| format!("{theirs} is also the AS number of {}", node.name))
    });
}

fn check_asn_of_router(context: &RuleContext<'_>, findings: &mut Findings) {
    let key = |workload: &Workload| workload.asn.get()?.theirs.place();
    report(context, findings, "asn.theirs", key, |speaking| {
        let theirs = speaking.workload.asn.1.value;
        let mut listed = context.cluster.routers().filter(|router| router.value.asn.value() == Some(theirs));
        let named = listed.next().and_then(|router| router.value.name.get()).map(ToString::to_string);
        let mut neighbors = speaking.routing.neighbors.iter();
        let unlisted = || {
            neighbors
                .find(|it| it.asn() == Some(theirs))
                .map(|neighbor| RemoteEnd::from_neighbor(neighbor).to_string())
        };
        let router = named.or_else(unlisted)?;
        Some(format!(
            "{theirs} is also the AS number of {router}, which drops every service address as a loop"
        ))
    });
}

/// Only for backends that support it; `backend` reports the others.
fn check_isolation_none(context: &RuleContext<'_>, findings: &mut Findings) {
    report(
        context,
        findings,
        "isolation",
        |workload| workload.isolation.place(),
        |speaking| {
            let works = speaking.routing.backend.value == Backend::Frr
                && !speaking.routing.limitations.iter().any(|lack| lack.key == "workload.isolation");
            (works && speaking.workload.isolation.value == Isolation::None).then(|| {
                "without isolation only filters separate the speaker's routes, which only FRR 8 supports"
                    .to_owned()
            })
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_link_are_two_addresses_of_one_prefix() {
        let check = |ours: &str, theirs: &str, length| {
            link_fault(ours.parse().unwrap(), theirs.parse().unwrap(), length)
        };

        assert_eq!(check("fda1::", "fda1::1", 127), None);
        assert_eq!(check("192.168.250.254", "192.168.250.255", 31), None);
        assert_eq!(
            check("fda1::1", "fda1::2", 127).as_deref(),
            Some("fda1::2 is not in fda1::/127, the prefix of fda1::1")
        );
        assert!(check("fda1::1", "fda1::1", 127).is_some());
        assert!(check("fda1::1", "10.0.0.1", 31).is_some());
        assert!(check("10.0.0.0", "10.0.0.1", 127).is_some());
    }
}
