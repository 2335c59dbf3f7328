//! Routing backends.

use crate::choice;

/// The file of an extension's container that names its daemon and release: `frr 10.5.1`. It is missing where no package of the
/// input says so; then the agent asks the program.
pub const DAEMON_RELEASE: &str = "/etc/ichor/release";

choice! {
    /// Who speaks BGP on the node.
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
