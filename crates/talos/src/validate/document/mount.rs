//! Mounts of the machine's paths in containers.

use std::collections::BTreeSet;

use super::required;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

const OPTIONS: [&str; 8] = ["ro", "rw", "noexec", "nosuid", "nodev", "noatime", "rbind", "rshared"];

/// Judges the mounts of a container.
pub(crate) fn validate(mounts: &Field<'_>, issues: &mut DocumentIssues) {
    let mut destinations = BTreeSet::new();
    for mount in mounts.items() {
        let kinds = ["userVolume", "tmpfs", "hostPath"].map(|kind| mount.get(kind));
        let mut set = kinds.iter().filter(|kind| kind.is_set());
        let (Some(source), None) = (set.next(), set.next()) else {
            issues.error(&mount, "a mount is one of userVolume, tmpfs and hostPath");
            continue;
        };
        if kinds[0].is_set() {
            required(&source.get("name"), issues);
        }
        if kinds[2].is_set() {
            absolute(&source.get("source"), issues);
        }
        let destination = source.get("destination");
        absolute(&destination, issues);
        options(&source.get("options"), issues);
        if !destination.is_empty() && !destinations.insert(destination.text()) {
            issues.error(&destination, format!("something is mounted at {:?} already", destination.text()));
        }
    }
}

fn options(options: &Field<'_>, issues: &mut DocumentIssues) {
    for option in options.items().filter(|option| !OPTIONS.contains(&option.text())) {
        issues
            .error(&option, format!("{:?} is not a mount option: use {}", option.text(), OPTIONS.join(", ")));
    }
    let has = |word: &str| options.items().any(|option| option.text() == word);
    if has("ro") && has("rw") {
        issues.error(options, "a mount is either ro or rw");
    }
}

/// Judges a path that has to begin with a slash.
pub(crate) fn absolute(path: &Field<'_>, issues: &mut DocumentIssues) {
    if required(path, issues) && !path.text().starts_with('/') {
        issues.error(path, format!("{:?} has to begin with a slash", path.text()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_mount_has_one_source_and_a_place() {
        let of = |mounts: &str| format!("name: a\nimage: x/y@sha256:{}\nmounts: {mounts}", "0".repeat(64));
        check(
            "ContainerConfig",
            &[
                (
                    &of(
                        "[{userVolume: {name: a, destination: /a, options: [rw]}}, {tmpfs: {destination: /b}}]",
                    ),
                    &[],
                ),
                (
                    &of("[{}, {tmpfs: {destination: /b}, hostPath: {source: /a, destination: /c}}]"),
                    &["!mounts[0]", "!mounts[1]"],
                ),
                (
                    &of("[{userVolume: {}}, {hostPath: {source: a, destination: b, options: [x, ro, rw]}}]"),
                    &[
                        "!mounts[0].userVolume.name",
                        "!mounts[0].userVolume.destination",
                        "!mounts[1].hostPath.source",
                        "!mounts[1].hostPath.destination",
                        "!mounts[1].hostPath.options[0]",
                        "!mounts[1].hostPath.options",
                    ],
                ),
                (
                    &of("[{tmpfs: {destination: /a}}, {tmpfs: {destination: /a}}]"),
                    &["!mounts[1].tmpfs.destination"],
                ),
            ],
        );
    }
}
