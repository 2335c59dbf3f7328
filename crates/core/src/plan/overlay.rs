//! The overlay of a node.

use std::net::IpAddr;

use super::Decided;
use crate::cluster::section::{NodeSettings, Overlay, StageAddresses};
use ichor_values::key::List;
use ichor_values::{Prefix, Secret, Text, Url};

/// Tailscale on a node, or Headscale.
#[derive(Debug)]
pub struct TailscalePlan {
    /// The control server; the default is Tailscale's.
    pub server: Option<Decided<Url>>,
    /// Reference to the key with which the node joins, or with which its key is created.
    pub key: Option<Decided<Secret>>,
    /// Whether a key is created for the node.
    pub mint: Decided<bool>,
    /// Tags of the node.
    pub(crate) tags: Option<Decided<List<Text>>>,
    /// Prefixes that the node announces in the overlay.
    pub routes: Option<Decided<List<Prefix>>>,
}

/// Decides how a node joins its overlay; none without an overlay.
pub fn plan(settings: &NodeSettings) -> Option<Box<TailscalePlan>> {
    let Overlay { tailscale } = settings.overlay.get()?;
    let tailscale = tailscale.get()?;
    Some(Box::new(TailscalePlan {
        server: Decided::from_key(&tailscale.server),
        key: Decided::from_key(&tailscale.key),
        mint: Decided::from_key_or(&tailscale.mint, false, "nodes join with this key"),
        tags: Decided::from_key(&tailscale.tags),
        routes: Decided::from_key(&tailscale.routes),
    }))
}

/// Addresses of a node before its final configuration, and in the overlay.
#[derive(Debug)]
pub struct StagePlan {
    /// From DHCP, during boot.
    pub dhcp: Option<Decided<IpAddr>>,
    /// External, during boot.
    pub external: Option<Decided<IpAddr>>,
    /// In the overlay.
    pub overlay: Option<Decided<IpAddr>>,
}

/// Reads the addresses of the file.
pub fn stages(settings: &NodeSettings) -> StagePlan {
    let none = StageAddresses::default();
    let StageAddresses { dhcp, external, overlay } = settings.address.get().unwrap_or(&none);
    StagePlan {
        dhcp: Decided::from_key(dhcp),
        external: Decided::from_key(external),
        overlay: Decided::from_key(overlay),
    }
}

impl StagePlan {
    /// The address from DHCP.
    pub fn dhcp(&self) -> Option<IpAddr> {
        self.dhcp.as_ref().map(|address| address.value)
    }

    /// The external address.
    pub fn external(&self) -> Option<IpAddr> {
        self.external.as_ref().map(|address| address.value)
    }

    /// The address in the overlay.
    pub fn overlay(&self) -> Option<IpAddr> {
        self.overlay.as_ref().map(|address| address.value)
    }
}
