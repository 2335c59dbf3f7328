//! What keeps a cluster from being as its file means it: checks in order, each with a verdict, the evidence and the remedy.
//!
//! [`CHECKS`] is the list. Whoever asks machines, nodes, routers and Kubernetes fills a [`Seen`]; [`judge`] goes through the
//! list with it and gives a [`Report`]. A check is not looked at once another that it needs is broken: what is told is the
//! cause, and not its consequences. [`Report::text`] is for people.
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

use crate::bringup::Contact;
use crate::cluster::section::Role;
use crate::model::Cluster;
use crate::plan::Plan;
use case::{Case, Whole};

pub use list::{CHECKS, Check, Scope};
pub use routing::{Far, far_ends};
pub use seen::{Detail, Door, EtcdMembers, EtcdSeen, Known, MachineTold, NodeSeen, Seen, ServiceSeen};

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// It is as it should be.
    Holds {
        /// By what that is known.
        evidence: String,
    },
    /// It is not.
    Broken {
        /// By what that is known.
        evidence: String,
        /// What helps.
        remedy: String,
    },
    /// Nobody can see whether it is.
    Unknown {
        /// Why not.
        why: String,
    },
    /// It would only be a consequence of something else.
    NotLookedAt {
        /// Of what.
        because: Cause,
    },
}

impl Verdict {
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
pub struct Cause {
    /// The check.
    pub(crate) check: &'static str,
    /// The node; none for what is the whole cluster's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// A check and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The check.
    pub(crate) check: &'static str,
    /// What came of it.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// A node and its checks, in their order; those that do not concern it are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeReport {
    /// The node.
    pub name: String,
    /// What it is in the cluster.
    pub role: &'static str,
    /// Where it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Contact>,
    /// Its checks.
    pub(crate) checks: Vec<Outcome>,
}

/// A cluster and its checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Its name.
    pub cluster: String,
    /// The nodes that were looked at, in the order of the file.
    pub nodes: Vec<NodeReport>,
    /// What is the whole cluster's.
    pub(crate) checks: Vec<Outcome>,
}

impl Report {
    /// Whether nothing is broken.
    pub fn is_right(&self) -> bool {
        let broken = |outcome: &Outcome| matches!(outcome.verdict, Verdict::Broken { .. });
        !self.nodes.iter().flat_map(|node| &node.checks).chain(&self.checks).any(broken)
    }
}

/// Goes through the list with what was seen.
pub fn judge(cluster: &Cluster, plan: &Plan, seen: &Seen) -> Report {
    let far = far_ends(cluster, plan);
    let looked_at = plan.nodes.iter().filter_map(|node| Some((node, seen.nodes.get(node.name.as_str())?)));
    let cases: Vec<Case<'_>> = looked_at.map(|(node, own)| Case::new(plan, node, own, seen, &far)).collect();
    let whole = Whole { plan, seen };
    let mut course = Course { nodes: vec![BTreeMap::new(); cases.len()], cluster: BTreeMap::new() };
    let mut report = Report {
        cluster: plan.cluster.name.to_string(),
        nodes: cases.iter().map(blank).collect(),
        checks: Vec::new(),
    };
    for check in CHECKS {
        let needs = check.all_needs();
        match check.scope {
            Scope::Node(judge) => {
                for (nth, case) in cases.iter().enumerate() {
                    let Some(verdict) = course.of_node(nth, &needs, || judge(case)) else { continue };
                    let cause = cause(&verdict, check, Some(case.node.name.as_str()));
                    course.nodes[nth].extend(cause.map(|cause| (check.id, cause)));
                    report.nodes[nth].checks.push(Outcome { check: check.id, verdict });
                }
            }
            Scope::Cluster(judge) => {
                let Some(verdict) = course.of_cluster(&cases, &needs, || judge(&whole)) else { continue };
                course.cluster.extend(cause(&verdict, check, None).map(|cause| (check.id, cause)));
                report.checks.push(Outcome { check: check.id, verdict });
            }
        }
    }
    report
}

fn blank(case: &Case<'_>) -> NodeReport {
    let name = case.node.name.to_string();
    NodeReport { name, role: case.node.role.word(), at: case.seen.at, checks: Vec::new() }
}

/// By what later checks are kept from being looked at.
fn cause(verdict: &Verdict, check: &Check, node: Option<&str>) -> Option<Cause> {
    match verdict {
        Verdict::Broken { .. } => Some(Cause { check: check.id, node: node.map(str::to_owned) }),
        Verdict::NotLookedAt { because } => Some(because.clone()),
        Verdict::Holds { .. } | Verdict::Unknown { .. } => None,
    }
}

/// What is broken so far, and what was not looked at for it: by check, the cause.
struct Course {
    nodes: Vec<BTreeMap<&'static str, Cause>>,
    cluster: BTreeMap<&'static str, Cause>,
}

impl Course {
    /// The verdict of a node's check; none where it does not concern the node.
    fn of_node(
        &self,
        nth: usize,
        needs: &[&str],
        judge: impl FnOnce() -> Option<Verdict>,
    ) -> Option<Verdict> {
        let verdict = judge()?;
        let cause =
            needs.iter().find_map(|need| self.nodes[nth].get(need).or_else(|| self.cluster.get(need)));
        Some(cause.map_or(verdict, |because| Verdict::NotLookedAt { because: because.clone() }))
    }

    /// The verdict of the cluster's check, which rests on most of the control planes.
    fn of_cluster(
        &self,
        cases: &[Case<'_>],
        needs: &[&str],
        judge: impl FnOnce() -> Option<Verdict>,
    ) -> Option<Verdict> {
        let verdict = judge()?;
        if let Some(because) = needs.iter().find_map(|need| self.cluster.get(need)) {
            return Some(Verdict::NotLookedAt { because: because.clone() });
        }
        let planes = || (0..cases.len()).filter(|&nth| cases[nth].node.role == Role::Controlplane);
        let cause = |nth: usize| needs.iter().find_map(|need| self.nodes[nth].get(need));
        let causes: Vec<&Cause> = planes().filter_map(cause).collect();
        Some(match causes.first() {
            Some(&because) if causes.len() * 2 >= planes().count() => {
                Verdict::NotLookedAt { because: because.clone() }
            }
            _ => verdict,
        })
    }
}

#[cfg(test)]
mod tests;
