//! Filesystems of volumes, and their upkeep.

use super::{SECOND, nanoseconds, not_negative};
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// Judges the filesystem of a user volume.
pub(crate) fn validate(filesystem: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let kind = filesystem.get("type");
    let is_xfs = ["", "none", "xfs"].contains(&kind.text());
    if !(is_xfs || kind.text() == "ext4" || kind.text() == "btrfs" && setting.at_least(14)) {
        issues.error(&kind, format!("{:?} is not for user volumes: use {}", kind.text(), names(setting)));
        return;
    }
    let quota = filesystem.get("projectQuotaSupport");
    if quota.flag() && !is_xfs {
        issues.error(&quota, "only xfs has project quotas");
    }
    let options = filesystem.get("xfs");
    if options.is_set() && !is_xfs {
        issues.error(&options, format!("these are options of xfs, and the filesystem is {}", kind.text()));
    }
}

fn names(setting: Setting<'_>) -> &'static str {
    if setting.at_least(14) { "xfs, ext4 or btrfs" } else { "xfs or ext4" }
}

/// Judges when the unused blocks are given back.
pub(crate) fn trim(trim: &Field<'_>, issues: &mut DocumentIssues) {
    not_negative(&trim.get("interval"), issues);
}

/// Judges when a filesystem is checked.
pub(crate) fn scrub(scrub: &Field<'_>, issues: &mut DocumentIssues) {
    let interval = scrub.get("interval");
    if nanoseconds(&interval) != 0 && nanoseconds(&interval) < 10 * SECOND {
        issues.error(&interval, format!("{} is too short: want at least 10s", interval.text()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_by};

    const VOLUME: &str = "name: a\nprovisioning: {diskSelector: {match: 'true'}, minSize: 1GB}\n";

    #[test]
    fn a_filesystem_is_one_for_volumes() {
        let with = |filesystem: &str| format!("{VOLUME}filesystem: {filesystem}");
        check(
            "UserVolumeConfig",
            &[
                (&with("{type: ext4}"), &[]),
                (&with("{type: btrfs}"), &[]),
                (&with("{projectQuotaSupport: true, xfs: {}}"), &[]),
                (&with("{type: vfat}"), &["!filesystem.type"]),
                (
                    &with("{type: ext4, projectQuotaSupport: true, xfs: {}}"),
                    &["!filesystem.projectQuotaSupport", "!filesystem.xfs"],
                ),
            ],
        );
        check_by("v1.13.9", "UserVolumeConfig", &[(&with("{type: btrfs}"), &["!filesystem.type"])]);
    }

    #[test]
    fn upkeep_has_a_sane_interval() {
        check("FilesystemTrimConfig", &[("interval: 1h", &[]), ("interval: -1s", &["!interval"])]);
        check(
            "FilesystemScrubConfig",
            &[("interval: 10s", &[]), ("interval: 0s", &[]), ("interval: 9s", &["!interval"])],
        );
        let upkeep = format!("{VOLUME}trim: {{interval: -1s}}\nscrub: {{interval: 1s}}");
        check("UserVolumeConfig", &[(&upkeep, &["!trim.interval", "!scrub.interval"])]);
    }
}
