//! Who else wants port 179, and kernel settings that keep the daemon from being heard.

use super::session::{routed, those};
use crate::cluster::section::Rung;
use crate::model::rung;
use crate::plan::backend::is_bird2;
use crate::plan::{NodePlan, RoutingPlan};
use crate::rules::patch::{nodes_of, used};
use crate::rules::roll::{Roll, Rolls};
use crate::rules::{Context, Found, Rule, Severity};
use ichor_bgp::setting::Isolation;
use ichor_values::Backend;
use ichor_values::Place;

pub(super) const RULES: &[Rule] = &[CLASH, SYSCTL];

const CLASH: Rule = Rule {
    id: "listener-clash",
    severity: Severity::Error,
    summary: "two programs on the node use port 179",
    failure: "The program that starts first takes the port. The other one runs without a listener, and the speaker's \
              connections reach the wrong daemon.",
    fix: "remove the other program, or give it another port",
    look: clash,
};

const SYSCTL: Rule = Rule {
    id: "sysctl-against-routing",
    severity: Severity::Error,
    summary: "a sysctl in the file breaks routing on the node",
    failure: "With `rp_filter=1`, for example, the kernel drops packets that leave through one router and return \
              through another: about half of all connections fail.",
    fix: "remove the sysctl: ichor sets what routing needs",
    look: sysctl,
};

/// Settings that must not have this value on a node that routes.
const BREAKING: [(&str, &str, &str); 6] = [
    ("net.ipv4.ip_forward", "0", "nothing is forwarded"),
    ("net.ipv6.conf.all.forwarding", "0", "nothing is forwarded"),
    ("net.ipv4.conf.all.rp_filter", "1", "what comes back through another leaf is dropped"),
    ("net.ipv4.conf.default.rp_filter", "1", "what comes back through another leaf is dropped"),
    ("net.ipv6.fib_multipath_hash_policy", "0", "all flows between two addresses take one path"),
    (ACCEPT, "1", "the daemon's default instance takes the connection of the speaker in the VRF"),
];

const ACCEPT: &str = "net.ipv4.tcp_l3mdev_accept";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Other {
    Status,
    Kubeprism,
    Bird2,
}

impl Other {
    fn words(self) -> &'static str {
        match self {
            Self::Status => "the agent's status",
            Self::Kubeprism => "KubePrism",
            Self::Bird2 => "the extension bird2",
        }
    }
}

fn clash(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    let kubeprism = context.cluster.section().kubeprism.at().filter(|port| *port.value == 179);
    for (node, routing) in routed(context) {
        if let Some(place) = status_port(node) {
            rolls.add((Other::Status, place), &[node.nth], place);
        }
        if let Some(port) = kubeprism {
            rolls.add((Other::Kubeprism, port.place), &[node.nth], port.place);
        }
        if let Some(place) = other_bird(node, routing) {
            rolls.add((Other::Bird2, place), &[node.nth], place);
        }
    }
    for ((other, place), roll) in rolls {
        let path = path(context, roll.first(), other, place);
        found.at(path, place, message(other.words(), &roll));
    }
    patched(context, found);
}

/// BGP instances in patches, beside a daemon that is not Talos itself.
fn patched(context: &Context<'_>, found: &mut Found) {
    for (patch, kinds) in
        used(context).into_iter().filter(|(patch, _)| patch.of_kind(INSTANCE).next().is_some())
    {
        let other = |node: &NodePlan| {
            node.routing.as_ref().is_some_and(|routing| routing.backend.value != Backend::Native)
        };
        let nodes = those(context, &nodes_of(&kinds), other);
        if !nodes.is_empty() {
            let message = message(&format!("a {INSTANCE} in a patch"), &Roll::of(context.plan, &nodes));
            found.at(&patch.key, patch.place, patch.says(message));
        }
    }
}

const INSTANCE: &str = "BGPInstanceConfig";

fn message(other: &str, roll: &Roll<'_>) -> String {
    format!("{other} and the routing daemon of {roll} both want port 179")
}

fn status_port(node: &NodePlan) -> Option<Place> {
    let listen = node.written().routing.get()?.agent.get()?.status.get()?.listen.at()?;
    (listen.value.as_str().rsplit_once(':')?.1 == "179").then_some(listen.place)
}

fn other_bird(node: &NodePlan, routing: &RoutingPlan) -> Option<Place> {
    if routing.is_bird2() {
        return None;
    }
    node.written()
        .extensions
        .items()
        .find(|extension| is_bird2(extension.value.as_str()))
        .map(|found| found.place)
}

fn path(context: &Context<'_>, node: &NodePlan, other: Other, place: Place) -> String {
    match other {
        Other::Status => {
            let at = |rung: &Rung| rung.routing.get()?.agent.get()?.status.get()?.listen.place();
            rung::path(context.cluster, node.nth, "routing.agent.status.listen", place, at)
        }
        Other::Kubeprism => "cluster.kubeprism".to_owned(),
        Other::Bird2 => {
            let at =
                |rung: &Rung| rung.extensions.items().map(|item| item.place).find(|found| *found == place);
            rung::path(context.cluster, node.nth, "extensions", place, at)
        }
    }
}

fn sysctl(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for (node, routing) in routed(context) {
        let Some(sysctls) = node.written().kernel.get().and_then(|kernel| kernel.sysctls.get()) else {
            continue;
        };
        for (key, value, why) in BREAKING {
            if let Some(set) = sysctls.get(key).filter(|set| set.value.as_str() == value)
                && (key != ACCEPT || has_vrf(routing))
            {
                rolls.add((set.place, key, value, why), &[node.nth], set.place);
            }
        }
    }
    for ((place, key, value, why), roll) in rolls {
        let at = |rung: &Rung| Some(rung.kernel.get()?.sysctls.get()?.get(key)?.place);
        let path = rung::path(context.cluster, roll.first().nth, &format!("kernel.sysctls.{key}"), place, at);
        found.at(path, place, format!("with {value} {why}"));
    }
}

fn has_vrf(routing: &RoutingPlan) -> bool {
    routing.workload.as_ref().is_some_and(|workload| workload.isolation.value == Isolation::Vrf)
}
