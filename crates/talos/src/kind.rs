//! The kinds of documents a Talos configuration is made of, and the release that first has each.
//!
//! Not here: their fields ([`types`](super::types)).

use ichor_values::TalosVersion;

use super::release;
pub use super::types::DocumentKind;
use super::types::Types;

impl DocumentKind {
    /// Whether a release has it.
    pub fn is_in(self, talos: &TalosVersion) -> bool {
        release::at_least(talos, self.since)
    }
}

/// The kinds that make or set up a link.
pub(crate) const MAKE_LINKS: [&str; 8] = [
    "LinkConfig",
    "DummyLinkConfig",
    "VLANConfig",
    "BondConfig",
    "BridgeConfig",
    "WireguardConfig",
    "VRFConfig",
    "VethConfig",
];

/// Whether a kind makes or configures a link, or enables DHCP on one: any of them switches Talos' default DHCP off.
pub fn is_of_links(name: &str) -> bool {
    MAKE_LINKS.contains(&name) || ["DHCPv4Config", "DHCPv6Config"].contains(&name)
}

/// Every kind that is known.
pub fn all() -> impl Iterator<Item = DocumentKind> {
    Types::get().kinds().iter().copied()
}

/// The kind of this name.
pub fn find(name: &str) -> Option<DocumentKind> {
    all().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_exists_from_its_release_on() {
        let [older, newer] = ["v1.12.11", "v1.13.0"].map(|text| TalosVersion::parse(text).unwrap());

        let vrf = find("VRFConfig").unwrap();

        assert!(!vrf.is_in(&older) && vrf.is_in(&newer));
        assert!(find("KubeProxyConfig").unwrap().control_plane);
        assert_eq!(find("UnattendedInstall"), None);
    }
}
