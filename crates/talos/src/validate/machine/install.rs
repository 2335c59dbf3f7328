//! The installer image, the disk and their settings.

use std::collections::BTreeSet;

use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Mode, Setting};

/// Judges `machine.install`.
pub(crate) fn validate(install: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    if setting.mode == Mode::Metal && install.is_set() {
        on_metal(install, setting, issues);
    } else if setting.mode == Mode::Metal && !setting.at_least(14) {
        issues
            .error(install, "a metal machine needs a disk to install Talos on: set `disk` or `diskSelector`");
    }
    extensions(&install.get("extensions"), issues);
}

fn on_metal(install: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let selector = install.get("diskSelector");
    if install.get("disk").is_empty() && !selector.is_set() {
        issues.error(install, "the install disk is not given: set `disk` or `diskSelector`");
    }
    if !selector.get("name").is_empty() {
        issues.error(
            &selector.get("name"),
            "disks are not selected by name: set `install.disk`, or use another key",
        );
    }
    let kind = selector.get("type");
    if !["", "nvme", "sd", "hdd", "ssd"].contains(&kind.text()) {
        issues.error(&kind, format!("{:?} is not a disk type: use ssd, hdd, nvme or sd", kind.text()));
    }
    let args = install.get("extraKernelArgs");
    if setting.at_least(12) && !args.is_empty() && install.get("grubUseUKICmdline").flag() {
        issues.error(
            &args,
            "with `grubUseUKICmdline` the kernel arguments come from the image: remove one of the two",
        );
    }
}

fn extensions(extensions: &Field<'_>, issues: &mut DocumentIssues) {
    let mut seen = BTreeSet::new();
    for image in extensions.items().map(|extension| extension.get("image")) {
        if !seen.insert(image.text()) {
            issues.error(&image, format!("the extension {:?} is listed twice", image.text()));
        }
    }
    if !seen.is_empty() {
        issues.warning(
            extensions,
            "extensions are no longer installed this way: put them into the schematic of the image",
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn a_metal_machine_needs_an_install_disk_until_1_14() {
        let none = [("machine.install", json!(null))];

        assert_eq!(control_plane("1.13", &none), ["error machine.install"]);
        assert!(control_plane("1.14", &none).is_empty());
        assert_eq!(control_plane("1.14", &[("machine.install", json!({}))]), ["error machine.install"]);
        assert!(control_plane("1.14", &[("machine.install", json!({"diskSelector": {}}))]).is_empty());
    }

    #[test]
    fn empty_disk_selectors_are_rejected() {
        let selector = json!({"name": "sda", "type": "tape"});

        let want = ["error machine.install.diskSelector.name", "error machine.install.diskSelector.type"];
        assert_eq!(control_plane("1.12", &[("machine.install.diskSelector", selector)]), want);
    }

    #[test]
    fn kernel_arguments_have_one_source() {
        let parts = [
            ("machine.install.extraKernelArgs", json!(["a=b"])),
            ("machine.install.grubUseUKICmdline", json!(true)),
        ];

        assert_eq!(control_plane("1.12", &parts), ["error machine.install.extraKernelArgs"]);
        assert!(control_plane("1.12", &parts[..1]).is_empty());
    }

    #[test]
    fn install_extensions_are_deprecated() {
        let twice = json!([{"image": "a"}, {"image": "b"}, {"image": "a"}]);

        let want = ["error machine.install.extensions[2].image", "warning machine.install.extensions"];
        assert_eq!(control_plane("1.12", &[("machine.install.extensions", twice)]), want);
    }
}
