//! The VIP: an address that one control plane holds at a time, by ARP.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::cluster::section::{Api, Role};
use crate::model::rung;
use crate::model::rung::Step;
use crate::plan::NodePlan;
use crate::rules::address::holder::{self, Purpose};
use crate::rules::roll::Roll;
use crate::rules::tunnel::overlay::OVERLAY;
use crate::rules::{Context, Found, Rule, Severity};
use ichor_values::LinkName;
use ichor_values::Place;
use ichor_values::key::At;

pub(super) const RULES: &[Rule] = &[OUTSIDE, IS_NODE, ON_WORKER, ON_LINK, AS_ANYCAST, ON_OVERLAY, TWICE];

const OUTSIDE: Rule = Rule {
    id: "vip-outside-prefix",
    severity: Severity::Error,
    summary: "the VIP is not in the control planes' network",
    failure: "The control plane that holds the VIP announces it by ARP on a link where no host queries it. The API \
              answers on that node only.",
    fix: "use a free address of the control planes' network, or `network.api.anycast` with routing",
    look: outside,
};

const IS_NODE: Rule = Rule {
    id: "vip-is-node",
    severity: Severity::Error,
    summary: "the VIP is a node's own address",
    failure: "When another node wins the election, two machines have the address, and the node that owns it loses its \
              etcd peers.",
    fix: "use an address that is not assigned to a node",
    look: is_node,
};

const ON_WORKER: Rule = Rule {
    id: "vip-on-worker",
    severity: Severity::Error,
    summary: "a worker has a VIP",
    failure: "Talos rejects a worker's configuration that has a VIP, and the machine stays in maintenance mode.",
    fix: "set `network.api.vip` at the top of the file or under `roles.controlplane`",
    look: on_worker,
};

const ON_LINK: Rule = Rule {
    id: "vip-on-link",
    severity: Severity::Error,
    summary: "the VIP is listed among a link's addresses",
    failure: "Every control plane has the address permanently, not only the one that holds the VIP. Connections go to \
              the one that answers ARP first.",
    fix: "remove it from `links`: the node that holds the VIP adds the address itself",
    look: on_link,
};

const AS_ANYCAST: Rule = Rule {
    id: "vip-as-anycast",
    severity: Severity::Error,
    summary: "a VIP is used as an anycast address",
    failure: "Talos lets only one node at a time hold a VIP. The fabric has a single path to the API, and if that node \
              fails the API is unreachable for up to a minute.",
    fix: "for an address on every control plane set `network.api.anycast`, and remove `vip`",
    look: as_anycast,
};

const ON_OVERLAY: Rule = Rule {
    id: "vip-on-overlay",
    severity: Severity::Error,
    summary: "a VIP is on an overlay, which carries no ARP",
    failure: "The holder announces the VIP by ARP, which the tunnel does not carry. No other machine learns where the \
              address is.",
    fix: "use a control plane's overlay address or a name as the endpoint, or a VIP on a real link",
    look: on_overlay,
};

const TWICE: Rule = Rule {
    id: "vip-twice",
    severity: Severity::Error,
    summary: "both Talos and kube-vip hold a VIP",
    failure: "Talos and kube-vip each elect a holder. When they disagree, two nodes have the address.",
    fix: "keep one of `network.api.vip` and `cluster.kube_vip`",
    look: twice,
};

/// A VIP as it was written.
struct Vip<'c> {
    address: IpAddr,
    path: String,
    place: Place,
    link: Option<(String, At<&'c LinkName>)>,
    /// Whether the link is for anycast addresses, which stand beside it.
    beside_anycast: bool,
}

fn vips<'c>(context: &Context<'c>) -> Vec<Vip<'c>> {
    let cluster = context.cluster;
    let of = |step: Step<'c>, api: &'c Api| {
        let vip = api.vip.at()?;
        let path = step.path("network.api.vip");
        let link = api.link.at().map(|link| (step.path("network.api.link"), link));
        let beside_anycast = api.anycast.is_set();
        Some(Vip { address: *vip.value, path, place: vip.place, link, beside_anycast })
    };
    let written = |step: Step<'c>| of(step, step.rung.network.get()?.api.get()?);
    let mut vips: Vec<_> = rung::all(cluster).filter_map(written).collect();
    if let Some(kube) = cluster.section().kube_vip.get()
        && let Some(address) = kube.address.at()
    {
        let link = kube.interface.at().map(|link| ("cluster.kube_vip.interface".to_owned(), link));
        let path = "cluster.kube_vip.address".to_owned();
        vips.push(Vip { address: *address.value, path, place: address.place, link, beside_anycast: false });
    }
    vips
}

/// The networks a node is in, by all its links.
fn nets(node: &NodePlan) -> impl Iterator<Item = IpNet> {
    let linked = |purpose| matches!(purpose, Purpose::Node | Purpose::Link(_));
    holder::own(node).filter(move |held| linked(held.purpose)).map(|held| held.net)
}

/// Whether a control plane's own network, which is then not an overlay's, has the address.
pub(super) fn is_local(context: &Context<'_>, address: IpAddr) -> bool {
    context.plan.control_planes().any(|node| nets(node).any(|net| net.contains(&address)))
}

/// Whether an overlay gives the address.
pub(super) fn is_overlay(context: &Context<'_>, address: IpAddr) -> bool {
    let overlay: IpNet = OVERLAY[0].parse().expect("a prefix");
    overlay.contains(&address) && !is_local(context, address)
}

fn outside(context: &Context<'_>, found: &mut Found) {
    for vip in vips(context).into_iter().filter(|vip| !is_overlay(context, vip.address)) {
        let mut roll = Roll::default();
        for node in context.plan.control_planes() {
            let known = node.main_address().is_some();
            if known && !nets(node).any(|net| net.contains(&vip.address)) {
                roll.add(node, node.place);
            }
        }
        if !roll.is_empty() {
            let message = format!("{} is not in a network of {roll}", vip.address);
            found.at(vip.path, vip.place, message);
        }
    }
}

/// Who has the address of a VIP for a purpose that `counts`.
fn holders(context: &Context<'_>, found: &mut Found, counts: fn(Purpose<'_>) -> bool, verb: &str) {
    let vips = vips(context);
    if vips.is_empty() {
        return;
    }
    let mut rolls = vec![Roll::default(); vips.len()];
    for node in &context.plan.nodes {
        for held in holder::own(node).filter(|held| counts(held.purpose)) {
            for (vip, roll) in vips.iter().zip(&mut rolls).filter(|(vip, _)| vip.address == held.net.addr()) {
                roll.add(node, if verb.is_empty() { vip.place } else { node.place_of(held.origin) });
            }
        }
    }
    for (vip, roll) in vips.into_iter().zip(rolls).filter(|(_, roll)| !roll.is_empty()) {
        let path = if verb.is_empty() { vip.path } else { roll.path("links") };
        let message = if verb.is_empty() {
            format!("{} is the address of {roll} too", vip.address)
        } else {
            format!("the VIP {} {verb} {roll}", vip.address)
        };
        found.at(path, roll.place(), message);
    }
}

fn is_node(context: &Context<'_>, found: &mut Found) {
    holders(context, found, |purpose| !matches!(purpose, Purpose::Link(_)), "");
}

fn on_link(context: &Context<'_>, found: &mut Found) {
    holders(context, found, |purpose| matches!(purpose, Purpose::Link(_)), "is an address of a link of");
}

fn on_worker(context: &Context<'_>, found: &mut Found) {
    let (cluster, plan) = (context.cluster, context.plan);
    for (step, network) in rung::networks(cluster).filter(|(step, _)| !step.is_common()) {
        let Some(vip) = network.api.get().and_then(|api| api.vip.at()) else { continue };
        let mut nodes = step.nodes(cluster, &plan.nodes).peekable();
        if nodes.peek().is_some() && nodes.all(|node| node.role == Role::Worker) {
            found.at(
                step.path("network.api.vip"),
                vip.place,
                format!("{} is given to workers only", vip.value),
            );
        }
    }
    let mut roll = Roll::default();
    for (node, plan) in cluster.nodes().iter().zip(&plan.nodes).filter(|(_, plan)| plan.role == Role::Worker)
    {
        let api = node.value.rung.network.get().and_then(|network| network.api.get());
        if let Some(vip) = api.and_then(|api| api.vip.at()) {
            roll.add(plan, vip.place);
        }
    }
    if !roll.is_empty() {
        let message = format!("a worker holds no VIP: {roll}");
        found.at(roll.path("network.api.vip"), roll.place(), message);
    }
}

fn as_anycast(context: &Context<'_>, found: &mut Found) {
    let anycast = &context.plan.cluster.anycast;
    for vip in vips(context) {
        if anycast.iter().any(|net| net.value.addr() == vip.address) {
            let message = format!("{} is given as `vip` and as `anycast`", vip.address);
            found.at(vip.path, vip.place, message);
        } else if let Some((path, link)) = vip.link.filter(|_| !vip.beside_anycast)
            && is_dummy(context, link.value)
        {
            let message =
                format!("`{}` is a dummy link, and the VIP {} has one holder", link.value, vip.address);
            found.at(path, link.place, message);
        }
    }
}

/// Whether a link is a dummy: one of the file's, or one that nothing else in it explains.
fn is_dummy(context: &Context<'_>, link: &LinkName) -> bool {
    let mut planes = context.plan.control_planes();
    let given = |node: &NodePlan| node.dummies.iter().any(|dummy| dummy.name == *link);
    let real = |node: &NodePlan| {
        let mut links = node.written().links.items().filter_map(|at| at.value.name.get());
        node.ports.iter().any(|port| port.name == *link) || links.any(|name| name == link)
    };
    planes.any(|node| given(node) || (link.as_str().starts_with("dummy") && !real(node)))
}

/// Whether a link carries no ARP: the tunnels of Tailscale, KubeSpan and WireGuard.
fn is_tunnel(link: &str) -> bool {
    link.starts_with("tailscale") || link == "kubespan" || link == "siderolink" || link.starts_with("wg")
}

fn on_overlay(context: &Context<'_>, found: &mut Found) {
    for vip in vips(context) {
        if let Some((path, link)) = vip.link.filter(|(_, link)| is_tunnel(link.value.as_str())) {
            let message =
                format!("`{}` carries no ARP, so nobody learns who holds {}", link.value, vip.address);
            found.at(path, link.place, message);
        } else if is_overlay(context, vip.address) {
            let message = format!(
                "{} is in {}, the overlay's addresses, where there is no ARP",
                vip.address, OVERLAY[0]
            );
            found.at(vip.path, vip.place, message);
        }
    }
}

fn twice(context: &Context<'_>, found: &mut Found) {
    let Some(kube) = context.cluster.section().kube_vip.at() else { return };
    if let Some(vip) = vips(context).iter().find(|vip| vip.path != "cluster.kube_vip.address") {
        let message = format!("kube-vip beside Talos' own VIP {} (`{}`)", vip.address, vip.path);
        found.at("cluster.kube_vip", kube.place, message);
    }
}
