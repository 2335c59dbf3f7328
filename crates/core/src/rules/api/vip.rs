//! The VIP: an address that one control plane at a time holds and announces by ARP.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::cluster::section::{Api, Role};
use crate::model::layer;
use crate::model::layer::Layer;
use crate::plan::NodePlan;
use crate::rules::address::node_address::{self, AddressPurpose};
use crate::rules::affected_nodes::AffectedNodes;
use crate::rules::tunnel::overlay::OVERLAY;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::LinkName;
use ichor_values::Location;
use ichor_values::key::Spanned;

pub(super) const RULES: &[Rule] = &[OUTSIDE, IS_NODE, ON_WORKER, ON_LINK, AS_ANYCAST, ON_OVERLAY, TWICE];

const OUTSIDE: Rule = Rule {
    id: "vip-outside-prefix",
    severity: Severity::Error,
    summary: "the VIP is not in the control planes' network",
    failure: "The control plane that holds the VIP announces it by ARP on a link where no host queries it. The API \
              answers on that node only.",
    fix: "use a free address of the control planes' network, or `network.api.anycast` with routing",
    check: check_outside,
};

const IS_NODE: Rule = Rule {
    id: "vip-is-node",
    severity: Severity::Error,
    summary: "the VIP is a node's own address",
    failure: "When another node wins the election, two machines have the address, and the node that owns it loses its \
              etcd peers.",
    fix: "use an address that is not assigned to a node",
    check: check_is_node,
};

const ON_WORKER: Rule = Rule {
    id: "vip-on-worker",
    severity: Severity::Error,
    summary: "a worker has a VIP",
    failure: "Talos rejects a worker's configuration that has a VIP, and the machine stays in maintenance mode.",
    fix: "set `network.api.vip` at the top of the file or under `roles.controlplane`",
    check: check_on_worker,
};

const ON_LINK: Rule = Rule {
    id: "vip-on-link",
    severity: Severity::Error,
    summary: "the VIP is listed among a link's addresses",
    failure: "Every control plane has the address permanently, not only the one that holds the VIP. Connections go to \
              the one that answers ARP first.",
    fix: "remove it from `links`: the node that holds the VIP adds the address itself",
    check: check_on_link,
};

const AS_ANYCAST: Rule = Rule {
    id: "vip-as-anycast",
    severity: Severity::Error,
    summary: "a VIP is used as an anycast address",
    failure: "Talos lets only one node at a time hold a VIP. The fabric has a single path to the API, and if that node \
              fails the API is unreachable for up to a minute.",
    fix: "for an address on every control plane set `network.api.anycast`, and remove `vip`",
    check: check_as_anycast,
};

const ON_OVERLAY: Rule = Rule {
    id: "vip-on-overlay",
    severity: Severity::Error,
    summary: "a VIP is on an overlay, which carries no ARP",
    failure: "The holder announces the VIP by ARP, which the tunnel does not carry. No other machine learns where the \
              address is.",
    fix: "use a control plane's overlay address or a name as the endpoint, or a VIP on a real link",
    check: check_on_overlay,
};

const TWICE: Rule = Rule {
    id: "vip-twice",
    severity: Severity::Error,
    summary: "both Talos and kube-vip hold a VIP",
    failure: "Talos and kube-vip each elect a holder. When they disagree, two nodes have the address.",
    fix: "keep one of `network.api.vip` and `cluster.kube_vip`",
    check: check_twice,
};

/// A VIP as written.
struct VipSetting<'c> {
    address: IpAddr,
    path: String,
    place: Location,
    link: Option<(String, Spanned<&'c LinkName>)>,
    /// Whether the section also has anycast addresses, which the link is for.
    beside_anycast: bool,
}

fn vips<'c>(context: &RuleContext<'c>) -> Vec<VipSetting<'c>> {
    let cluster = context.cluster;
    let setting = |layer: Layer<'c>, api: &'c Api| {
        let vip = api.vip.at()?;
        let path = layer.path("network.api.vip");
        let link = api.link.at().map(|link| (layer.path("network.api.link"), link));
        let beside_anycast = api.anycast.is_set();
        Some(VipSetting { address: *vip.value, path, place: vip.place, link, beside_anycast })
    };
    let written = |layer: Layer<'c>| setting(layer, layer.settings.network.get()?.api.get()?);
    let mut vips: Vec<_> = layer::all_layers(cluster).filter_map(written).collect();
    if let Some(kube) = cluster.section().kube_vip.get()
        && let Some(address) = kube.address.at()
    {
        let link = kube.interface.at().map(|link| ("cluster.kube_vip.interface".to_owned(), link));
        let path = "cluster.kube_vip.address".to_owned();
        vips.push(VipSetting {
            address: *address.value,
            path,
            place: address.place,
            link,
            beside_anycast: false,
        });
    }
    vips
}

/// The networks of all links of a node.
fn nets(node: &NodePlan) -> impl Iterator<Item = IpNet> {
    let linked = |purpose| matches!(purpose, AddressPurpose::Node | AddressPurpose::Link(_));
    node_address::unicast_addresses(node).filter(move |held| linked(held.purpose)).map(|held| held.net)
}

/// Whether the address is in a control plane's own network and therefore not an overlay's.
pub(super) fn is_local(context: &RuleContext<'_>, address: IpAddr) -> bool {
    context.plan.control_planes().any(|node| nets(node).any(|net| net.contains(&address)))
}

/// Whether the address belongs to an overlay.
pub(super) fn is_overlay(context: &RuleContext<'_>, address: IpAddr) -> bool {
    let overlay: IpNet = OVERLAY[0].parse().expect("a prefix");
    overlay.contains(&address) && !is_local(context, address)
}

fn check_outside(context: &RuleContext<'_>, findings: &mut Findings) {
    for vip in vips(context).into_iter().filter(|vip| !is_overlay(context, vip.address)) {
        let mut affected = AffectedNodes::default();
        for node in context.plan.control_planes() {
            let known = node.main_address().is_some();
            if known && !nets(node).any(|net| net.contains(&vip.address)) {
                affected.add(node, node.place);
            }
        }
        if !affected.is_empty() {
            let message = format!("{} is not in a network of {affected}", vip.address);
            findings.add(vip.path, vip.place, message);
        }
    }
}

/// Reports nodes that have the address of a VIP for a purpose that `counts`.
fn report_holders(
    context: &RuleContext<'_>,
    findings: &mut Findings,
    counts: fn(AddressPurpose<'_>) -> bool,
    verb: &str,
) {
    let vips = vips(context);
    if vips.is_empty() {
        return;
    }
    let mut problems = vec![AffectedNodes::default(); vips.len()];
    for node in &context.plan.nodes {
        for held in node_address::unicast_addresses(node).filter(|held| counts(held.purpose)) {
            for (vip, affected) in
                vips.iter().zip(&mut problems).filter(|(vip, _)| vip.address == held.net.addr())
            {
                affected.add(node, if verb.is_empty() { vip.place } else { node.place_of(held.origin) });
            }
        }
    }
    for (vip, affected) in vips.into_iter().zip(problems).filter(|(_, affected)| !affected.is_empty()) {
        let path = if verb.is_empty() { vip.path } else { affected.path("links") };
        let message = if verb.is_empty() {
            format!("{} is also the address of {affected}", vip.address)
        } else {
            format!("the VIP {} {verb} {affected}", vip.address)
        };
        findings.add(path, affected.place(), message);
    }
}

fn check_is_node(context: &RuleContext<'_>, findings: &mut Findings) {
    report_holders(context, findings, |purpose| !matches!(purpose, AddressPurpose::Link(_)), "");
}

fn check_on_link(context: &RuleContext<'_>, findings: &mut Findings) {
    report_holders(
        context,
        findings,
        |purpose| matches!(purpose, AddressPurpose::Link(_)),
        "is assigned to a link of",
    );
}

fn check_on_worker(context: &RuleContext<'_>, findings: &mut Findings) {
    let (cluster, plan) = (context.cluster, context.plan);
    for (layer, network) in layer::network_layers(cluster).filter(|(layer, _)| !layer.is_common()) {
        let Some(vip) = network.api.get().and_then(|api| api.vip.at()) else { continue };
        let mut nodes = layer.nodes(cluster, &plan.nodes).peekable();
        if nodes.peek().is_some() && nodes.all(|node| node.role == Role::Worker) {
            findings.add(
                layer.path("network.api.vip"),
                vip.place,
                format!("{} is set for workers only", vip.value),
            );
        }
    }
    let mut affected = AffectedNodes::default();
    for (node, plan) in cluster.nodes().iter().zip(&plan.nodes).filter(|(_, plan)| plan.role == Role::Worker)
    {
        let api = node.value.settings.network.get().and_then(|network| network.api.get());
        if let Some(vip) = api.and_then(|api| api.vip.at()) {
            affected.add(plan, vip.place);
        }
    }
    if !affected.is_empty() {
        let message = format!("workers cannot hold a VIP: {affected}");
        findings.add(affected.path("network.api.vip"), affected.place(), message);
    }
}

fn check_as_anycast(context: &RuleContext<'_>, findings: &mut Findings) {
    let anycast = &context.plan.cluster.anycast;
    for vip in vips(context) {
        if anycast.iter().any(|net| net.value.addr() == vip.address) {
            let message = format!("{} is both `vip` and `anycast`", vip.address);
            findings.add(vip.path, vip.place, message);
        } else if let Some((path, link)) = vip.link.filter(|_| !vip.beside_anycast)
            && is_dummy(context, link.value)
        {
            let message = format!(
                "`{}` is a dummy link, but only one node at a time holds the VIP {}",
                link.value, vip.address
            );
            findings.add(path, link.place, message);
        }
    }
}

/// Whether a link is a dummy: one that the file defines, or one that is named so and not defined as a port or link.
fn is_dummy(context: &RuleContext<'_>, link: &LinkName) -> bool {
    let mut planes = context.plan.control_planes();
    let is_defined = |node: &NodePlan| node.dummies.iter().any(|dummy| dummy.name == *link);
    let is_real = |node: &NodePlan| {
        let mut links = node.written().links.items().filter_map(|at| at.value.name.get());
        node.ports.iter().any(|port| port.name == *link) || links.any(|name| name == link)
    };
    planes.any(|node| is_defined(node) || (link.as_str().starts_with("dummy") && !is_real(node)))
}

/// Whether a link carries no ARP: the tunnels of Tailscale, KubeSpan and WireGuard.
fn is_tunnel(link: &str) -> bool {
    link.starts_with("tailscale") || link == "kubespan" || link == "siderolink" || link.starts_with("wg")
}

fn check_on_overlay(context: &RuleContext<'_>, findings: &mut Findings) {
    for vip in vips(context) {
        if let Some((path, link)) = vip.link.filter(|(_, link)| is_tunnel(link.value.as_str())) {
            let message = format!(
                "`{}` carries no ARP, so no host learns which node holds {}",
                link.value, vip.address
            );
            findings.add(path, link.place, message);
        } else if is_overlay(context, vip.address) {
            let message = format!("{} is in the overlay's {}, which carries no ARP", vip.address, OVERLAY[0]);
            findings.add(vip.path, vip.place, message);
        }
    }
}

fn check_twice(context: &RuleContext<'_>, findings: &mut Findings) {
    let Some(kube) = context.cluster.section().kube_vip.at() else { return };
    if let Some(vip) = vips(context).iter().find(|vip| vip.path != "cluster.kube_vip.address") {
        let message = format!("kube-vip and Talos' own VIP {} (`{}`) are both set", vip.address, vip.path);
        findings.add("cluster.kube_vip", kube.place, message);
    }
}
