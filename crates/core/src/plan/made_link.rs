//! Settings of bonds, bridges and routes, with their defaults.

use super::Decided;
use super::link::METRIC;
use crate::cluster::section::{Bond, BondHash, BondMode, Bridge, Route};
use ichor_values::LinkName;

/// Settings of a bond.
#[derive(Debug)]
pub(crate) struct BondPlan {
    /// Bonding mode.
    pub mode: Decided<BondMode>,
    /// Interval of link monitoring in milliseconds.
    pub(crate) miimon: Decided<u32>,
    /// Transmit hash policy.
    pub(crate) hash: Decided<BondHash>,
}

impl BondPlan {
    /// Decides the settings of a bond, and returns its members.
    pub fn of(bond: &Bond) -> (Self, impl Iterator<Item = &LinkName>) {
        let Bond { links, mode, miimon, hash } = bond;
        let mode = Decided::or(mode, BondMode::ActiveBackup, "it needs no switch configuration");
        let usual = if mode.value == BondMode::Lacp { BondHash::Layer34 } else { BondHash::Layer2 };
        let plan = Self {
            miimon: Decided::or(miimon, 100, "a failed member is detected within 100 ms"),
            hash: Decided::or(hash, usual, "suits the bond mode"),
            mode,
        };
        (plan, links.values())
    }
}

/// Whether a bridge uses the spanning tree protocol.
pub(crate) fn stp(bridge: &Bridge) -> Decided<bool> {
    Decided::or(&bridge.stp, false, "nodes are not switches")
}

/// The metric of a route.
pub fn metric(route: &Route) -> Decided<u32> {
    Decided::or(&route.metric, METRIC, "Talos' default")
}
