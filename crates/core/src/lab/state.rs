//! The state of a fabric, predicted or observed. Both have the same type, so that they can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The state of a fabric at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FabricState {
    /// Failed machines, whose state is unknown.
    pub gone: BTreeSet<String>,
    /// By machine: the routes of its routing daemon.
    pub routes: BTreeMap<String, BTreeMap<IpNet, PathCount>>,
    /// Whether each session is up, in the order of the topology.
    pub sessions: Vec<bool>,
    /// Whether each flow has replies, in the order of the flows.
    pub flows: Vec<Reachability>,
}

/// A machine's paths to a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathCount {
    /// The prefix is its own or its speaker's.
    Own,
    /// A route with this number of paths.
    By(usize),
    /// A route with at most this number of paths: several routers may advertise the same next hop.
    UpTo(usize),
}

impl PathCount {
    /// Whether the observed paths match the predicted ones.
    pub(crate) fn admits(self, observed: Self) -> bool {
        match self {
            Self::UpTo(most) => (1..=most).contains(&observed.count()),
            _ => self == observed,
        }
    }

    /// The maximum number of paths.
    pub fn count(self) -> usize {
        match self {
            Self::Own => 0,
            Self::By(count) | Self::UpTo(count) => count,
        }
    }
}

/// Whether a flow has replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reachability {
    /// All packets are answered.
    All,
    /// Only packets on some paths are answered.
    Some,
    /// No packet is answered.
    None,
}

/// Packets from a machine to an address, and the replies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Flow {
    /// The sending machine.
    #[serde(rename = "machine")]
    pub from: String,
    /// The entry router of packets from the outside host.
    #[serde(rename = "via_router")]
    pub door: Option<String>,
    /// The sender's address.
    #[serde(rename = "source_address")]
    pub source: IpAddr,
    /// The destination address.
    #[serde(rename = "destination_address")]
    pub to: IpAddr,
}

impl Flow {
    /// The sender as text: `cp1`, or `outside by leaf1`.
    pub(crate) fn sender(&self) -> String {
        match &self.door {
            Some(router) => format!("{} by {router}", self.from),
            None => self.from.clone(),
        }
    }
}
