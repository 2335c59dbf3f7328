//! The overlay that a node joins.

use std::net::IpAddr;

use super::Decided;
use crate::cluster::section::{Overlay, Rung, StageAddresses};
use ichor_values::key::List;
use ichor_values::{Prefix, Secret, Text, Url};

/// Tailscale on a node, or Headscale.
#[derive(Debug)]
pub struct TailscalePlan {
    /// The control server; Tailscale's own where none is written.
    pub server: Option<Decided<Url>>,
    /// Reference to the key by which the node joins, or by which a key is minted for it.
    pub key: Option<Decided<Secret>>,
    /// Whether a key is minted for the node.
    pub mint: Decided<bool>,
    /// Tags of the node.
    pub(crate) tags: Option<Decided<List<Text>>>,
    /// Prefixes that the node announces in the overlay.
    pub routes: Option<Decided<List<Prefix>>>,
}

/// Decides how a node joins its overlay; none where it joins no overlay.
pub fn plan(settings: &Rung) -> Option<Box<TailscalePlan>> {
    let Overlay { tailscale } = settings.overlay.get()?;
    let tailscale = tailscale.get()?;
    Some(Box::new(TailscalePlan {
        server: Decided::of(&tailscale.server),
        key: Decided::of(&tailscale.key),
        mint: Decided::or(&tailscale.mint, false, "nodes join with the key itself"),
        tags: Decided::of(&tailscale.tags),
        routes: Decided::of(&tailscale.routes),
    }))
}

/// Addresses of a node at other stages than the final one.
#[derive(Debug)]
pub struct StagePlan {
    /// From a DHCP server, while it boots.
    pub dhcp: Option<Decided<IpAddr>>,
    /// From outside, while it boots.
    pub external: Option<Decided<IpAddr>>,
    /// In the overlay.
    pub overlay: Option<Decided<IpAddr>>,
}

/// The addresses that the file contains.
pub fn stages(settings: &Rung) -> StagePlan {
    let none = StageAddresses::default();
    let StageAddresses { dhcp, external, overlay } = settings.address.get().unwrap_or(&none);
    StagePlan { dhcp: Decided::of(dhcp), external: Decided::of(external), overlay: Decided::of(overlay) }
}

impl StagePlan {
    /// The address from the DHCP server.
    pub fn dhcp(&self) -> Option<IpAddr> {
        self.dhcp.as_ref().map(|address| address.value)
    }

    /// The address from outside.
    pub fn external(&self) -> Option<IpAddr> {
        self.external.as_ref().map(|address| address.value)
    }

    /// The address in the overlay.
    pub fn overlay(&self) -> Option<IpAddr> {
        self.overlay.as_ref().map(|address| address.value)
    }
}
