//! Diagnoses a cluster: checks in order, each with a result, evidence and a remedy.
//!
//! [`CHECKS`] is the list. [`Observations`] has the query results of machines, nodes, routers and Kubernetes; [`run_checks`]
//! turns them into a [`VerifyReport`]. A check is skipped if a check that it needs has failed, so the report has root causes
//! without their consequences. [`VerifyReport::to_text`] formats it.
//!
//! Reports of nodes have the types of [`observe`](crate::observe), which `ichor status` uses as well. Not here: queries.

mod checks;
mod cluster;
mod context;
mod image;
mod machine;
mod network;
mod observations;
mod routing;
mod text;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::bringup::NodeAddress;
use crate::cluster::section::Role;
use crate::model::Cluster;
use crate::plan::Plan;
use context::{ClusterContext, NodeContext};

pub use checks::{CHECKS, CheckDefinition, CheckScope};
pub use observations::{
    ApiAddress, EtcdMemberState, EtcdMembership, MachinePower, NodeDetail, NodeObservations, Observations,
    Probed, ServiceState,
};
pub use routing::{RouterPeering, router_peerings};

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum CheckResult {
    /// The check passed.
    Passed {
        /// The evidence.
        evidence: String,
    },
    /// The check failed.
    Failed {
        /// The evidence.
        evidence: String,
        /// The remedy.
        #[serde(rename = "help")]
        remedy: String,
    },
    /// The result is unknown.
    Unknown {
        /// The reason.
        #[serde(rename = "reason")]
        why: String,
    },
    /// The check was skipped, because a check that it needs failed.
    Skipped {
        /// The root cause.
        #[serde(rename = "caused_by")]
        because: RootCause,
    },
}

impl CheckResult {
    fn passed(evidence: impl Into<String>) -> Self {
        Self::Passed { evidence: evidence.into() }
    }

    fn failed(evidence: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Failed { evidence: evidence.into(), remedy: remedy.into() }
    }

    fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown { why: why.into() }
    }
}

/// A failed check and its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RootCause {
    /// The check.
    pub(crate) check: &'static str,
    /// The node; none for a check of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// A check and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckOutcome {
    /// The check.
    pub(crate) check: &'static str,
    /// Its result.
    #[serde(flatten)]
    pub verdict: CheckResult,
}

/// A node and its applicable checks, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeChecks {
    /// The node.
    #[serde(rename = "node")]
    pub name: String,
    /// Its role.
    pub role: &'static str,
    /// The address at which it answered.
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
    /// The checked nodes, in the order of the file.
    pub nodes: Vec<NodeChecks>,
    /// The checks of the cluster.
    pub(crate) checks: Vec<CheckOutcome>,
}

impl VerifyReport {
    /// Whether no check failed.
    pub fn is_healthy(&self) -> bool {
        let failed = |outcome: &CheckOutcome| matches!(outcome.verdict, CheckResult::Failed { .. });
        !self.nodes.iter().flat_map(|node| &node.checks).chain(&self.checks).any(failed)
    }
}

/// Runs all checks on the observations.
pub fn run_checks(cluster: &Cluster, plan: &Plan, seen: &Observations) -> VerifyReport {
    let peerings = router_peerings(cluster, plan);
    let observed = plan.nodes.iter().filter_map(|node| Some((node, seen.nodes.get(node.name.as_str())?)));
    let cases: Vec<NodeContext<'_>> =
        observed.map(|(node, own)| NodeContext::new(plan, node, own, seen, &peerings)).collect();
    let cluster_context = ClusterContext { plan, seen };
    let mut failed = FailedChecks { nodes: vec![BTreeMap::new(); cases.len()], cluster: BTreeMap::new() };
    let mut report = VerifyReport {
        cluster: plan.cluster.name.to_string(),
        nodes: cases.iter().map(empty_checks).collect(),
        checks: Vec::new(),
    };
    for check in CHECKS {
        let needs = check.all_needs();
        match check.scope {
            CheckScope::Node(judge) => {
                for (nth, case) in cases.iter().enumerate() {
                    let Some(verdict) = failed.node_result(nth, &needs, || judge(case)) else { continue };
                    let cause = root_cause(&verdict, check, Some(case.node.name.as_str()));
                    failed.nodes[nth].extend(cause.map(|cause| (check.id, cause)));
                    report.nodes[nth].checks.push(CheckOutcome { check: check.id, verdict });
                }
            }
            CheckScope::Cluster(judge) => {
                let Some(verdict) = failed.cluster_result(&cases, &needs, || judge(&cluster_context)) else {
                    continue;
                };
                failed.cluster.extend(root_cause(&verdict, check, None).map(|cause| (check.id, cause)));
                report.checks.push(CheckOutcome { check: check.id, verdict });
            }
        }
    }
    report
}

fn empty_checks(case: &NodeContext<'_>) -> NodeChecks {
    let name = case.node.name.to_string();
    NodeChecks { name, role: case.node.role.word(), at: case.seen.at, checks: Vec::new() }
}

/// The root cause that skips later checks.
fn root_cause(verdict: &CheckResult, check: &CheckDefinition, node: Option<&str>) -> Option<RootCause> {
    match verdict {
        CheckResult::Failed { .. } => Some(RootCause { check: check.id, node: node.map(str::to_owned) }),
        CheckResult::Skipped { because } => Some(because.clone()),
        CheckResult::Passed { .. } | CheckResult::Unknown { .. } => None,
    }
}

/// The root causes of failed and skipped checks, by check.
struct FailedChecks {
    nodes: Vec<BTreeMap<&'static str, RootCause>>,
    cluster: BTreeMap<&'static str, RootCause>,
}

impl FailedChecks {
    /// The result of a node's check; none if it does not apply to the node.
    fn node_result(
        &self,
        nth: usize,
        needs: &[&str],
        judge: impl FnOnce() -> Option<CheckResult>,
    ) -> Option<CheckResult> {
        let verdict = judge()?;
        let cause =
            needs.iter().find_map(|need| self.nodes[nth].get(need).or_else(|| self.cluster.get(need)));
        Some(cause.map_or(verdict, |because| CheckResult::Skipped { because: because.clone() }))
    }

    /// The result of a cluster check, which needs a majority of the control planes.
    fn cluster_result(
        &self,
        cases: &[NodeContext<'_>],
        needs: &[&str],
        judge: impl FnOnce() -> Option<CheckResult>,
    ) -> Option<CheckResult> {
        let verdict = judge()?;
        if let Some(because) = needs.iter().find_map(|need| self.cluster.get(need)) {
            return Some(CheckResult::Skipped { because: because.clone() });
        }
        let planes = || (0..cases.len()).filter(|&nth| cases[nth].node.role == Role::Controlplane);
        let cause = |nth: usize| needs.iter().find_map(|need| self.nodes[nth].get(need));
        let causes: Vec<&RootCause> = planes().filter_map(cause).collect();
        Some(match causes.first() {
            Some(&because) if causes.len() * 2 >= planes().count() => {
                CheckResult::Skipped { because: because.clone() }
            }
            _ => verdict,
        })
    }
}

#[cfg(test)]
mod tests;
