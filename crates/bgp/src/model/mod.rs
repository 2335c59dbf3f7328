//! A node's BGP, independent of the daemon.
//!
//! A [`BgpModel`] has the instance toward the [`fabric`], the one toward the load balancer ([`workload`]), and the
//! filters between them ([`filter`]). Every backend renders the same model.
//!
//! Not here: deriving it from a plan (`ichor_core::routing`) and configuration text ([`render`](crate::render)).

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
    /// Source addresses of the node's own packets over learnt routes, at most one of each family. Never an anycast
    /// address: replies to it would reach another node.
    pub sources: Vec<IpAddr>,
    /// Whether it passes routes between neighbours, which Talos' own BGP cannot disable.
    pub transit: bool,
    /// The instance toward the fabric.
    pub fabric: Fabric,
    /// The instance toward the load balancer.
    pub workload: Option<Workload>,
}

/// Fast detection of a failed path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bfd {
    /// Milliseconds between two packets.
    pub interval: u32,
    /// How many of them may be lost.
    pub multiplier: u8,
}

impl BgpModel {
    /// Withdraws the announcements of the node and of the load balancer. Sessions stay up: the node keeps its routes.
    pub fn drain(&mut self) {
        self.fabric.announced.clear();
        self.fabric.aggregates.clear();
        if let Some(workload) = &mut self.workload {
            workload.filter = PrefixFilter::default();
        }
    }

    /// Every BFD setting in use, each once.
    pub fn bfd(&self) -> Vec<Bfd> {
        let fabric = self.fabric.neighbors.iter().filter_map(|neighbor| neighbor.bfd);
        let mut settings: Vec<_> =
            fabric.chain(self.workload.as_ref().and_then(|workload| workload.bfd)).collect();
        settings.sort();
        settings.dedup();
        settings
    }
}
