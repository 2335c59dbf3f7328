//! Values that two clusters both use, found when several files are checked together.
//!
//! [`compare`] compares the clusters; on one file these rules have no findings. Values that are derived from a shared ID
//! are reported once, as `clash-id`.

mod comparison;

use super::{Finding, Findings, Rule, RuleContext, RuleGroup, Severity, silence};
use crate::model::Cluster;
use crate::plan::Plan;
use comparison::ClusterComparison;

/// The rules by subject.
pub(super) const GROUPS: &[RuleGroup] = &[("Between clusters", RULES)];

pub(super) const RULES: &[Rule] = &[NAME, NODE_NAME, ID, ASN, PREFIX, ADDRESS, MAC, VM_ID];

/// The check on one file, which finds nothing.
const ALONE: fn(&RuleContext<'_>, &mut Findings) = |_, _| {};

pub(super) const NAME: Rule = Rule {
    id: "clash-name",
    severity: Severity::Error,
    summary: "two clusters have the same name",
    failure: "Building the second cluster replaces the first one's folder and its context in the talosconfig. A \
              command for one cluster, such as a reset, then reaches the other.",
    fix: "give each cluster a unique `cluster.name`",
    check: ALONE,
};

pub(super) const NODE_NAME: Rule = Rule {
    id: "clash-node-name",
    severity: Severity::Warning,
    summary: "nodes of two clusters have the same name",
    failure: "An alert that names the node does not say which cluster it belongs to, so the wrong machine may be \
              restarted.",
    fix: "begin node names with the cluster's name",
    check: ALONE,
};

pub(super) const ID: Rule = Rule {
    id: "clash-id",
    severity: Severity::Error,
    summary: "two clusters have the same ID",
    failure: "Prefixes, AS numbers, router IDs and MAC addresses follow from the ID. Both clusters announce the same \
              loopbacks, and each receives a part of the other's traffic.",
    fix: "give each cluster a unique `cluster.id`",
    check: ALONE,
};

pub(super) const ASN: Rule = Rule {
    id: "clash-asn",
    severity: Severity::Warning,
    summary: "nodes of two clusters have the same AS number",
    failure: "On a fabric that both clusters share, nodes take each other's routes for loops and drop them.",
    fix: "give the clusters AS numbers that do not overlap; those derived from `cluster.id` never do",
    check: ALONE,
};

pub(super) const PREFIX: Rule = Rule {
    id: "clash-prefix",
    severity: Severity::Error,
    summary: "networks of two clusters share addresses",
    failure: "With the same service pool, both clusters assign and announce the same address, and the path of a packet \
              decides which of them answers.",
    fix: "give each cluster prefixes of its own; nodes may share a prefix only as a whole",
    check: ALONE,
};

pub(super) const ADDRESS: Rule = Rule {
    id: "clash-address",
    severity: Severity::Error,
    summary: "two clusters use the same address",
    failure: "If two clusters on one network have the same VIP, the one that elected a holder last answers, and \
              kubectl reaches the wrong cluster.",
    fix: "give each cluster unique addresses",
    check: ALONE,
};

pub(super) const MAC: Rule = Rule {
    id: "clash-mac",
    severity: Severity::Error,
    summary: "nodes of two clusters have the same MAC address",
    failure: "A boot server has two configurations for one machine and may give it the wrong one.",
    fix: "remove the node from the file of the cluster that it has left, or correct its `macs`",
    check: ALONE,
};

pub(super) const VM_ID: Rule = Rule {
    id: "clash-vm-id",
    severity: Severity::Error,
    summary: "virtual machines of two clusters have the same ID on one hypervisor",
    failure: "Building the second cluster stops and replaces the machines of the first.",
    fix: "give each cluster a `vm.first_id` far enough from the others",
    check: ALONE,
};

/// The file name, cluster and plan of one file.
pub(super) type ComparedCluster<'c> = (&'c str, &'c Cluster, &'c Plan);

/// Compares clusters. Each finding has the number of the cluster in whose file its location is.
pub fn compare(clusters: &[ComparedCluster<'_>]) -> Vec<(usize, Finding)> {
    if clusters.len() < 2 {
        return Vec::new();
    }
    let mut findings = ClusterComparison::new(clusters).findings();
    for (nth, finding) in &mut findings {
        silence::mark_finding(clusters[*nth].1, finding);
    }
    findings.sort_by(|(a, one), (b, other)| {
        a.cmp(b).then(other.issue.severity.cmp(&one.issue.severity)).then(one.place.cmp(&other.place))
    });
    findings
}
