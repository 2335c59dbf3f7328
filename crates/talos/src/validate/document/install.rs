//! Installation without anybody watching.

use super::selector;
use crate::cel::Environment;
use crate::validate::field::Field;
use crate::validate::{Flaws, Setting};

/// Judges it.
pub fn validate(document: &Field<'_>, setting: Setting<'_>, flaws: &mut Flaws) {
    let image = document.at(["installer", "image"]);
    if image.is_empty() {
        flaws.warning(
            &image,
            "without an image, only machines booted from Image Factory's media can be installed",
        );
    }
    selector(&document.at(["provisioning", "diskSelector", "match"]), Environment::Disk, setting, flaws);
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_disk_is_chosen() {
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
