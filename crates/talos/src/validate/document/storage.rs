//! Disks put together: LVM and RAID.

use super::{provisioning, required, selector, volume};
use crate::cel::Environment;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

const LONGEST_LVM_NAME: usize = 63;
const LONGEST_RAID_NAME: usize = 32;

/// Judges a volume group.
pub(crate) fn volume_group(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    volume::name(document, LONGEST_LVM_NAME, "-_", issues);
    members(document, setting, issues);
}

/// Judges a RAID array.
pub(crate) fn raid(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    volume::name(document, LONGEST_RAID_NAME, "-_", issues);
    members(document, setting, issues);
}

fn members(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    selector(&document.at(["provisioning", "volumeSelector", "match"]), Environment::Volume, setting, issues);
}

/// Judges a logical volume.
pub(crate) fn logical_volume(document: &Field<'_>, issues: &mut DocumentIssues) {
    volume::name(document, LONGEST_LVM_NAME, "-_", issues);
    count(&document.get("mirrors"), document, ["raid1", "raid10"], 1, issues);
    count(&document.get("stripes"), document, ["raid0", "raid10"], 2, issues);
    let provisioning = document.get("provisioning");
    required(&provisioning.get("volumeGroup"), issues);
    let (min, max) = (provisioning.get("minSize"), provisioning.get("maxSize"));
    if provisioning::size_text(&max).is_empty() {
        issues.error(&max, "this has to be set");
    }
    if provisioning::size_text(&max).starts_with('-') {
        issues.error(&max, "the size cannot be negative");
    }
    let most =
        if max.text().ends_with('%') { None } else { Some(provisioning::bytes(&max).unwrap_or_default()) };
    if let (Some(least), Some(most)) = (provisioning::bytes(&min), most)
        && least > most
    {
        issues.error(&min, "this is more than maxSize");
    }
}

fn count(field: &Field<'_>, document: &Field<'_>, kinds: [&str; 2], least: i64, issues: &mut DocumentIssues) {
    if !field.is_set() {
        return;
    }
    if !kinds.contains(&document.get("type").text()) {
        issues.error(field, format!("this counts only with the types {}", kinds.join(" and ")));
    } else if field.number() < least {
        issues.error(field, format!("want at least {least}"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn groups_and_arrays_have_members() {
        for kind in ["LVMVolumeGroupConfig", "RAIDArrayConfig"] {
            check(
                kind,
                &[
                    ("name: a_b\nprovisioning: {volumeSelector: {match: 'disk.transport == \"nvme\"'}}", &[]),
                    ("name: a.b", &["!name", "!provisioning.volumeSelector.match"]),
                    (
                        "provisioning: {volumeSelector: {match: system_disk}}",
                        &["!name", "!provisioning.volumeSelector.match"],
                    ),
                ],
            );
        }
        let long = format!("name: {}\nprovisioning: {{volumeSelector: {{match: 'true'}}}}", "a".repeat(33));
        check("RAIDArrayConfig", &[(&long, &["!name"])]);
        check("LVMVolumeGroupConfig", &[(&long, &[])]);
    }

    #[test]
    fn a_logical_volume_has_a_group_and_a_size() {
        let of = |rest: &str| format!("name: a\nprovisioning: {{volumeGroup: g, maxSize: 1GB}}\n{rest}");
        check(
            "LVMLogicalVolumeConfig",
            &[
                (&of("type: raid10\nmirrors: 1\nstripes: 2"), &[]),
                (&of("type: linear\nmirrors: 1\nstripes: 2"), &["!mirrors", "!stripes"]),
                (&of("type: raid10\nmirrors: 0\nstripes: 1"), &["!mirrors", "!stripes"]),
                (&of("type: raid1\nmirrors: 1\nstripes: 2"), &["!stripes"]),
                ("name: a\nprovisioning: {volumeGroup: g, minSize: 1GB, maxSize: 50%}", &[]),
                (
                    "name: a\nprovisioning: {volumeGroup: g, minSize: 2GB, maxSize: 1GB}",
                    &["!provisioning.minSize"],
                ),
                ("name: a\nprovisioning: {volumeGroup: g, maxSize: '-1GB'}", &["!provisioning.maxSize"]),
                ("type: linear", &["!name", "!provisioning.volumeGroup", "!provisioning.maxSize"]),
            ],
        );
    }
}
