//! The host of a lab: its installed daemons and kernel features.

use serde::{Deserialize, Serialize};

use crate::routing::BgpTopology;
use ichor_values::Backend;
use ichor_values::SoftwareVersion;

/// Daemons and kernel features of the machine that runs a lab.
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
    /// Whether the kernel supports VRFs.
    #[serde(rename = "vrf_support")]
    pub vrf: bool,
    /// Whether the kernel supports dummy links. Otherwise a veth pair with an unused end replaces them.
    #[serde(rename = "dummy_support")]
    pub dummy: bool,
    /// Whether the processor is emulated, which delays everything.
    pub emulated: bool,
}

/// The factor for BFD's intervals on an emulated processor, where a busy machine must not count as failed.
const SLOWDOWN: u32 = 10;

/// The longest BFD interval that FRR 8.4 accepts, in milliseconds.
const MAX_INTERVAL: u32 = 60_000;

impl HostCapabilities {
    /// The installed release of a node's daemon. Talos' own BGP is GoBGP.
    pub fn release(&self, backend: Backend) -> Option<&SoftwareVersion> {
        match backend {
            Backend::Frr => self.frr.as_ref(),
            Backend::Bird => self.bird.as_ref(),
            Backend::Gobgp | Backend::Native => self.gobgp.as_ref(),
        }
    }

    /// Slows BFD down on an emulated processor. Returns the factor if any session changed.
    pub(super) fn scale_bfd(&self, network: &mut BgpTopology) -> Option<u32> {
        let nodes = network.nodes.iter_mut().flat_map(|model| &mut model.fabric.neighbors);
        let peers = network.routers.iter_mut().flat_map(|router| &mut router.peers);
        let sessions = nodes.chain(peers.map(|peer| &mut peer.session));
        let mut is_slower = false;
        for bfd in sessions.filter_map(|session| session.bfd.as_mut()).filter(|_| self.emulated) {
            bfd.interval = bfd.interval.saturating_mul(SLOWDOWN).min(MAX_INTERVAL).max(bfd.interval);
            is_slower = true;
        }
        is_slower.then_some(SLOWDOWN)
    }
}
