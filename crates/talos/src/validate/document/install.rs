//! Unattended installation.

use super::selector;
use crate::cel::Environment;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// Judges it.
pub(crate) fn validate(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let image = document.at(["installer", "image"]);
    if image.is_empty() {
        issues.warning(
            &image,
            "without an image, only machines booted from Image Factory's media can be installed",
        );
    }
    selector(&document.at(["provisioning", "diskSelector", "match"]), Environment::Disk, setting, issues);
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn an_unattended_install_selects_a_disk() {
        check(
            "UnattendedInstallConfig",
            &[
                ("installer: {image: a}\nprovisioning: {diskSelector: {match: '!disk.rotational'}}", &[]),
                (
                    "provisioning: {diskSelector: {match: disk}}",
                    &["?installer.image", "!provisioning.diskSelector.match"],
                ),
                ("installer: {image: a}", &["!provisioning.diskSelector.match"]),
            ],
        );
    }
}
