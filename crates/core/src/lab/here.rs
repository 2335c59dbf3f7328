//! What a lab can be built of: the daemons that are installed, and what the kernel has.

use serde::{Deserialize, Serialize};

use crate::routing::BgpTopology;
use ichor_values::Backend;
use ichor_values::SoftwareVersion;

/// The machine on which a lab runs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct HostCapabilities {
    /// FRR, if it is installed.
    #[serde(rename = "frr_version")]
    pub frr: Option<SoftwareVersion>,
    /// BIRD, if it is installed.
    #[serde(rename = "bird_version")]
    pub bird: Option<SoftwareVersion>,
    /// GoBGP, if it is installed.
    #[serde(rename = "gobgp_version")]
    pub gobgp: Option<SoftwareVersion>,
    /// Whether the kernel has VRFs.
    #[serde(rename = "vrf_support")]
    pub vrf: bool,
    /// Whether the kernel has links that lead nowhere. A cable whose other end is put away does the same.
    #[serde(rename = "dummy_support")]
    pub dummy: bool,
    /// Whether the processor is emulated, so that everything may be late.
    pub emulated: bool,
}

/// On an emulated processor BFD waits so many times as long: a machine that has much to do is no failure.
const SLOWER: u32 = 10;

/// The longest time between two packets of BFD that FRR 8.4 takes; milliseconds.
const LONGEST: u32 = 60_000;

impl HostCapabilities {
    /// The release of a node's daemon. Talos' own BGP is GoBGP.
    pub fn release(&self, backend: Backend) -> Option<&SoftwareVersion> {
        match backend {
            Backend::Frr => self.frr.as_ref(),
            Backend::Bird => self.bird.as_ref(),
            Backend::Gobgp | Backend::Native => self.gobgp.as_ref(),
        }
    }

    /// Gives BFD on a fabric the time it needs here; says how many times as long it then waits, where that is longer.
    pub(super) fn fit_bfd(&self, network: &mut BgpTopology) -> Option<u32> {
        let nodes = network.nodes.iter_mut().flat_map(|model| &mut model.fabric.neighbors);
        let peers = network.routers.iter_mut().flat_map(|router| &mut router.peers);
        let sessions = nodes.chain(peers.map(|peer| &mut peer.session));
        let mut is_slower = false;
        for bfd in sessions.filter_map(|session| session.bfd.as_mut()).filter(|_| self.emulated) {
            bfd.interval = bfd.interval.saturating_mul(SLOWER).min(LONGEST).max(bfd.interval);
            is_slower = true;
        }
        is_slower.then_some(SLOWER)
    }
}
