//! What a lab can be built of: the daemons that are installed, and what the kernel has.

use serde::{Deserialize, Serialize};

use crate::cluster::section::Backend;
use crate::cluster::value::SoftwareVersion;

/// The machine on which a lab runs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Here {
    /// FRR, if it is installed.
    pub frr: Option<SoftwareVersion>,
    /// BIRD, if it is installed.
    pub bird: Option<SoftwareVersion>,
    /// GoBGP, if it is installed.
    pub gobgp: Option<SoftwareVersion>,
    /// Whether the kernel has VRFs.
    pub vrf: bool,
    /// Whether the kernel has links that lead nowhere. A cable whose other end is put away does the same.
    pub dummy: bool,
}

impl Here {
    /// The release of a node's daemon. Talos' own BGP is GoBGP.
    pub fn release(&self, backend: Backend) -> Option<&SoftwareVersion> {
        match backend {
            Backend::Frr => self.frr.as_ref(),
            Backend::Bird => self.bird.as_ref(),
            Backend::Gobgp | Backend::Native => self.gobgp.as_ref(),
        }
    }
}
