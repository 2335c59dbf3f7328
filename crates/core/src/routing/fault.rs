//! Known bugs of routing software releases.

use ichor_bgp::setting::Software;
use ichor_values::SoftwareVersion;

/// Whether this FRR release does not start BGP while BFD is down: 10.2.0 to 10.2.2 and 10.3.0.
pub(crate) fn waits_for_bfd(version: &SoftwareVersion) -> bool {
    match version.minor() {
        (10, 2) => version.patch().unwrap_or(0) <= 2,
        (10, 3) => version.patch().unwrap_or(0) == 0,
        _ => false,
    }
}

/// Whether a router runs such a release.
pub(crate) fn router_waits_for_bfd(software: Software, version: Option<&SoftwareVersion>) -> bool {
    software == Software::Frr && version.is_some_and(waits_for_bfd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_four_releases_of_frr_wait_for_bfd() {
        let waits = |text| waits_for_bfd(&SoftwareVersion::parse(text).unwrap());

        assert!(["10.2", "10.2.0", "10.2.1", "10.2.2", "10.3", "10.3.0"].into_iter().all(waits));
        assert!(!["8.4.4", "10", "10.1", "10.2.3", "10.3.1", "10.7.1"].into_iter().any(waits));
    }
}
