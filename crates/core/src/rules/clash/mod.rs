//! What two clusters both claim, when several files are checked together.
//!
//! [`across`] compares them; on one file these rules find nothing. Values that only follow from an id that both have
//! are told once, as `clash-id`.

mod compare;

use super::{Context, Finding, Found, Group, Rule, Severity, silence};
use crate::model::Cluster;
use crate::plan::Plan;
use compare::Compared;

/// The rules by subject.
pub(super) const GROUPS: &[Group] = &[("Between clusters", RULES)];

pub(super) const RULES: &[Rule] = &[NAME, NODE_NAME, ID, ASN, PREFIX, ADDRESS, MAC, VM_ID];

/// On one file there is nothing to compare.
const ALONE: fn(&Context<'_>, &mut Found) = |_, _| {};

pub(super) const NAME: Rule = Rule {
    id: "clash-name",
    severity: Severity::Error,
    summary: "two clusters have one name",
    story: "The file of a test cluster was copied from production, name and all. The second build replaced the first one's \
            folder and its context in everybody's talosconfig, and a reset meant for the test went to production.",
    fix: "give each cluster a `cluster.name` of its own",
    look: ALONE,
};

pub(super) const NODE_NAME: Rule = Rule {
    id: "clash-node-name",
    severity: Severity::Warning,
    summary: "nodes of two clusters have one name",
    story: "Both clusters had a cp01. The alarm named cp01, and the one that was restarted was the healthy one.",
    fix: "begin node names with the cluster's name",
    look: ALONE,
};

pub(super) const ID: Rule = Rule {
    id: "clash-id",
    severity: Severity::Error,
    summary: "two clusters have one id",
    story: "Prefixes, AS numbers, router ids and MAC addresses all follow from the id. Two clusters with the same one announced \
            the same loopbacks, and each drew half of the other's traffic.",
    fix: "give each cluster a `cluster.id` of its own",
    look: ALONE,
};

pub(super) const ASN: Rule = Rule {
    id: "clash-asn",
    severity: Severity::Warning,
    summary: "nodes of two clusters have one AS number",
    story: "A base for AS numbers was reused. On the fabric that both clusters share, nodes took each other's routes for loops \
            of their own and dropped them.",
    fix: "give the clusters AS numbers that do not meet; those derived from `cluster.id` never do",
    look: ALONE,
};

pub(super) const PREFIX: Rule = Rule {
    id: "clash-prefix",
    severity: Severity::Error,
    summary: "networks of two clusters share addresses",
    story: "Two clusters had one pool for service addresses. Both handed out its first address, both announced it, and which \
            shop answered depended on the path the packet took.",
    fix: "give each cluster prefixes of its own; nodes may share a prefix only as a whole",
    look: ALONE,
};

pub(super) const ADDRESS: Rule = Rule {
    id: "clash-address",
    severity: Severity::Error,
    summary: "two clusters use one address",
    story: "Two clusters on one network had the same VIP. Whichever elected a holder last answered, so kubectl spoke to one \
            cluster in the morning and to the other in the afternoon.",
    fix: "give each cluster addresses of its own",
    look: ALONE,
};

pub(super) const MAC: Rule = Rule {
    id: "clash-mac",
    severity: Severity::Error,
    summary: "nodes of two clusters have one MAC address",
    story: "A server moved from one cluster to the other, and its line stayed in the old file. The boot server had two \
            configurations for it and gave it the wrong one.",
    fix: "remove the node from the file it has left, or correct its `macs`",
    look: ALONE,
};

pub(super) const VM_ID: Rule = Rule {
    id: "clash-vm-id",
    severity: Severity::Error,
    summary: "virtual machines of two clusters have one number on one hypervisor",
    story: "Both files numbered their machines from 300 on one Proxmox. Building the second cluster stopped and replaced the \
            machines of the first.",
    fix: "give each cluster a `vm.first_id` far enough from the others",
    look: ALONE,
};

/// A cluster with the name of its file.
pub(super) type Member<'c> = (&'c str, &'c Cluster, &'c Plan);

/// Compares clusters: each finding with the number of the cluster in whose file its place is.
pub fn across(clusters: &[Member<'_>]) -> Vec<(usize, Finding)> {
    if clusters.len() < 2 {
        return Vec::new();
    }
    let mut findings = Compared::new(clusters).findings();
    for (nth, finding) in &mut findings {
        silence::mark(clusters[*nth].1, finding);
    }
    findings.sort_by(|(a, one), (b, other)| {
        a.cmp(b).then(other.rule.severity.cmp(&one.rule.severity)).then(one.place.cmp(&other.place))
    });
    findings
}
