//! What a node's BGP means, in no daemon's words.
//!
//! A [`BgpModel`] says everything once: the instance toward the [`fabric`], the one toward the load balancer's speaker
//! ([`workload`]), and what passes between them ([`filter`]). Every backend renders the same meaning.
//!
//! Not here: deciding it from a plan (`ichor_core::routing`) and configuration text ([`render`](crate::render)).

pub mod fabric;
pub mod filter;
mod protected;
pub mod workload;

use std::net::{IpAddr, Ipv4Addr};

use ichor_values::{Asn, NodeName};

pub use fabric::Fabric;
pub use filter::{Family, PrefixFilter, PrefixRule};
pub use protected::ProtectedPrefixes;
pub use workload::{RoutingDomain, Workload};

/// The BGP of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct BgpModel {
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

impl BgpModel {
    /// Announces nothing any more, neither the node's own nor the speaker's. Sessions stay: the node still finds its way.
    pub fn drain(&mut self) {
        self.fabric.announced.clear();
        self.fabric.aggregates.clear();
        if let Some(workload) = &mut self.workload {
            workload.filter = PrefixFilter::default();
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
