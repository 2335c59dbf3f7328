//! Incompatible releases of Talos and Kubernetes.

use super::extension;
use crate::plan::Plan;
use crate::rules::affected_nodes::{AffectedNodes, NodesByProblem};
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::{catalogue, release};

pub(super) const RULES: &[Rule] = &[UNKNOWN, UNKNOWN_RELEASE, WITHOUT_PATCH, WINDOW, SKEW, OLDER, NEWER];

const UNKNOWN: Rule = Rule {
    id: "talos-unknown",
    severity: Severity::Error,
    summary: "ichor does not know the Talos release",
    failure: "A newer release may have moved sections of the configuration into other documents. It would accept what ichor \
              writes for an earlier release and ignore a part of it, so `ichor build` writes nothing.",
    fix: "use a release that ichor supports, or a newer ichor",
    check: check_unknown,
};

const UNKNOWN_RELEASE: Rule = Rule {
    id: "unknown-release",
    severity: Severity::Warning,
    summary: "a Talos release is newer than those that ichor knows",
    failure: "If the release does not exist, no registry has its images: the installation fails with \"not found\", and \
              the machine boots from its previous disk. If it does, ichor cannot verify the names of its extensions.",
    fix: "correct the release, or use a newer ichor; silence the finding if the release exists",
    check: check_unknown_release,
};

const WITHOUT_PATCH: Rule = Rule {
    id: "talos-without-patch",
    severity: Severity::Warning,
    summary: "a Talos release has no patch number",
    failure: "Registries have images such as v1.13.9 and none for 1.13. The installation fails with \"not found\", and \
              the machine boots from its previous disk.",
    fix: "write the full release, such as v1.13.9",
    check: check_without_patch,
};

const WINDOW: Rule = Rule {
    id: "kubernetes-window",
    severity: Severity::Warning,
    summary: "the Talos release does not support the Kubernetes release",
    failure: "Only the nodes check which Kubernetes releases their Talos supports. They reject the configuration when \
              it is applied.",
    fix: "use a Kubernetes release within the Talos release's window, or upgrade Talos first",
    check: check_window,
};

const SKEW: Rule = Rule {
    id: "talos-skew",
    severity: Severity::Error,
    summary: "a node's Talos release cannot be upgraded to the cluster's",
    failure: "Talos refuses to install over a release that is too old, and the rollout stops at this node.",
    fix: "upgrade the node through a release in between, or raise `cluster.talos` to the newest release a node runs",
    check: check_skew,
};

const OLDER: Rule = Rule {
    id: "contract-older",
    severity: Severity::Note,
    summary: "configurations are written for an older Talos release than the cluster's",
    failure: "While one node runs the older release, ichor writes every configuration so that this node can read it. \
              Documents of the newer release are missing.",
    fix: "upgrade the remaining nodes, then remove their `talos` key",
    check: check_older,
};

const NEWER: Rule = Rule {
    id: "contract-newer",
    severity: Severity::Error,
    summary: "a node runs a Talos release older than any that ichor supports",
    failure: "The node does not know the kinds of documents that ichor writes, rejects the whole configuration and \
              keeps its old one.",
    fix: "upgrade the node to a release that ichor supports before applying a configuration",
    check: check_newer,
};

/// The nodes by minor release, with the location that sets it.
fn by_minor(plan: &Plan) -> NodesByProblem<'_, (u16, u16)> {
    let mut minors = NodesByProblem::new(plan);
    for node in &plan.nodes {
        minors.add(node.talos.value.minor(), &[node.nth], node.place_of(node.talos.origin));
    }
    minors
}

/// The key that sets the release of these nodes: the cluster's or their own.
fn release_key(context: &RuleContext<'_>, affected: &AffectedNodes<'_>) -> String {
    let shared = context.cluster.section().talos.place() == Some(affected.place());
    if shared { "cluster.talos".to_owned() } else { affected.path("talos") }
}

fn check_unknown(context: &RuleContext<'_>, findings: &mut Findings) {
    let (oldest, newest) = release::known_releases();
    let message = |release| format!("ichor supports v1.{oldest} to v1.{newest}, not {release}");
    for (_, affected) in by_minor(context.plan) {
        let release = &affected.first().talos.value;
        if !release::is_known(release) {
            findings.add(release_key(context, &affected), affected.place(), message(release));
        }
    }
}

fn check_unknown_release(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for node in context.plan.nodes.iter().filter(|node| !catalogue::covers(&node.talos.value)) {
        problems.add(&node.talos.value, &[node.nth], node.place_of(node.talos.origin));
    }
    for (release, affected) in problems {
        // `talos-unknown` reports a minor release that ichor does not know.
        let Some(newest) = catalogue::newest_release(release) else { continue };
        let message =
            format!("ichor knows no Talos {release} ({affected}); the newest release before it is {newest}");
        findings.add(release_key(context, &affected), affected.place(), message);
    }
    extension::check_unverified(context, findings);
}

fn check_window(context: &RuleContext<'_>, findings: &mut Findings) {
    let Some(kubernetes) = &context.plan.cluster.kubernetes else { return };
    let section = context.cluster.section();
    let path = if section.kubernetes.is_set() { "cluster.kubernetes" } else { "cluster.talos" };
    let place = kubernetes.place().unwrap_or(context.cluster.place());
    for (_, affected) in by_minor(context.plan) {
        let release = &affected.first().talos.value;
        if let Some((oldest, newest)) = release::kubernetes_window(release)
            && release::accepts_kubernetes(release, &kubernetes.value) == Some(false)
        {
            let message = format!(
                "Talos {release} ({affected}) accepts Kubernetes 1.{oldest} to 1.{newest}, not {}",
                kubernetes.value
            );
            findings.add(path, place, message);
        }
    }
}

fn check_without_patch(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for node in context.plan.nodes.iter().filter(|node| node.talos.value.patch().is_none()) {
        problems.add(&node.talos.value, &[node.nth], node.place_of(node.talos.origin));
    }
    for (release, affected) in problems {
        let message = format!("no image exists for Talos {release} ({affected})");
        findings.add(release_key(context, &affected), affected.place(), message);
    }
}

fn check_skew(context: &RuleContext<'_>, findings: &mut Findings) {
    let target = &context.cluster.talos;
    let (mut behind, mut ahead) = (AffectedNodes::default(), AffectedNodes::default());
    let window = release::upgrade_from(target);
    for node in &context.plan.nodes {
        let place = node.place_of(node.talos.origin);
        if window.is_some_and(|oldest| node.talos.value.minor() < (1, oldest)) {
            behind.add(node, place);
        } else if release::is_newer(&node.talos.value, target) {
            ahead.add(node, place);
        }
    }
    if let Some(oldest) = window.filter(|_| !behind.is_empty()) {
        let message =
            format!("{target} upgrades from v1.{oldest} or later, not from the release of {behind}");
        findings.add(behind.path("talos"), behind.place(), message);
    }
    if !ahead.is_empty() {
        let message = format!("the release is newer than `cluster.talos` {target} ({ahead})");
        findings.add(ahead.path("talos"), ahead.place(), message);
    }
}

fn check_older(context: &RuleContext<'_>, findings: &mut Findings) {
    let contract = &context.plan.cluster.contract.value;
    if contract.minor() >= context.cluster.talos.minor() || !release::is_known(contract) {
        return;
    }
    if let Some((_, affected)) =
        by_minor(context.plan).into_iter().find(|(minor, _)| *minor == contract.minor())
    {
        let target = &context.cluster.talos;
        let message =
            format!("configurations are written for {contract} instead of {target} because of {affected}");
        findings.add("cluster.talos", affected.place(), message);
    }
}

fn check_newer(context: &RuleContext<'_>, findings: &mut Findings) {
    let (oldest, _) = release::known_releases();
    for (minor, affected) in by_minor(context.plan) {
        if minor < (1, oldest) {
            let release = &affected.first().talos.value;
            let message = format!("{release} cannot read configurations for v1.{oldest} ({affected})");
            findings.add(release_key(context, &affected), affected.place(), message);
        }
    }
}
