//! Who has what at one moment: as the proof foresees it, or as it was seen. Both are the same data, so that they can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// A fabric at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FabricState {
    /// Machines that are taken away: nothing is known of them.
    pub gone: BTreeSet<String>,
    /// By machine: what it has routes to from its routing daemon.
    pub routes: BTreeMap<String, BTreeMap<IpNet, PathCount>>,
    /// Of every session whether it is up, in the order of the scene.
    pub sessions: Vec<bool>,
    /// Of every flow whether packets come back, in the order of the flows.
    pub flows: Vec<Reachability>,
}

/// What a machine has of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathCount {
    /// It is its own, or its speaker's.
    Own,
    /// A route over so many paths at once.
    By(usize),
    /// The same with so many at most: several of those who tell of it may name the same neighbour.
    UpTo(usize),
}

impl PathCount {
    /// Whether what was seen is what is meant.
    pub(crate) fn admits(self, seen: Self) -> bool {
        match self {
            Self::UpTo(most) => (1..=most).contains(&seen.count()),
            _ => self == seen,
        }
    }

    /// How many paths there are, at most.
    pub fn count(self) -> usize {
        match self {
            Self::Own => 0,
            Self::By(count) | Self::UpTo(count) => count,
        }
    }
}

/// Whether packets come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reachability {
    /// All of them.
    All,
    /// That depends on the way they take.
    Some,
    /// None.
    None,
}

/// Packets from one place to an address, and back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Flow {
    /// Machine that sends.
    #[serde(rename = "machine")]
    pub from: String,
    /// Of a machine outside: the router that takes the packets in.
    #[serde(rename = "via_router")]
    pub door: Option<String>,
    /// The sender's address.
    #[serde(rename = "source_address")]
    pub source: IpAddr,
    /// Where to.
    #[serde(rename = "destination_address")]
    pub to: IpAddr,
}

impl Flow {
    /// Who asks, for people: `cp1`, or `the outside by leaf1`.
    pub(crate) fn who(&self) -> String {
        match &self.door {
            Some(router) => format!("{} by {router}", self.from),
            None => self.from.clone(),
        }
    }
}
