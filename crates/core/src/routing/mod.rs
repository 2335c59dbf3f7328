//! What a node's BGP means, whoever speaks it.
//!
//! A [`Model`] is made from the plan and says everything once: the instance toward the [`fabric`], the one toward the speaker
//! ([`workload`]), and what is let through between them ([`filter`], [`protected`]). It knows no daemon's words, so that every
//! backend renders the same meaning. A [`Network`] is all of it at once: the models of the nodes, the routers at the other
//! end ([`router`]), and every session between them ([`network`]).
//!
//! Not here: what a backend cannot do ([`plan::backend`](crate::plan::backend)), and texts
//! ([`render::routing`](crate::render::routing)).

pub mod fabric;
pub mod fault;
pub mod filter;
pub mod network;
pub mod protected;
pub mod router;
pub mod workload;

use std::net::{IpAddr, Ipv4Addr};

use crate::cluster::section::Backend;
use crate::cluster::value::{Asn, NodeName};
use crate::model::Cluster;
use crate::plan::NodePlan;
pub use fabric::Fabric;
pub use filter::{Family, Filter, Term};
pub use network::Network;
pub use protected::Protected;
pub use router::Router;
pub use workload::{Domain, Workload};

/// The BGP of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The node.
    pub name: NodeName,
    /// Its number in the plan.
    pub nth: usize,
    /// Its AS number.
    pub asn: Asn,
    /// Its router id.
    pub router_id: Ipv4Addr,
    /// Source addresses of what the node itself sends over learnt routes, at most one of each family. Never an anycast
    /// address: answers to it would go to another node.
    pub sources: Vec<IpAddr>,
    /// Whether it passes on what others tell it: Talos itself cannot be told not to.
    pub transit: bool,
    /// The instance toward the fabric.
    pub fabric: Fabric,
    /// The instance toward the speaker.
    pub workload: Option<Workload>,
}

/// Fast detection of a dead path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bfd {
    /// Milliseconds between two packets.
    pub interval: u32,
    /// How many may be lost.
    pub multiplier: u8,
}

impl From<(u32, u8)> for Bfd {
    fn from((interval, multiplier): (u32, u8)) -> Self {
        Self { interval, multiplier }
    }
}

/// Something a model needs was neither written nor derived.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{node}: `{key}` could not be derived; write it")]
pub struct ModelError {
    /// The node.
    pub node: String,
    /// The key.
    pub key: &'static str,
}

impl Model {
    /// The model of a node; none if it does not route.
    pub fn of(cluster: &Cluster, node: &NodePlan, protected: &Protected) -> Result<Option<Self>, ModelError> {
        let (Some(plan), Some(routing)) = (node.routing.as_deref(), node.settings.routing.get()) else {
            return Ok(None);
        };
        let missing = |key| ModelError { node: node.name.to_string(), key };
        let workload = plan.workload.as_ref();
        let mut model = Self {
            name: node.name.clone(),
            nth: node.nth,
            asn: node.asn.as_ref().ok_or_else(|| missing("routing.asn"))?.value,
            router_id: node.router_id.as_ref().ok_or_else(|| missing("routing.router_id"))?.value,
            transit: plan.backend.value == Backend::Native,
            sources: node.loopback.iter().map(|(net, _)| net.addr()).collect(),
            fabric: fabric::of(cluster, node, plan, routing),
            workload: workload.map(|plan| workload::of(node, plan, routing, protected)).transpose()?,
        };
        if node.settings.drain.value() == Some(true) {
            model.drain();
        }
        Ok(Some(model))
    }

    /// Announces nothing any more, neither the node's own nor the speaker's. Sessions stay: the node still finds its way.
    pub fn drain(&mut self) {
        self.fabric.announced.clear();
        self.fabric.aggregates.clear();
        if let Some(workload) = &mut self.workload {
            workload.filter = Filter::default();
        }
    }

    /// Every way BFD is wanted, each once.
    pub fn bfd(&self) -> Vec<Bfd> {
        let fabric = self.fabric.neighbors.iter().filter_map(|neighbor| neighbor.bfd);
        let mut ways: Vec<_> =
            fabric.chain(self.workload.as_ref().and_then(|workload| workload.bfd)).collect();
        ways.sort();
        ways.dedup();
        ways
    }
}
