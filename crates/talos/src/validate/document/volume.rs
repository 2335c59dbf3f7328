//! Volumes.

use super::provisioning::{self, Rules};
use super::{encryption, filesystem, required, selector};
use crate::cel::Environment;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// A partition's label has 36 characters, two of which are a prefix.
const LONGEST_NAME: usize = 34;

/// Volumes of Talos itself.
const SYSTEM: [&str; 3] = ["STATE", "EPHEMERAL", "IMAGECACHE"];

/// System volumes that can have partitions of their own since 1.14.
const SINCE_14: [&str; 4] = ["ETCD", "CRI", "KUBELET", "LOG"];

/// Judges a volume of Talos itself.
pub(crate) fn system(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let name = document.get("name");
    let newer = setting.at_least(14);
    let known: Vec<&str> = SYSTEM.iter().chain(SINCE_14.iter().filter(|_| newer)).copied().collect();
    if !known.contains(&name.text()) {
        issues.error(
            &name,
            format!("Talos has no volume {:?} of its own, but {}", name.text(), known.join(", ")),
        );
        return;
    }
    let provisioning = document.get("provisioning");
    if name.text() == "STATE" {
        state(document, issues);
    }
    if newer {
        mount(document, issues);
    }
    provisioning::validate(&provisioning, Rules::Optional, setting, issues);
    encryption::validate(&document.get("encryption"), setting, issues);
    upkeep(document, issues);
}

fn state(document: &Field<'_>, issues: &mut DocumentIssues) {
    let provisioning = document.get("provisioning");
    if !provisioning.is_empty() {
        issues.error(&provisioning, "the STATE volume cannot be moved: remove this");
    }
    for lock in document.at(["encryption", "keys"]).items().map(|key| key.get("lockToState")) {
        if lock.flag() {
            issues.error(&lock, "the STATE volume cannot be locked to itself");
        }
    }
}

fn mount(document: &Field<'_>, issues: &mut DocumentIssues) {
    let (name, mount, filesystem) = (document.get("name"), document.get("mount"), document.get("filesystem"));
    let own_partition = !document.get("provisioning").is_empty();
    let allowed = match name.text() {
        "STATE" | "IMAGECACHE" => false,
        other => !SINCE_14.contains(&other) || own_partition,
    };
    if !mount.is_empty() && !allowed {
        issues.error(
            &mount,
            format!("the {} volume has mount options of Talos' own: remove this", name.text()),
        );
    }
    if name.text() == "IMAGECACHE" && !filesystem.is_empty() {
        issues.error(&filesystem, "the filesystem of the IMAGECACHE volume is fixed: remove this");
    }
}

/// Judges a volume for workloads.
pub fn user(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    partition_name(document, issues);
    let kind = document.get("volumeType");
    let rules = match kind.text() {
        "" | "partition" => Some(Rules::DiskAndSize),
        "disk" => Some(Rules::WholeDisk),
        "directory" => {
            directory(document, issues);
            None
        }
        other => {
            issues
                .error(&kind, format!("{other:?} is not for user volumes: use partition, disk or directory"));
            None
        }
    };
    if let Some(rules) = rules {
        provisioning::validate(&document.get("provisioning"), rules, setting, issues);
        filesystem::validate(&document.get("filesystem"), setting, issues);
        encryption::validate(&document.get("encryption"), setting, issues);
    }
    upkeep(document, issues);
}

fn directory(document: &Field<'_>, issues: &mut DocumentIssues) {
    let encryption = Some(document.get("encryption")).filter(encryption::is_on);
    let rest = ["provisioning", "filesystem", "mount"].map(|key| document.get(key));
    for field in encryption.into_iter().chain(rest.into_iter().filter(|field| !field.is_empty())) {
        issues.error(&field, "a directory has no disk of its own: remove this");
    }
}

/// Judges a volume without a filesystem, or for swap.
pub(crate) fn raw(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    partition_name(document, issues);
    provisioning::validate(&document.get("provisioning"), Rules::DiskAndSize, setting, issues);
    encryption::validate(&document.get("encryption"), setting, issues);
}

/// Validates an existing volume.
pub(crate) fn existing(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    name(document, usize::MAX, "-", issues);
    selector(&document.at(["discovery", "volumeSelector", "match"]), Environment::Volume, setting, issues);
    upkeep(document, issues);
}

/// Judges a volume from outside the machine.
pub fn external(document: &Field<'_>, issues: &mut DocumentIssues) {
    partition_name(document, issues);
    let kind = document.get("filesystemType");
    if kind.text() == "virtiofs" {
        required(&document.at(["mount", "virtiofs", "tag"]), issues);
    } else {
        issues.error(&kind, "the only filesystem from outside is virtiofs");
    }
}

fn upkeep(document: &Field<'_>, issues: &mut DocumentIssues) {
    filesystem::trim(&document.get("trim"), issues);
    filesystem::scrub(&document.get("scrub"), issues);
}

fn partition_name(document: &Field<'_>, issues: &mut DocumentIssues) {
    name(document, LONGEST_NAME, "-", issues);
}

/// Judges a name of letters, digits and `signs`.
pub fn name(document: &Field<'_>, longest: usize, signs: &str, issues: &mut DocumentIssues) {
    let name = document.get("name");
    if !required(&name, issues) {
        return;
    }
    if name.text().len() > longest {
        issues.error(&name, format!("the name is longer than {longest} characters"));
    }
    if name.text().contains(|c: char| !c.is_ascii_alphanumeric() && !signs.contains(c)) {
        let message = format!("{:?} has other characters than letters, digits and {signs:?}", name.text());
        issues.error(&name, message);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_by};

    #[test]
    fn talos_volumes_have_known_names_and_limits() {
        check(
            "VolumeConfig",
            &[
                ("name: EPHEMERAL\nprovisioning: {maxSize: 10GB}\nmount: {secure: false}", &[]),
                ("name: LOG\nprovisioning: {maxSize: 10GB}\nmount: {secure: false}", &[]),
                ("name: LOG\nmount: {secure: false}", &["!mount"]),
                ("name: DATA\nprovisioning: {minSize: '-1'}", &["!name"]),
                (
                    "name: IMAGECACHE\nmount: {secure: true}\nfilesystem: {xfs: {}}",
                    &["!mount", "!filesystem"],
                ),
                (
                    "name: EPHEMERAL\nprovisioning: {diskSelector: {match: a}}",
                    &["!provisioning.diskSelector.match"],
                ),
                (
                    "name: STATE\nprovisioning: {minSize: 1GB}\nmount: {secure: true}\n\
                 encryption: {provider: luks2, keys: [{nodeID: {}, lockToState: true}]}",
                    &["!provisioning", "!encryption.keys[0].lockToState", "!mount"],
                ),
            ],
        );
        check_by(
            "v1.13.9",
            "VolumeConfig",
            &[("name: LOG", &["!name"]), ("name: STATE\nmount: {secure: true}", &[])],
        );
        check_by(
            "v1.11.5",
            "VolumeConfig",
            &[("name: IMAGECACHE\nprovisioning: {minSize: 2GB, maxSize: 1GB}", &["!provisioning.minSize"])],
        );
    }

    #[test]
    fn a_user_volume_is_a_partition_a_disk_or_a_directory() {
        let disk = "diskSelector: {match: 'true'}";
        let long = format!("name: {}\nvolumeType: directory", "a".repeat(35));
        check(
            "UserVolumeConfig",
            &[
                (&format!("name: a-B9\nprovisioning: {{{disk}, maxSize: 1GB}}"), &[]),
                (&format!("name: a\nvolumeType: disk\nprovisioning: {{{disk}}}"), &[]),
                (
                    &format!("name: a\nvolumeType: disk\nprovisioning: {{{disk}, grow: false}}"),
                    &["!provisioning.grow"],
                ),
                ("name: a\nvolumeType: directory\nencryption: {cipher: x}", &[]),
                (
                    "name: a\nvolumeType: directory\nencryption: {provider: luks2}\nprovisioning: {grow: true}\n\
                 filesystem: {type: xfs}\nmount: {secure: true}",
                    &["!encryption", "!provisioning", "!filesystem", "!mount"],
                ),
                ("name: a_b\nvolumeType: tmpfs", &["!name", "!volumeType"]),
                ("volumeType: directory", &["!name"]),
                (&long, &["!name"]),
            ],
        );
    }

    #[test]
    fn existing_and_external_volumes_are_checked() {
        check(
            "ExistingVolumeConfig",
            &[
                ("name: a\ndiscovery: {volumeSelector: {match: 'volume.name == \"xfs\"'}}", &[]),
                ("name: a.b", &["!name", "!discovery.volumeSelector.match"]),
                (
                    "name: a\ndiscovery: {volumeSelector: {match: system_disk}}",
                    &["!discovery.volumeSelector.match"],
                ),
            ],
        );
        check(
            "ExternalVolumeConfig",
            &[
                ("name: a\nfilesystemType: virtiofs\nmount: {virtiofs: {tag: x}}", &[]),
                ("name: a\nfilesystemType: virtiofs", &["!mount.virtiofs.tag"]),
                ("filesystemType: xfs", &["!name", "!filesystemType"]),
            ],
        );
        check(
            "SwapVolumeConfig",
            &[("provisioning: {minSize: 1GB}", &["!name", "!provisioning.diskSelector.match"])],
        );
    }
}
