//! Routing backends.

use crate::choice;

/// The file in an extension's container with its daemon and release: `frr 10.5.1`. It is missing if no package of the
/// input has them; then the agent runs the program to detect the release.
pub const DAEMON_RELEASE: &str = "/etc/ichor/release";

choice! {
    /// The BGP implementation on the node.
    Backend "backend" {
        /// Talos itself, from 1.14.
        Native = "native",
        /// FRRouting.
        Frr = "frr",
        /// BIRD 2.
        Bird = "bird",
        /// GoBGP.
        Gobgp = "gobgp",
    }
}
