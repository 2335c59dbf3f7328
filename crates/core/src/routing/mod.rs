//! The routing model of nodes and routers.
//!
//! [`model`] builds the [`BgpModel`] of one node: the instance toward the [`fabric`], the one toward the speaker
//! ([`workload`]), and the prefixes that pass between them ([`protected()`]). A [`BgpTopology`] has the models of the nodes,
//! the routers at the other end ([`router`]), and every session between them ([`network`]).
//!
//! Not here: limitations of backends ([`plan::backend`](crate::plan::backend)), and configuration text
//! ([`ichor_bgp::render`]).

pub mod fabric;
pub mod fault;
pub mod network;
pub mod protected;
pub mod router;
mod workload;

use ichor_bgp::model::{Bfd, BgpModel, ProtectedPrefixes};
use ichor_values::{Backend, Issue};

use crate::plan::{BfdPlan, NodePlan};
pub use network::BgpTopology;
pub use protected::protected;
pub use router::FabricRouter;

impl From<&BfdPlan> for Bfd {
    fn from(plan: &BfdPlan) -> Self {
        Self { interval: plan.interval.value, multiplier: plan.multiplier.value }
    }
}

/// A required key of a node that is neither written nor derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingKey {
    /// The key below the node.
    pub key: &'static str,
    /// The issue to report.
    pub issue: Issue,
}

impl MissingKey {
    fn new(node: &NodePlan, key: &'static str) -> Self {
        let message = format!("cannot derive `{key}`");
        Self { key, issue: Issue::error(node.name.as_str(), message).with_help("set it") }
    }
}

/// The model of a node; none without routing.
pub fn model(node: &NodePlan, protected: &ProtectedPrefixes) -> Result<Option<BgpModel>, MissingKey> {
    let Some(plan) = node.routing.as_deref() else { return Ok(None) };
    let missing = |key| MissingKey::new(node, key);
    let workload = plan.workload.as_ref();
    let mut model = BgpModel {
        name: node.name.clone(),
        nth: node.nth,
        asn: node.asn.as_ref().ok_or_else(|| missing("routing.asn"))?.value,
        router_id: node.router_id.as_ref().ok_or_else(|| missing("routing.router_id"))?.value,
        transit: plan.backend.value == Backend::Native,
        sources: node.loopback.iter().map(|(net, _)| net.addr()).collect(),
        fabric: fabric::fabric_instance(node, plan),
        workload: workload.map(|plan| workload::workload_instance(node, plan, protected)).transpose()?,
    };
    if node.drain.value {
        model.drain();
    }
    Ok(Some(model))
}
