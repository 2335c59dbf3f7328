//! The pod network: its link, and its dependency on kube-proxy.

use super::overlay::admits_overlay;
use crate::plan::{CniPlan, NodePlan};
use crate::rules::affected_nodes::AffectedNodes;
use crate::rules::machine::link;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::Location;

pub(super) const RULES: &[Rule] = &[CNI_INTERFACE, KUBE_PROXY_MISSING];

const CNI_INTERFACE: Rule = Rule {
    id: "cni-interface",
    severity: Severity::Error,
    summary: "flannel uses a link other than the one with the node's address",
    failure: "If the kubelet registers the overlay's address and flannel uses eth0, pods reach each other within a \
              site but not between sites. Health checks within a site do not detect it.",
    fix: "leave `cluster.flannel.interface` out, or set the link of the node's address: tailscale0 with an overlay",
    check: check_cni_interface,
};

const KUBE_PROXY_MISSING: Rule = Rule {
    id: "kube-proxy-missing",
    severity: Severity::Error,
    summary: "flannel without kube-proxy: service addresses do not work",
    failure: "flannel does not replace kube-proxy. The service address of CoreDNS does not answer, and every pod fails \
              to resolve names.",
    fix: "remove `kube_proxy: false`, or use Cilium",
    check: check_kube_proxy_missing,
};

/// The link that flannel is bound to, by its setting or its arguments.
fn flannel_link<'c>(context: &RuleContext<'c>) -> Option<(&'static str, &'c str, Location)> {
    let flannel = context.cluster.section().flannel.get()?;
    if let Some(interface) = flannel.interface.at() {
        return Some(("cluster.flannel.interface", interface.value.as_str(), interface.place));
    }
    let (arg, name) =
        flannel.args.items().find_map(|arg| Some((arg, arg.value.as_str().strip_prefix("--iface=")?)))?;
    Some(("cluster.flannel.args", name, arg.place))
}

fn check_cni_interface(context: &RuleContext<'_>, findings: &mut Findings) {
    if !matches!(context.plan.cluster.cni.value, CniPlan::Flannel(_)) {
        return;
    }
    let Some((key, name, place)) = flannel_link(context) else { return };
    let mut wrong = Vec::new();
    let mut reason = "";
    for (node, kind) in context.plan.by_class() {
        if let Some(why) = interface_fault(context, node, name) {
            wrong.extend(&kind.nodes);
            reason = why;
        }
    }
    if !wrong.is_empty() {
        wrong.sort_unstable();
        let message =
            format!("{name} {reason} ({})", AffectedNodes::from_numbers(context.plan, &wrong).names());
        findings.add(key, place, message);
    }
}

/// Whether a node's kubelet registers an overlay address.
pub(super) fn kubelet_on_overlay(context: &RuleContext<'_>, node: &NodePlan) -> bool {
    admits_overlay(&context.plan.kubelet_subnets(node).value)
}

fn interface_fault(context: &RuleContext<'_>, node: &NodePlan, name: &str) -> Option<&'static str> {
    let on_overlay = kubelet_on_overlay(context, node);
    match (name == "tailscale0", node.joins_overlay()) {
        (true, false) => Some("does not exist: these nodes join no overlay"),
        (true, true) if !on_overlay => Some("is not the link with the kubelet's address"),
        (false, true) if on_overlay => Some("is not the overlay's link, which has the kubelet's address"),
        (false, _)
            if node.link.value.as_str() != name && !link::known_links(context, node).contains(name) =>
        {
            Some("is not a link of these nodes")
        }
        _ => None,
    }
}

fn check_kube_proxy_missing(context: &RuleContext<'_>, findings: &mut Findings) {
    let flannel = matches!(context.plan.cluster.cni.value, CniPlan::Flannel(_));
    if let Some(kube_proxy) = context.cluster.section().kube_proxy.at()
        && !kube_proxy.value
        && flannel
    {
        findings.add("cluster.kube_proxy", kube_proxy.place, "flannel does not replace kube-proxy");
    }
}
