//! Other users of port 179, and sysctls that break routing.

use super::session::{matching_nodes, routed_nodes};
use crate::cluster::section::NodeSettings;
use crate::model::layer;
use crate::plan::backend::is_bird2;
use crate::plan::{NodePlan, RoutingPlan};
use crate::rules::affected_nodes::{AffectedNodes, NodesByProblem};
use crate::rules::patch::{nodes_of, used_patches};
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::Isolation;
use ichor_values::Backend;
use ichor_values::Location;

pub(super) const RULES: &[Rule] = &[CLASH, SYSCTL];

const CLASH: Rule = Rule {
    id: "listener-clash",
    severity: Severity::Error,
    summary: "two programs on the node use port 179",
    failure: "The program that starts first takes the port. The other one runs without a listener, and the speaker's \
              connections reach the wrong daemon.",
    fix: "remove the other program, or give it another port",
    check: check_clash,
};

const SYSCTL: Rule = Rule {
    id: "sysctl-against-routing",
    severity: Severity::Error,
    summary: "a sysctl in the file breaks routing on the node",
    failure: "With `rp_filter=1`, for example, the kernel drops packets that leave through one router and return \
              through another: about half of all connections fail.",
    fix: "remove the sysctl: ichor sets what routing needs",
    check: check_sysctl,
};

/// Sysctls with a value that breaks routing, and the effect.
const BREAKING: [(&str, &str, &str); 6] = [
    ("net.ipv4.ip_forward", "0", "the kernel forwards nothing"),
    ("net.ipv6.conf.all.forwarding", "0", "the kernel forwards nothing"),
    ("net.ipv4.conf.all.rp_filter", "1", "replies through another leaf are dropped"),
    ("net.ipv4.conf.default.rp_filter", "1", "replies through another leaf are dropped"),
    ("net.ipv6.fib_multipath_hash_policy", "0", "all flows between two addresses take one path"),
    (ACCEPT, "1", "the daemon's default instance accepts the speaker's connection in the VRF"),
];

const ACCEPT: &str = "net.ipv4.tcp_l3mdev_accept";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PortUser {
    Status,
    Kubeprism,
    Bird2,
}

impl PortUser {
    fn words(self) -> &'static str {
        match self {
            Self::Status => "the agent's status",
            Self::Kubeprism => "KubePrism",
            Self::Bird2 => "the extension bird2",
        }
    }
}

fn check_clash(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    let kubeprism = context.cluster.section().kubeprism.at().filter(|port| *port.value == 179);
    for (node, routing) in routed_nodes(context) {
        if let Some(place) = status_port(node) {
            problems.add((PortUser::Status, place), &[node.nth], place);
        }
        if let Some(port) = kubeprism {
            problems.add((PortUser::Kubeprism, port.place), &[node.nth], port.place);
        }
        if let Some(place) = other_bird(node, routing) {
            problems.add((PortUser::Bird2, place), &[node.nth], place);
        }
    }
    for ((other, place), affected) in problems {
        let path = path(context, affected.first(), other, place);
        findings.add(path, place, message(other.words(), &affected));
    }
    check_patches(context, findings);
}

/// Reports BGP instances in patches on nodes whose daemon is not Talos itself.
fn check_patches(context: &RuleContext<'_>, findings: &mut Findings) {
    for (patch, kinds) in
        used_patches(context).into_iter().filter(|(patch, _)| patch.of_kind(INSTANCE).next().is_some())
    {
        let other = |node: &NodePlan| {
            node.routing.as_ref().is_some_and(|routing| routing.backend.value != Backend::Native)
        };
        let nodes = matching_nodes(context, &nodes_of(&kinds), other);
        if !nodes.is_empty() {
            let message = message(
                &format!("a {INSTANCE} in a patch"),
                &AffectedNodes::from_numbers(context.plan, &nodes),
            );
            findings.add(&patch.key, patch.place, patch.message(message));
        }
    }
}

const INSTANCE: &str = "BGPInstanceConfig";

fn message(other: &str, affected: &AffectedNodes<'_>) -> String {
    format!("{other} and the routing daemon of {affected} both use port 179")
}

fn status_port(node: &NodePlan) -> Option<Location> {
    let listen = node.written().routing.get()?.agent.get()?.status.get()?.listen.at()?;
    (listen.value.as_str().rsplit_once(':')?.1 == "179").then_some(listen.place)
}

fn other_bird(node: &NodePlan, routing: &RoutingPlan) -> Option<Location> {
    if routing.is_bird2() {
        return None;
    }
    node.written()
        .extensions
        .items()
        .find(|extension| is_bird2(extension.value.as_str()))
        .map(|found| found.place)
}

fn path(context: &RuleContext<'_>, node: &NodePlan, other: PortUser, place: Location) -> String {
    match other {
        PortUser::Status => {
            let at =
                |settings: &NodeSettings| settings.routing.get()?.agent.get()?.status.get()?.listen.place();
            layer::setting_path(context.cluster, node.nth, "routing.agent.status.listen", place, at)
        }
        PortUser::Kubeprism => "cluster.kubeprism".to_owned(),
        PortUser::Bird2 => {
            let at = |settings: &NodeSettings| {
                settings.extensions.items().map(|item| item.place).find(|found| *found == place)
            };
            layer::setting_path(context.cluster, node.nth, "extensions", place, at)
        }
    }
}

fn check_sysctl(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, routing) in routed_nodes(context) {
        let Some(sysctls) = node.written().kernel.get().and_then(|kernel| kernel.sysctls.get()) else {
            continue;
        };
        for (key, value, why) in BREAKING {
            if let Some(set) = sysctls.get(key).filter(|set| set.value.as_str() == value)
                && (key != ACCEPT || has_vrf(routing))
            {
                problems.add((set.place, key, value, why), &[node.nth], set.place);
            }
        }
    }
    for ((place, key, value, why), affected) in problems {
        let at = |settings: &NodeSettings| Some(settings.kernel.get()?.sysctls.get()?.get(key)?.place);
        let path = layer::setting_path(
            context.cluster,
            affected.first().nth,
            &format!("kernel.sysctls.{key}"),
            place,
            at,
        );
        findings.add(path, place, format!("with {value} {why}"));
    }
}

fn has_vrf(routing: &RoutingPlan) -> bool {
    routing.workload.as_ref().is_some_and(|workload| workload.isolation.value == Isolation::Vrf)
}
