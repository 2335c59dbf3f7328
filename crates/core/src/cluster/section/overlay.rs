//! `overlay`: the overlay network.

use ichor_values::key::List;
use ichor_values::record;
use ichor_values::{Duration, Mtu, Prefix, Secret, Text, Url};

record! {
    /// The overlay network, which nodes join after boot.
    Overlay "an overlay" {
        /// Tailscale, or Headscale with `server`.
        tailscale: Tailscale = "not set", "{server: https://headscale.sol, key: {env: TS_KEY}}";
    }
}

record! {
    /// Tailscale or Headscale.
    Tailscale "settings of Tailscale" {
        /// Control server.
        server: Url = "https://controlplane.tailscale.com", "https://headscale.sol";
        /// Key with which machines join, or with which such keys are created.
        key: Secret = "required", "{env: TS_KEY}";
        /// Tags of the machines; with `server` the key must have them.
        tags: List<Text> = "none", "[tag:edge]";
        /// Prefixes that the machines announce.
        routes: List<Prefix> = "none", "[10.20.0.0/24]";
        /// Whether a key is created for every machine.
        mint: bool = "false", "true";
        /// Validity of a key.
        key_life: Duration = "unlimited", "1h";
        /// MTU of the overlay's link.
        mtu: Mtu = "1280", "1280";
    }
}
