//! The kernel image of a profile.

use ichor_image::build::BootAssets;
use ichor_image::build::kernel::version;
use ichor_image::build::uki::{ResetProfile, UkiError, uki};
use ichor_image::media::Content;
use ichor_image::media::uki::Uki;

use crate::build::samples::{kernel, parts, profile};

fn sections(offer: ResetProfile, parts: &BootAssets) -> Vec<(String, Vec<u8>)> {
    let image = uki(&profile("metal"), parts, "talos.platform=metal a=b", offer, 0).unwrap();
    let found = Uki::find_in(&image).unwrap().unwrap();
    let added = found.sections()[1..].iter();
    added.map(|section| (section.name.clone(), section.content.read().unwrap())).collect()
}

#[test]
fn sections_come_in_the_order_of_the_imager() {
    let sections = sections(ResetProfile::Maintenance, &parts());

    let names: Vec<&str> = sections.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [".osrel", ".cmdline", ".uname", ".linux", ".initrd", ".profile", ".profile", ".cmdline"];
    assert_eq!(names, expected);
    let text = |nth: usize| str::from_utf8(&sections[nth].1).unwrap();
    assert_eq!(text(1), "talos.platform=metal a=b");
    assert_eq!(text(2), "6.18.5-talos");
    assert_eq!(text(5), "ID=main");
    assert_eq!(text(6), "ID=reset-maintenance\nTITLE=Reset to maintenance mode");
    assert_eq!(text(7), "talos.platform=metal a=b talos.experimental.wipe=system:EPHEMERAL,STATE");
    assert!(
        text(0)
            .starts_with("NAME=\"Talos\"\nID=talos\nVERSION_ID=v1.13.9\nPRETTY_NAME=\"Talos (v1.13.9)\"\n")
    );
    assert_eq!((sections[3].1.len(), sections[4].1.len()), (0x200 * 5, 100_000));
}

#[test]
fn reset_profiles_depend_on_the_medium() {
    let last = |offer| String::from_utf8(sections(offer, &parts()).pop().unwrap().1).unwrap();

    assert_eq!(last(ResetProfile::Start), "ID=main");
    assert_eq!(last(ResetProfile::Reset), "talos.platform=metal a=b talos.experimental.wipe=system");
}

#[test]
fn an_unknown_kernel_version_is_omitted_from_the_image() {
    let plain = BootAssets { kernel: vec![1; 4096].into(), ..parts() };

    assert!(sections(ResetProfile::Start, &plain).iter().all(|(name, _)| name != ".uname"));
}

#[test]
fn kernel_versions_are_read_or_missing() {
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = kernel("6.1.0");
        change(&mut bytes);
        version(&bytes.into())
    };

    assert_eq!(with(&|_| ()).as_deref(), Some("6.1.0"));
    assert_eq!(with(&|bytes| bytes.truncate(0x503)).as_deref(), Some("6.1"));
    assert_eq!(with(&|bytes| bytes[0x1f1] = 1), None);
    assert_eq!(with(&|bytes| bytes[0x20f] = 0), None);
    assert_eq!(with(&|bytes| bytes[0x500] = 0xff), None);
    assert_eq!(with(&|bytes| bytes.truncate(0x208)), None);
    assert_eq!(version(&Content::default()), None);
}

#[test]
fn a_kernel_image_without_a_stub_is_rejected() {
    let error = uki(&profile("metal"), &BootAssets { stub: None, ..parts() }, "", ResetProfile::Start, 0)
        .unwrap_err();

    assert!(matches!(error, UkiError::NoStub) && error.to_string().contains("systemd-stub"), "{error}");
}
