//! The provisioning of a volume: disk and size.

use super::{expression, required};
use crate::cel::Environment;
use crate::go::humanize;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// Which provisioning settings a volume requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// None: Talos has defaults.
    Optional,
    /// A disk and a size.
    DiskAndSize,
    /// A disk, all of which is taken.
    WholeDisk,
}

/// Judges it.
pub(crate) fn validate(
    provisioning: &Field<'_>,
    rules: Rules,
    setting: Setting<'_>,
    issues: &mut DocumentIssues,
) {
    let disk = provisioning.at(["diskSelector", "match"]);
    if rules != Rules::Optional {
        required(&disk, issues);
    }
    expression(&disk, Environment::Disk, setting, issues);
    let (min, max) = (provisioning.get("minSize"), provisioning.get("maxSize"));
    if rules == Rules::WholeDisk {
        for field in [min, max, provisioning.get("grow")] {
            if field.is_set() && (field.value().is_some_and(|value| !value.is_string()) || !field.is_empty())
            {
                issues.error(&field, "a volume of type disk takes all of it: leave the size out");
            }
        }
        return;
    }
    if rules == Rules::DiskAndSize && is_zero(&min) && is_zero(&max) {
        issues.error(&min, "the size is missing: set minSize, maxSize or both");
    }
    if is_negative(&min) {
        issues.error(&min, "the smallest size cannot be negative");
    }
    if let (Some(least), Some(most)) = (bytes(&min), bytes(&max).filter(|_| !is_negative(&max)))
        && least > most
    {
        issues.error(&min, format!("{} is more than the maxSize {}", size_text(&min), size_text(&max)));
    }
}

fn is_zero(size: &Field<'_>) -> bool {
    size_text(size).is_empty()
}

fn is_negative(size: &Field<'_>) -> bool {
    size_text(size).starts_with('-')
}

/// The bytes of a size; none if it is not set or a share of the disk. The sign is ignored.
pub fn bytes(size: &Field<'_>) -> Option<u64> {
    humanize::parse_bytes(size_text(size).trim_start_matches('-'))
}

/// The text of a size: `10GiB`, or a number.
pub(crate) fn size_text(size: &Field<'_>) -> String {
    match size.value() {
        Some(value) if value.is_number() => value.to_string(),
        _ => size.text().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_volume_has_a_disk_and_a_size() {
        let of = |provisioning: &str| format!("name: a\nprovisioning: {provisioning}");
        check(
            "RawVolumeConfig",
            &[
                (&of("{diskSelector: {match: '!system_disk'}, minSize: 10GB, maxSize: 50%}"), &[]),
                (&of("{diskSelector: {match: 'true'}, minSize: 10GB, maxSize: '-1GB'}"), &[]),
                (&of("{diskSelector: {match: 'true'}, maxSize: 1000}"), &[]),
                (
                    &of("{diskSelector: {match: disk.size}, minSize: 1GiB, maxSize: 1GB}"),
                    &["!provisioning.diskSelector.match", "!provisioning.minSize"],
                ),
                (&of("{diskSelector: {match: 'true'}, minSize: '-1GB'}"), &["!provisioning.minSize"]),
                ("name: a", &["!provisioning.diskSelector.match", "!provisioning.minSize"]),
            ],
        );
    }
}
