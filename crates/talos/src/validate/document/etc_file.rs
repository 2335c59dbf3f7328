//! Files in `/etc`.

use super::required;
use crate::go::path;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Files that Talos writes itself.
const OWN_FILES: [&str; 7] =
    ["resolv.conf", "hosts", "machine-id", "extensions.yaml", "localtime", "os-release", "xattr.conf"];

/// Folders that Talos fills itself.
const OWN_FOLDERS: [&str; 12] = [
    "apparmor.d",
    "apparmor",
    "ca-certificates",
    "cni",
    "cri",
    "iscsi",
    "kubernetes",
    "lvm",
    "nvme",
    "pki",
    "selinux",
    "ssl",
];

/// Judges one.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    let name = document.get("name");
    if !required(&name, issues) {
        return;
    }
    let path = name.text();
    if !path::is_local(path) || path.starts_with('.') {
        issues.error(&name, format!("{path:?} has to be a path below /etc, such as foo/bar.conf"));
    } else if is_own(path) {
        issues.error(&name, format!("Talos writes /etc/{path} itself"));
    }
}

fn is_own(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    OWN_FILES.contains(&path) || OWN_FOLDERS.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_file_is_below_etc_and_not_talos_own() {
        check(
            "EtcFileConfig",
            &[
                ("name: foo/bar.conf", &[]),
                ("name: hosts/x", &[]),
                ("name: cnifoo", &[]),
                ("name: hosts", &["!name"]),
                ("name: cni", &["!name"]),
                ("name: cri/conf.d/x", &["!name"]),
                ("name: /foo", &["!name"]),
                ("name: ../foo", &["!name"]),
                ("name: .foo", &["!name"]),
                ("mode: 420", &["!name"]),
            ],
        );
    }
}
