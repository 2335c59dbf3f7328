//! The kubelet's configuration, in the old form and in a document of its own.

use super::DocumentIssues;
use super::field::Field;

/// Fields that Talos sets itself.
const PROTECTED: [&str; 13] = [
    "apiVersion",
    "authentication",
    "authorization",
    "cgroupRoot",
    "kind",
    "kubeletCgroups",
    "port",
    "protectKernelDefaults",
    "resolvConf",
    "rotateCertificates",
    "systemCgroups",
    "staticPodPath",
    "seccompDefault",
];

/// Validates the settings beside Talos' own.
pub fn judge(config: &Field<'_>, issues: &mut DocumentIssues) {
    for (_, field) in config.entries().filter(|(key, _)| PROTECTED.contains(key)) {
        issues.error(&field, "Talos sets this itself: remove it");
    }
}
