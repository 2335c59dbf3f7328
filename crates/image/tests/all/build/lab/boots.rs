//! Machines that boot from disk images of ours.

use std::fs::{self, File};

use ichor_image::build::disk::disk;
use ichor_image::build::uki::{ResetProfile, uki};
use ichor_image::build::{BootAssets, Profile};
use ichor_image::media::uki::Uki;
use ichor_image::media::{Content, qcow2};
use ichor_talos::kernel_args::Line;

use crate::build::samples;
use ichor_testbed::firmware::{BootDrive, Firmware, boot, parts};

fn profile() -> Profile {
    let mut line = Line::default();
    for argument in ["console=ttyS0", "quiet", "panic=-1", "no_timer_check", "ichor.test=\"a b\""] {
        line.add(argument);
    }
    Profile { line, ..samples::profile("nocloud") }
}

#[test]
fn uefi_boots_a_disk_with_the_first_of_its_profiles() {
    let (profile, parts) = (profile(), parts());
    let image = uki(&profile, &parts, &profile.line.to_string(), ResetProfile::Maintenance, 0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.qcow2");
    let disk = disk(&profile, &parts, &image, None).unwrap();
    qcow2::write(&disk, &mut File::create(&path).unwrap()).unwrap();

    let line = boot(Firmware::Uefi, &path, BootDrive::Disk("qcow2"));

    assert_eq!(line, profile.line.to_string());
}

#[test]
fn uefi_boots_an_image_made_from_the_stub_of_another() {
    let (profile, parts) = (profile(), parts());
    let first = uki(&profile, &parts, "first", ResetProfile::Reset, 0).unwrap();
    let taken = Uki::find_in(&first).unwrap().unwrap();
    let again = BootAssets {
        kernel: taken.first(".linux").unwrap().clone(),
        initramfs: taken.first(".initrd").unwrap().clone(),
        stub: Some(taken.stub().unwrap()),
        ..parts
    };
    let image = uki(&profile, &again, &profile.line.to_string(), ResetProfile::Start, 0).unwrap();
    let disk = disk(&profile, &again, &image, None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.raw");
    // Holes are not written.
    write_sparse(&disk, &path);

    assert_eq!(boot(Firmware::Uefi, &path, BootDrive::Disk("raw")), profile.line.to_string());
}

pub fn write_sparse(content: &Content, path: &std::path::Path) {
    use std::os::unix::fs::FileExt as _;
    let file = File::create(path).unwrap();
    file.set_len(content.len()).unwrap();
    for stretch in content.stretches().into_iter().filter(|stretch| !stretch.is_hole) {
        let bytes = content.part(stretch.start, stretch.length).unwrap().read().unwrap();
        file.write_all_at(&bytes, stretch.start).unwrap();
    }
    assert_eq!(fs::metadata(path).unwrap().len(), content.len());
}
