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
    pub fn from_section(bond: &Bond) -> (Self, impl Iterator<Item = &LinkName>) {
        let Bond { links, mode, miimon, hash } = bond;
        let mode = Decided::from_key_or(mode, BondMode::ActiveBackup, "it needs no switch configuration");
        let default = if mode.value == BondMode::Lacp { BondHash::Layer34 } else { BondHash::Layer2 };
        let plan = Self {
            miimon: Decided::from_key_or(miimon, 100, "a failed member is detected within 100 ms"),
            hash: Decided::from_key_or(hash, default, "suits the bond mode"),
            mode,
        };
        (plan, links.values())
    }
}

/// Whether a bridge uses the spanning tree protocol.
pub(crate) fn stp(bridge: &Bridge) -> Decided<bool> {
    Decided::from_key_or(&bridge.stp, false, "nodes are not switches")
}

/// The metric of a route.
pub fn metric(route: &Route) -> Decided<u32> {
    Decided::from_key_or(&route.metric, METRIC, "Talos' default")
}
