//! Links, addresses, routes and sessions.

use serde::Deserialize;

use super::ResourceKind;

/// A link; named as the kernel names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LinkStatus {
    /// `ether`, `loopback` or another.
    pub r#type: String,
    /// The address it has now.
    pub hardware_addr: String,
    /// The address it was made with.
    pub permanent_addr: String,
    /// The longest packet.
    pub mtu: u32,
    /// `up`, `down` or another.
    pub operational_state: String,
    /// Its kind, such as `bond`; empty for a port.
    pub kind: String,
    /// The kernel's driver.
    pub driver: String,
    /// Whether there is a carrier.
    pub link_state: bool,
    /// Another name it has.
    pub alias: String,
    /// Other names it has.
    pub alt_names: Vec<String>,
}

impl LinkStatus {
    /// Whether it is a port of the machine and not made of others.
    pub fn is_port(&self) -> bool {
        self.r#type == "ether" && self.kind.is_empty()
    }

    /// The MAC address it was made with, as the machine is known by; a port in a bond borrows another.
    pub fn mac(&self) -> Option<&str> {
        [&self.permanent_addr, &self.hardware_addr]
            .into_iter()
            .map(String::as_str)
            .find(|mac| !mac.is_empty())
    }
}

impl ResourceKind for LinkStatus {
    const TYPE: &'static str = "LinkStatuses.net.talos.dev";
    const NAMESPACE: &'static str = "network";
}

/// An address on a link; named `link/address`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AddressStatus {
    /// With the length of its prefix.
    pub address: String,
    /// Its link.
    pub link_name: String,
    /// `global`, `link` or another.
    pub scope: String,
}

impl ResourceKind for AddressStatus {
    const TYPE: &'static str = "AddressStatuses.net.talos.dev";
    const NAMESPACE: &'static str = "network";
}

/// The name of the machine; the one is named `hostname`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HostnameStatus {
    /// The name.
    pub hostname: String,
}

impl HostnameStatus {
    /// The name of the one there is.
    pub const ID: &str = "hostname";
}

impl ResourceKind for HostnameStatus {
    const TYPE: &'static str = "HostnameStatuses.net.talos.dev";
    const NAMESPACE: &'static str = "network";
}

/// A route of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RouteStatus {
    /// Its destination; empty for a default route.
    pub dst: String,
    /// Its origin, such as `bgp`.
    pub protocol: String,
}

impl ResourceKind for RouteStatus {
    const TYPE: &'static str = "RouteStatuses.net.talos.dev";
    const NAMESPACE: &'static str = "network";
}

/// A session of Talos' own BGP, since 1.14; named `instance/peer`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct BgpPeerStatus {
    /// Its address or link.
    pub peer: String,
    /// `ESTABLISHED`, `ACTIVE` or another.
    pub state: String,
    /// Prefixes that came.
    pub received: u32,
    /// The number of advertised prefixes.
    pub advertised: u32,
    /// The instance it belongs to.
    pub instance: String,
}

impl BgpPeerStatus {
    /// Whether the session is established.
    pub fn is_established(&self) -> bool {
        self.state.eq_ignore_ascii_case("established")
    }
}

impl ResourceKind for BgpPeerStatus {
    const TYPE: &'static str = "BGPPeerStatuses.net.talos.dev";
    const NAMESPACE: &'static str = "network";
}
