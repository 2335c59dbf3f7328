//! Talos releases: the Kubernetes they bring and the Kubernetes they accept.

use crate::cluster::value::{KubernetesVersion, TalosVersion};

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
    (14, 0, "1.37.0-rc.0"),
];

/// Whether ichor writes configurations for this release.
pub fn is_known(talos: &TalosVersion) -> bool {
    RELEASES.iter().any(|(minor, ..)| talos.minor() == (1, *minor))
}

/// Whether the release is at least 1.`minor`; pre-releases of it count.
pub fn at_least(talos: &TalosVersion, minor: u16) -> bool {
    talos.minor() >= (1, minor)
}

/// The Kubernetes a Talos release installs when nobody says otherwise.
pub fn default_kubernetes(talos: &TalosVersion) -> Option<KubernetesVersion> {
    let patch = talos.patch().unwrap_or(u16::MAX);
    let (_, _, version) =
        DEFAULT_KUBERNETES.iter().rfind(|(minor, from, _)| talos.minor() == (1, *minor) && patch >= *from)?;
    Some(KubernetesVersion::parse(version).expect("a version"))
}

/// The oldest and newest Kubernetes minor release that a Talos release accepts.
pub fn kubernetes_window(talos: &TalosVersion) -> Option<(u16, u16)> {
    let (_, oldest, newest) = RELEASES.iter().find(|(minor, ..)| talos.minor() == (1, *minor))?;
    Some((*oldest, *newest))
}
