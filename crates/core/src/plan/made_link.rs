//! Settings of links that the file lists, each with its default.

use super::Decided;
use super::link::METRIC;
use crate::cluster::section::{Bond, BondHash, BondMode, Bridge, Route};
use ichor_values::LinkName;

/// How the members of a bond share the traffic.
#[derive(Debug)]
pub(crate) struct BondPlan {
    /// How they share it.
    pub mode: Decided<BondMode>,
    /// Milliseconds between two looks at the members.
    pub(crate) miimon: Decided<u32>,
    /// How packets are spread.
    pub(crate) hash: Decided<BondHash>,
}

impl BondPlan {
    /// Decides the settings of a bond, and names its members.
    pub fn of(bond: &Bond) -> (Self, impl Iterator<Item = &LinkName>) {
        let Bond { links, mode, miimon, hash } = bond;
        let mode = Decided::or(mode, BondMode::ActiveBackup, "it asks nothing of the switches");
        let usual = if mode.value == BondMode::Lacp { BondHash::Layer34 } else { BondHash::Layer2 };
        let plan = Self {
            miimon: Decided::or(miimon, 100, "a dead member is noticed within a tenth of a second"),
            hash: Decided::or(hash, usual, "what goes with the mode"),
            mode,
        };
        (plan, links.values())
    }
}

/// Whether a bridge speaks the spanning tree protocol.
pub(crate) fn stp(bridge: &Bridge) -> Decided<bool> {
    Decided::or(&bridge.stp, false, "nodes are no switches")
}

/// The metric of a route.
pub fn metric(route: &Route) -> Decided<u32> {
    Decided::or(&route.metric, METRIC, "Talos' own")
}
