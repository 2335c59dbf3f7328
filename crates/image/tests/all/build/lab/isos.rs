//! ISOs of ours with GRUB out of one that grub-mkrescue made: compared with that by foreign tools, and booted as a CD and as a stick, under a
//! BIOS and under UEFI.

use std::fs::File;
use std::path::{Path, PathBuf};

use ichor_image::build::uki::{ResetProfile, uki};
use ichor_image::build::{BootAssets, Profile, iso};
use ichor_image::inspect::BootMedia;
use ichor_image::media::Content;
use ichor_image::oci::MemoryStore;

use super::official::release;
use super::programs::run_tool;
use crate::build::samples;
use ichor_testbed::firmware::{BootDrive, Firmware, boot};

/// A profile whose kernel logs to the serial port.
fn profile() -> Profile {
    let mut profile = Profile { meta: Vec::new(), ..samples::profile("nocloud") };
    profile.line.customize(&["quiet".to_owned(), "no_timer_check".to_owned()]);
    profile
}

fn iso_of(profile: &Profile, parts: &BootAssets) -> Content {
    let image = uki(profile, parts, &iso::line(profile).to_string(), ResetProfile::Reset, 0).unwrap();
    iso::iso(profile, parts, &image).unwrap().content
}

fn written(content: &Content, folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    content.copy_to(&mut File::create(&path).unwrap()).unwrap();
    path
}

fn boots(firmware: Firmware, drive: BootDrive) {
    let folder = tempfile::tempdir().unwrap();
    let (_, parts) = release(folder.path());
    let profile = profile();
    let path = written(&iso_of(&profile, &parts), folder.path(), "ours.iso");

    let line = boot(firmware, &path, drive);

    // GRUB prints the kernel that it boots; a unified kernel image does not.
    let prefix = if firmware == Firmware::Bios { "BOOT_IMAGE=/boot/vmlinuz " } else { "" };
    assert_eq!(line, format!("{prefix}{}", iso::line(&profile)));
}

#[test]
fn a_bios_boots_an_iso_as_a_cd() {
    boots(Firmware::Bios, BootDrive::Cd);
}

#[test]
fn a_bios_boots_an_iso_as_a_stick() {
    boots(Firmware::Bios, BootDrive::Stick);
}

#[test]
fn uefi_boots_an_iso_as_a_cd() {
    boots(Firmware::Uefi, BootDrive::Cd);
}

#[test]
fn uefi_boots_an_iso_as_a_stick() {
    boots(Firmware::Uefi, BootDrive::Stick);
}

/// xorriso's report of the boot entries, without numbers that depend on other files.
fn report(folder: &Path, name: &str) -> Vec<String> {
    let text = run_tool(
        folder,
        "xorriso",
        &["-indev", name, "-report_el_torito", "plain", "-report_system_area", "plain"],
    );
    let boots = [
        "El Torito boot img",
        "El Torito img path",
        "El Torito img opts",
        "System area summary",
        "MBR partition      ",
        "GPT partname local",
        "GPT type GUID",
        "GPT partition flags",
    ];
    let lines = text.lines().filter(|line| boots.iter().any(|word| line.starts_with(word)));
    let start = |line: &str| {
        let end = ["  none", "            1 "].iter().find_map(|end| line.find(end)).unwrap_or(line.len());
        line[..end].to_owned()
    };
    // xorriso makes a third partition of the remaining space.
    lines.map(start).filter(|line| !line.contains(":   3  ")).collect()
}

#[test]
fn an_iso_boots_the_same_files_as_an_official_iso() {
    let folder = tempfile::tempdir().unwrap();
    let (official, parts) = release(folder.path());
    let profile = profile();
    let ours = iso_of(&profile, &parts);

    written(&official, folder.path(), "theirs.iso");
    written(&ours, folder.path(), "ours.iso");

    let report = ["ours.iso", "theirs.iso"].map(|name| report(folder.path(), name));
    assert_eq!(report[0], report[1]);
    assert_eq!(report[0].len(), 12, "{:?}", report[0]);
    let checked = run_tool(folder.path(), "sgdisk", &["-v", "ours.iso"]);
    assert!(checked.contains("No problems found"), "{checked}");
    let facts = run_tool(folder.path(), "isoinfo", &["-d", "-i", "ours.iso"]);
    for fact in
        ["Volume id: TALOS_V1_13_9\n", "Volume set id: Talos-v1.13.9\n", "El Torito VD version 1 found"]
    {
        assert!(facts.contains(fact), "{facts}");
    }
    let media = BootMedia::of_image(&ours, &mut MemoryStore::default()).unwrap();
    assert_eq!(media.command_line, Some(iso::line(&profile).to_string()));
}

#[test]
fn mtools_read_the_efi_partition_of_an_iso() {
    let folder = tempfile::tempdir().unwrap();
    let talos = ichor_values::TalosVersion::parse("v1.14.0").unwrap();
    let parts = BootAssets { grub: Some(samples::grub()), ..samples::parts() };
    written(&iso_of(&Profile { talos, ..profile() }, &parts), folder.path(), "ours.iso");

    let info = run_tool(folder.path(), "sgdisk", &["-i", "2", "ours.iso"]);
    let start = info.lines().find_map(|line| line.strip_prefix("First sector: ")).unwrap();
    let sector: u64 = start.split(' ').next().unwrap().parse().unwrap();
    let partition = format!("ours.iso@@{}", sector * 512);
    let listed = run_tool(folder.path(), "mdir", &["-/", "-b", "-i", &partition, "::"]);
    let attributes = run_tool(folder.path(), "mattrib", &["-i", &partition, "::/loader/random-seed"]);

    assert!(listed.contains("::/EFI/Linux/Talos-v1.14.0.efi"), "{listed}");
    assert!(attributes.split("::").next().unwrap().contains('R'), "{attributes}");
}
