//! MTU of tunnels and of links on other links.

use serde_json::Value;

use super::cni::kubelet_on_overlay;
use crate::cluster::section::Link;
use crate::plan::{CniPlan, NodePlan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::machine::link::{members, vlan_parent};
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::document;
use ichor_values::Location;

pub(super) const RULES: &[Rule] = &[MTU_CHAIN, MTU_VLAN_PARENT];

const MTU_CHAIN: Rule = Rule {
    id: "mtu-chain",
    severity: Severity::Warning,
    summary: "a tunnel inside a tunnel leaves too small an MTU",
    failure: "VXLAN over Tailscale's MTU of 1280 leaves 1230 bytes, and IPv6 needs 1280. Small packets arrive and \
              large ones are lost: `curl` hangs after the TLS handshake, while health checks succeed.",
    fix: "raise the MTU of the lower link, reduce that of the upper one, or remove one of the tunnels (or IPv6 inside \
          it)",
    check: check_mtu_chain,
};

const MTU_VLAN_PARENT: Rule = Rule {
    id: "mtu-vlan-parent",
    severity: Severity::Error,
    summary: "a VLAN, bond or bridge has a larger MTU than the link below it",
    failure: "The kernel rejects the MTU with \"numerical result out of range\", or the port silently drops every \
              large frame.",
    fix: "set the same MTU, or a larger one, on the port or bond below",
    check: check_mtu_vlan_parent,
};

/// Overhead of VXLAN over IPv4 and over IPv6, in bytes.
const VXLAN: (u32, u32) = (50, 70);
/// Overhead of WireGuard over IPv4 and over IPv6, in bytes.
const WIREGUARD: (u32, u32) = (60, 80);
/// The minimum MTU of a link for IPv6 (RFC 8200, section 5).
const IPV6_MINIMUM: u32 = 1280;
const USUAL: u32 = 1500;
/// KubeSpan's default, for an underlay of 1500 over IPv6.
const KUBESPAN: u32 = 1420;

fn find_link<'n>(node: &'n NodePlan, name: &str) -> Option<&'n Link> {
    node.written().links.values().find(|link| link.name.get().is_some_and(|own| own.as_str() == name))
}

/// The MTU of links that set none.
fn network_mtu(node: &NodePlan) -> u32 {
    node.written().network.get().and_then(|network| network.mtu.value()).map_or(USUAL, |mtu| mtu.0)
}

/// The MTU of the link of this name.
fn mtu_of(node: &NodePlan, name: &str) -> u32 {
    find_link(node, name).and_then(|link| link.mtu.value()).map_or_else(|| network_mtu(node), |mtu| mtu.0)
}

fn check_mtu_chain(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let underlay = underlay(node);
        let tunnels = [kubespan_fault(context, node, &underlay), tailscale_fault(node, &underlay)];
        for message in tunnels.into_iter().flatten() {
            problems.add_message(&underlay.key, underlay.place, message, &kind.nodes);
        }
        if let Some(message) = pod_fault(context, node, &underlay) {
            problems.add_message(
                "cluster.pods",
                context.cluster.section().pods.place(),
                message,
                &kind.nodes,
            );
        }
    }
    problems.report(context, findings);
}

/// The link of a node's address, and the overhead of tunnels on it.
struct Underlay {
    mtu: u32,
    key: String,
    place: Option<Location>,
    vxlan: u32,
    wireguard: u32,
}

fn underlay(node: &NodePlan) -> Underlay {
    let name = node.link.value.as_str();
    let v4 = node.address.v4.is_some();
    let own = find_link(node, name).and_then(|link| link.mtu.place());
    let network = node.written().network.get().and_then(|network| network.mtu.place());
    Underlay {
        mtu: mtu_of(node, name),
        key: if own.is_some() { format!("links.{name}.mtu") } else { "network.mtu".to_owned() },
        place: own.or(network),
        vxlan: if v4 { VXLAN.0 } else { VXLAN.1 },
        wireguard: if v4 { WIREGUARD.0 } else { WIREGUARD.1 },
    }
}

fn kubespan_fault(context: &RuleContext<'_>, node: &NodePlan, underlay: &Underlay) -> Option<String> {
    let discovery = context.cluster.section().discovery.get();
    let mut enabled = discovery.and_then(|discovery| discovery.kubespan.value()).unwrap_or(false);
    let mut mtu = KUBESPAN;
    for document in
        context.attachments.patches.in_settings(node.written()).flat_map(|patch| patch.documents())
    {
        let of_kind = (document::kind(document) == Some("KubeSpanConfig")).then_some(document);
        let settings = of_kind.or_else(|| document::value_at(document, "/machine/network/kubespan"));
        let Some(settings) = settings else { continue };
        enabled = settings.get("enabled").and_then(Value::as_bool).unwrap_or(enabled);
        let written = settings.get("mtu").and_then(Value::as_u64).and_then(|mtu| u32::try_from(mtu).ok());
        mtu = written.unwrap_or(mtu);
    }
    let needs = mtu.saturating_add(WIREGUARD.1);
    (enabled && underlay.mtu < needs).then(|| {
        format!("KubeSpan's MTU of {mtu} needs {needs} on the link below, which has {}", underlay.mtu)
    })
}

fn tailscale_mtu(node: &NodePlan) -> u32 {
    let tailscale = node.written().overlay.get().and_then(|overlay| overlay.tailscale.get());
    tailscale.and_then(|tailscale| tailscale.mtu.value()).map_or(IPV6_MINIMUM, |mtu| mtu.0)
}

fn tailscale_fault(node: &NodePlan, underlay: &Underlay) -> Option<String> {
    let (mtu, cost) = (tailscale_mtu(node), underlay.wireguard);
    let needs = mtu + cost;
    (node.joins_overlay() && underlay.mtu < needs).then(|| {
        format!("Tailscale's MTU of {mtu} needs {needs} on the link below, which has {}", underlay.mtu)
    })
}

/// The fault if flannel's VXLAN leaves too small an MTU for IPv6 pods.
fn pod_fault(context: &RuleContext<'_>, node: &NodePlan, underlay: &Underlay) -> Option<String> {
    let plan = &context.plan.cluster;
    let v6 = plan.pods.value.iter().any(|pods| matches!(pods, ipnet::IpNet::V6(_)));
    if !v6 || !matches!(plan.cni.value, CniPlan::Flannel(_)) {
        return None;
    }
    let (name, below) = if node.joins_overlay() && kubelet_on_overlay(context, node) {
        ("tailscale0", tailscale_mtu(node))
    } else {
        (node.link.value.as_str(), underlay.mtu)
    };
    let left = below.saturating_sub(underlay.vxlan);
    (left < IPV6_MINIMUM)
        .then(|| format!("VXLAN on {name} leaves pods an MTU of {left}, and IPv6 needs {IPV6_MINIMUM}"))
}

fn check_mtu_vlan_parent(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class().filter(|(node, _)| node.written().links.is_set()) {
        for link in node.written().links.values() {
            let (Some(name), Some(mtu)) = (link.name.get(), link.mtu.at()) else { continue };
            let parent = vlan_parent(link).map(|at| (at.value, mtu_of(node, at.value.as_str())));
            // A bond or bridge sets its own MTU on ports that have none configured.
            let ports = members(link).into_iter().filter_map(|(_, member)| {
                Some((&member.value, find_link(node, member.value.as_str())?.mtu.value()?.0))
            });
            for (below, less) in parent.into_iter().chain(ports).filter(|(_, less)| *less < mtu.value.0) {
                let message = format!("{name} has an MTU of {}, but {below} below it has {less}", mtu.value);
                problems.add_message(format!("links.{name}.mtu"), Some(mtu.place), message, &kind.nodes);
            }
        }
    }
    problems.report(context, findings);
}
