//! Whether the Kubernetes that a release brings was read from that release, or is a guess from those before it.

use ichor_values::TalosVersion;

use crate::catalogue;
use crate::release;

/// The only pre-release that was read.
const PRE_RELEASE_READ: &str = "v1.14.0-rc.1";

/// Whether [`default_kubernetes`](release::default_kubernetes) is known from the release itself. Without a patch number, it
/// refers to the newest patch in the [`catalogue`].
pub fn is_default_kubernetes_sure(talos: &TalosVersion) -> bool {
    if talos.is_pre_release() {
        return talos.to_string() == PRE_RELEASE_READ;
    }
    release::is_known(talos) && catalogue::covers(talos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unread_default_is_a_guess() {
        let sure = |text| is_default_kubernetes_sure(&TalosVersion::parse(text).unwrap());

        for read in ["v1.11.6", "v1.12.0", "v1.12.11", "v1.13.9", "1.13", "v1.14.0-rc.1", "v1.14.1", "1.14"] {
            assert!(sure(read), "{read}");
        }
        for guess in ["v1.11.7", "v1.13.10", "v1.14.2", "v1.14.0-beta.0", "v1.13.0-rc.0", "v1.15.0"] {
            assert!(!sure(guess), "{guess}");
        }
    }
}
