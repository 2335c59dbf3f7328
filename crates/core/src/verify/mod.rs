//! What keeps a cluster from being as its file means it: checks in order, each with a verdict, the evidence and the remedy.
//!
//! [`CHECKS`] is the list. Whoever asks machines, nodes, routers and Kubernetes fills a [`Observations`]; [`judge`] goes through the
//! list with it and gives a [`VerifyReport`]. A check is not looked at once another that it needs is broken: what is told is the
//! cause, and not its consequences. [`VerifyReport::text`] is for people.
//!
//! What nodes tell is in the types of [`observe`](crate::observe), which `ichor status` has, too. Not here: how they are asked.

mod case;
mod cluster;
mod image;
mod list;
mod machine;
mod network;
mod routing;
mod seen;
mod text;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::bringup::NodeAddress;
use crate::cluster::section::Role;
use crate::model::Cluster;
use crate::plan::Plan;
use case::{ClusterContext, NodeContext};

pub use list::{CHECKS, CheckDefinition, CheckScope};
pub use routing::{RouterPeering, far_ends};
pub use seen::{
    ApiAddress, EtcdMemberState, EtcdMembership, MachinePower, NodeDetail, NodeObservations, Observations,
    Probed, ServiceState,
};

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum CheckResult {
    /// It is as it should be.
    #[serde(rename = "passed")]
    Holds {
        /// By what that is known.
        evidence: String,
    },
    /// It is not.
    #[serde(rename = "failed")]
    Broken {
        /// By what that is known.
        evidence: String,
        /// What helps.
        #[serde(rename = "help")]
        remedy: String,
    },
    /// Nobody can see whether it is.
    Unknown {
        /// Why not.
        #[serde(rename = "reason")]
        why: String,
    },
    /// It would only be a consequence of something else.
    #[serde(rename = "skipped")]
    NotLookedAt {
        /// Of what.
        #[serde(rename = "caused_by")]
        because: RootCause,
    },
}

impl CheckResult {
    fn holds(evidence: impl Into<String>) -> Self {
        Self::Holds { evidence: evidence.into() }
    }

    fn broken(evidence: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Broken { evidence: evidence.into(), remedy: remedy.into() }
    }

    fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown { why: why.into() }
    }
}

/// A check that is broken, and on which node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RootCause {
    /// The check.
    pub(crate) check: &'static str,
    /// The node; none for what is the whole cluster's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// A check and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckOutcome {
    /// The check.
    pub(crate) check: &'static str,
    /// What came of it.
    #[serde(flatten)]
    pub verdict: CheckResult,
}

/// A node and its checks, in their order; those that do not concern it are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeChecks {
    /// The node.
    #[serde(rename = "node")]
    pub name: String,
    /// What it is in the cluster.
    pub role: &'static str,
    /// Where it answered.
    #[serde(rename = "contact", skip_serializing_if = "Option::is_none")]
    pub at: Option<NodeAddress>,
    /// Its checks.
    pub(crate) checks: Vec<CheckOutcome>,
}

/// A cluster and its checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Its name.
    pub cluster: String,
    /// The nodes that were looked at, in the order of the file.
    pub nodes: Vec<NodeChecks>,
    /// What is the whole cluster's.
    pub(crate) checks: Vec<CheckOutcome>,
}

impl VerifyReport {
    /// Whether nothing is broken.
    pub fn is_right(&self) -> bool {
        let broken = |outcome: &CheckOutcome| matches!(outcome.verdict, CheckResult::Broken { .. });
        !self.nodes.iter().flat_map(|node| &node.checks).chain(&self.checks).any(broken)
    }
}

/// Goes through the list with what was seen.
pub fn judge(cluster: &Cluster, plan: &Plan, seen: &Observations) -> VerifyReport {
    let far = far_ends(cluster, plan);
    let looked_at = plan.nodes.iter().filter_map(|node| Some((node, seen.nodes.get(node.name.as_str())?)));
    let cases: Vec<NodeContext<'_>> =
        looked_at.map(|(node, own)| NodeContext::new(plan, node, own, seen, &far)).collect();
    let whole = ClusterContext { plan, seen };
    let mut course = FailedChecks { nodes: vec![BTreeMap::new(); cases.len()], cluster: BTreeMap::new() };
    let mut report = VerifyReport {
        cluster: plan.cluster.name.to_string(),
        nodes: cases.iter().map(blank).collect(),
        checks: Vec::new(),
    };
    for check in CHECKS {
        let needs = check.all_needs();
        match check.scope {
            CheckScope::Node(judge) => {
                for (nth, case) in cases.iter().enumerate() {
                    let Some(verdict) = course.of_node(nth, &needs, || judge(case)) else { continue };
                    let cause = cause(&verdict, check, Some(case.node.name.as_str()));
                    course.nodes[nth].extend(cause.map(|cause| (check.id, cause)));
                    report.nodes[nth].checks.push(CheckOutcome { check: check.id, verdict });
                }
            }
            CheckScope::Cluster(judge) => {
                let Some(verdict) = course.of_cluster(&cases, &needs, || judge(&whole)) else { continue };
                course.cluster.extend(cause(&verdict, check, None).map(|cause| (check.id, cause)));
                report.checks.push(CheckOutcome { check: check.id, verdict });
            }
        }
    }
    report
}

fn blank(case: &NodeContext<'_>) -> NodeChecks {
    let name = case.node.name.to_string();
    NodeChecks { name, role: case.node.role.word(), at: case.seen.at, checks: Vec::new() }
}

/// By what later checks are kept from being looked at.
fn cause(verdict: &CheckResult, check: &CheckDefinition, node: Option<&str>) -> Option<RootCause> {
    match verdict {
        CheckResult::Broken { .. } => Some(RootCause { check: check.id, node: node.map(str::to_owned) }),
        CheckResult::NotLookedAt { because } => Some(because.clone()),
        CheckResult::Holds { .. } | CheckResult::Unknown { .. } => None,
    }
}

/// What is broken so far, and what was not looked at for it: by check, the cause.
struct FailedChecks {
    nodes: Vec<BTreeMap<&'static str, RootCause>>,
    cluster: BTreeMap<&'static str, RootCause>,
}

impl FailedChecks {
    /// The verdict of a node's check; none where it does not concern the node.
    fn of_node(
        &self,
        nth: usize,
        needs: &[&str],
        judge: impl FnOnce() -> Option<CheckResult>,
    ) -> Option<CheckResult> {
        let verdict = judge()?;
        let cause =
            needs.iter().find_map(|need| self.nodes[nth].get(need).or_else(|| self.cluster.get(need)));
        Some(cause.map_or(verdict, |because| CheckResult::NotLookedAt { because: because.clone() }))
    }

    /// The verdict of the cluster's check, which rests on most of the control planes.
    fn of_cluster(
        &self,
        cases: &[NodeContext<'_>],
        needs: &[&str],
        judge: impl FnOnce() -> Option<CheckResult>,
    ) -> Option<CheckResult> {
        let verdict = judge()?;
        if let Some(because) = needs.iter().find_map(|need| self.cluster.get(need)) {
            return Some(CheckResult::NotLookedAt { because: because.clone() });
        }
        let planes = || (0..cases.len()).filter(|&nth| cases[nth].node.role == Role::Controlplane);
        let cause = |nth: usize| needs.iter().find_map(|need| self.nodes[nth].get(need));
        let causes: Vec<&RootCause> = planes().filter_map(cause).collect();
        Some(match causes.first() {
            Some(&because) if causes.len() * 2 >= planes().count() => {
                CheckResult::NotLookedAt { because: because.clone() }
            }
            _ => verdict,
        })
    }
}

#[cfg(test)]
mod tests;
