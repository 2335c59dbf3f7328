//! MetalLB: its mode, and the releases that the API server accepts.

use super::speaker::{GroupSpeaker, report};
use crate::cluster::section::Workload;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::{MetallbMode, Speaker};
use ichor_values::{Backend, KubernetesVersion, SoftwareVersion};

pub(super) const RULES: &[Rule] = &[NATIVE_IPV6, SECOND_ZEBRA, TOO_OLD, VERSION];

/// The first release of Kubernetes that compares the bounds of an integer in a CRD with its format.
const STRICT_KUBERNETES: (u16, u16) = (1, 36);

/// The first release of MetalLB whose AS numbers are `int64`; before, they were `int32` with a maximum of 4294967295.
const ACCEPTED_METALLB: (u16, u16) = (0, 16);

const NATIVE_IPV6: Rule = Rule {
    id: "metallb-native-ipv6",
    severity: Severity::Error,
    summary: "MetalLB in native mode peers over an IPv6 link",
    failure: "MetalLB's own BGP code writes an IPv6 next hop with the length of an IPv4 one. FRR 10 takes the update \
              for a withdrawal, so the session is up without a route; FRR 8 resets the session repeatedly.",
    fix: "use `metallb: {mode: frr-k8s}`, or give the link IPv4 addresses such as 192.168.250.254 and 192.168.250.255",
    check: check_native_ipv6,
};

const SECOND_ZEBRA: Rule = Rule {
    id: "metallb-second-zebra",
    severity: Severity::Warning,
    summary: "MetalLB runs a second zebra that removes the node's routes",
    failure: "In FRR mode MetalLB runs a zebra in the node's network namespace. When it starts or stops, for example \
              in an upgrade of MetalLB, it removes all BGP routes from the kernel; with FRR 8 on the node they do not \
              return.",
    fix: "use `metallb: {mode: frr-k8s}`, or start MetalLB's zebra with `-K 60`",
    check: check_second_zebra,
};

const TOO_OLD: Rule = Rule {
    id: "metallb-too-old",
    severity: Severity::Error,
    summary: "Kubernetes rejects the peers of this MetalLB release",
    failure: "The CRD of MetalLB before 0.16 gives AS numbers a maximum that does not fit their format. Kubernetes 1.36 \
              and later reject every BGPPeer with \"Maximum boundary value must be of type integer with format int32\", \
              whatever its AS number.",
    fix: "install MetalLB 0.16 or later, or stay with Kubernetes 1.35",
    check: check_too_old,
};

const VERSION: Rule = Rule {
    id: "metallb-version",
    severity: Severity::Note,
    summary: "the cluster needs MetalLB 0.16 or later, and the file does not contain its release",
    failure: "Kubernetes 1.36 and later reject every BGPPeer of MetalLB before 0.16. Without the release ichor cannot \
              verify that yours is new enough.",
    fix: "write the release that you install, such as `metallb: {version: 0.16.1}`",
    check: check_version,
};

fn check_native_ipv6(context: &RuleContext<'_>, findings: &mut Findings) {
    let mode = |workload: &Workload| workload.metallb.get()?.mode.place();
    report(context, findings, "metallb.mode", mode, |speaking| {
        let (ours, _) = speaking.workload.link.as_ref()?;
        (is_metallb(speaking, MetallbMode::Native) && ours.value.is_ipv6()).then(|| {
            format!("MetalLB's native mode does not work over IPv6, and its link has {}", ours.value)
        })
    });
}

fn is_metallb(speaking: &GroupSpeaker<'_>, mode: MetallbMode) -> bool {
    speaking.workload.speaker == Speaker::Metallb && speaking.workload.mode.value == mode
}

/// zebra does not remove the routes of BIRD, which have another protocol number.
fn check_second_zebra(context: &RuleContext<'_>, findings: &mut Findings) {
    let mode = |workload: &Workload| workload.metallb.get()?.mode.place();
    report(context, findings, "metallb.mode", mode, |speaking| {
        let is_removable = speaking.routing.backend.value != Backend::Bird;
        (is_removable && is_metallb(speaking, MetallbMode::Frr)).then(|| {
            "a second zebra in the node's namespace removes the node's BGP routes when it starts or stops"
                .to_owned()
        })
    });
}

/// The cluster's Kubernetes release, if it rejects old releases of MetalLB.
fn strict_kubernetes<'c>(context: &RuleContext<'c>) -> Option<&'c KubernetesVersion> {
    let kubernetes = &context.plan.cluster.kubernetes.as_ref()?.value;
    (kubernetes.minor() >= STRICT_KUBERNETES).then_some(kubernetes)
}

fn written_version(workload: &Workload) -> Option<&SoftwareVersion> {
    workload.metallb.get()?.version.get()
}

fn check_too_old(context: &RuleContext<'_>, findings: &mut Findings) {
    let Some(kubernetes) = strict_kubernetes(context) else { return };
    let version = |workload: &Workload| workload.metallb.get()?.version.place();
    report(context, findings, "metallb.version", version, |speaking| {
        let version = written_version(speaking.written)?;
        (speaking.workload.speaker == Speaker::Metallb && version.minor() < ACCEPTED_METALLB)
            .then(|| format!("Kubernetes {kubernetes} rejects every BGPPeer of MetalLB {version}"))
    });
}

fn check_version(context: &RuleContext<'_>, findings: &mut Findings) {
    let Some(kubernetes) = strict_kubernetes(context) else { return };
    report(
        context,
        findings,
        "speaker",
        |workload| workload.speaker.place(),
        |speaking| {
            let is_missing = written_version(speaking.written).is_none();
            (speaking.workload.speaker == Speaker::Metallb && is_missing)
                .then(|| format!("Kubernetes {kubernetes} needs MetalLB 0.16 or later"))
        },
    );
}
