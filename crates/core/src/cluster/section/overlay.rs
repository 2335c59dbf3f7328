//! `overlay`: a network over the network.

use ichor_values::key::List;
use ichor_values::record;
use ichor_values::{Duration, Mtu, Prefix, Secret, Text, Url};

record! {
    /// A network over the network, which nodes join after they booted.
    Overlay "an overlay" {
        /// Tailscale, or Headscale with a server of one's own.
        tailscale: Tailscale = "none", "{server: https://headscale.sol, key: {env: TS_KEY}}";
    }
}

record! {
    /// Tailscale or Headscale.
    Tailscale "settings of Tailscale" {
        /// Control server.
        server: Url = "https://controlplane.tailscale.com", "https://headscale.sol";
        /// Key that lets a machine join, or mints such keys.
        key: Secret = "required", "{env: TS_KEY}";
        /// Tags of the machines.
        tags: List<Text> = "none", "[tag:edge]";
        /// Prefixes the machines announce.
        routes: List<Prefix> = "none", "[10.20.0.0/24]";
        /// Whether a key is minted for every machine.
        mint: bool = "false", "true";
        /// How long a key can be used.
        key_life: Duration = "unlimited", "1h";
        /// MTU of the overlay's link.
        mtu: Mtu = "1280", "1280";
    }
}
