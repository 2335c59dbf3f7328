//! Talos releases: the Kubernetes they bring and the Kubernetes they accept.
//!
//! Not here: the effect of a release on a configuration ([`generate`](super::generate), [`types`](super::types)).

use ichor_values::{KubernetesVersion, TalosVersion};

/// Talos' minor releases ichor writes for, with the Kubernetes minor releases each accepts.
const RELEASES: [(u16, u16, u16); 4] = [(11, 29, 34), (12, 30, 35), (13, 31, 36), (14, 32, 37)];

/// Kubernetes by Talos release: from this patch release on, this version.
const DEFAULT_KUBERNETES: [(u16, u16, &str); 10] = [
    (11, 0, "1.34.0"),
    (11, 2, "1.34.1"),
    (12, 0, "1.35.0"),
    (12, 5, "1.35.2"),
    (12, 7, "1.35.4"),
    (13, 0, "1.36.0"),
    (13, 3, "1.36.1"),
    (13, 5, "1.36.2"),
    (13, 9, "1.36.3"),
    (14, 0, "1.37.0"),
];

/// Kubernetes of the pre-releases of a minor release.
const PRE_RELEASE_KUBERNETES: (u16, &str) = (14, "1.37.0-rc.0");

/// Whether ichor writes configurations for this release.
pub fn is_known(talos: &TalosVersion) -> bool {
    RELEASES.iter().any(|(minor, ..)| talos.minor() == (1, *minor))
}

/// Whether the release is at least 1.`minor`; pre-releases of it count.
pub fn at_least(talos: &TalosVersion, minor: u16) -> bool {
    talos.minor() >= (1, minor)
}

/// The Kubernetes version that a Talos release installs by default.
pub fn default_kubernetes(talos: &TalosVersion) -> Option<KubernetesVersion> {
    let patch = talos.patch().unwrap_or(u16::MAX);
    let (minor, pre_release) = PRE_RELEASE_KUBERNETES;
    let version = if talos.minor() == (1, minor) && patch == 0 && talos.is_pre_release() {
        pre_release
    } else {
        let mut defaults = DEFAULT_KUBERNETES.iter();
        defaults.rfind(|(minor, from, _)| talos.minor() == (1, *minor) && patch >= *from)?.2
    };
    Some(KubernetesVersion::parse(version).expect("a version"))
}

/// The oldest and newest Kubernetes minor release that a Talos release accepts.
pub fn kubernetes_window(talos: &TalosVersion) -> Option<(u16, u16)> {
    let (_, oldest, newest) = RELEASES.iter().find(|(minor, ..)| talos.minor() == (1, *minor))?;
    Some((*oldest, *newest))
}

/// Whether a Talos release accepts a Kubernetes release; pre-releases count as the release they lead to.
pub fn accepts_kubernetes(talos: &TalosVersion, kubernetes: &KubernetesVersion) -> Option<bool> {
    let (oldest, newest) = kubernetes_window(talos)?;
    Some(((1, oldest)..=(1, newest)).contains(&kubernetes.minor()))
}

/// The oldest and newest minor release ichor writes configurations for.
pub fn known_releases() -> (u16, u16) {
    (RELEASES[0].0, RELEASES[RELEASES.len() - 1].0)
}

/// The oldest minor release that a Talos release installs over.
pub fn upgrade_from(talos: &TalosVersion) -> Option<u16> {
    // talos:pkg/machinery/compatibility/talos1NN: 1.11 from 1.9, and so on until 1.14 from 1.12.
    is_known(talos).then(|| talos.minor().1 - 2)
}

/// Whether `one` is newer than `other`; a release without a patch number represents all of its minor.
pub fn is_newer(one: &TalosVersion, other: &TalosVersion) -> bool {
    if one.patch().is_none() || other.patch().is_none() {
        return one.minor() > other.minor();
    }
    one > other
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talos(text: &str) -> TalosVersion {
        TalosVersion::parse(text).unwrap()
    }

    #[test]
    fn a_release_without_patch_number_is_not_older_than_its_patches() {
        assert!(is_newer(&talos("1.13.9"), &talos("1.13.8")));
        assert!(is_newer(&talos("1.14.0"), &talos("1.14.0-rc.1")));
        assert!(!is_newer(&talos("1.13.9"), &talos("1.13")));
        assert!(is_newer(&talos("1.14"), &talos("1.13.9")));
    }

    #[test]
    fn a_release_installs_the_kubernetes_that_it_was_made_with() {
        let default = |text| default_kubernetes(&talos(text)).map(|version| version.to_string());

        for (release, kubernetes) in [
            ("v1.11.6", "v1.34.1"),
            ("v1.12.11", "v1.35.4"),
            ("v1.13.9", "v1.36.3"),
            ("v1.14.0-rc.1", "v1.37.0-rc.0"),
            ("v1.14.0", "v1.37.0"),
            ("v1.14.1", "v1.37.0"),
            ("1.14", "v1.37.0"),
        ] {
            assert_eq!(default(release).as_deref(), Some(kubernetes), "{release}");
        }
        assert_eq!(default("v1.15.0"), None);
    }

    #[test]
    fn a_release_installs_over_the_two_before_it() {
        assert_eq!(upgrade_from(&talos("v1.12.4")), Some(10));
        assert_eq!(upgrade_from(&talos("v1.14.0-rc.1")), Some(12));
        assert_eq!(upgrade_from(&talos("v1.99.0")), None);
    }
}
