//! Disk images, read back by ourselves.

use ichor_image::build::disk::{
    BOOT_LENGTH, BiosPartitions, CORE_SECTOR, DiskImageError, boot_tree, disk, google,
};
use ichor_image::build::grub::{GrubLoader, config, quote};
use ichor_image::build::uki::{ResetProfile, uki};
use ichor_image::build::{BootAssets, Profile};
use ichor_image::media::{Content, FileSystem, FileSystemType, Image, Partitions, uki as kernel};
use ichor_talos::meta::Value;
use ichor_talos::meta_partition as adv;
use ichor_values::Arch;

use crate::build::samples::{parts, profile};

const MIB: u64 = 1 << 20;

fn bios() -> BiosPartitions {
    let loader = GrubLoader::for_sector(CORE_SECTOR, vec![1; 512], vec![2; 40_000]).unwrap();
    BiosPartitions { loader, boot: Content::from(vec![5; 5000]) }
}

fn made(profile: &Profile, bios: Option<&BiosPartitions>) -> Content {
    let image = uki(profile, &parts(), &profile.line.to_string(), ResetProfile::Maintenance, 0).unwrap();
    disk(profile, &parts(), &image, bios).unwrap()
}

/// Labels and lengths of partitions in MiB.
fn partitions(disk: &Content) -> Vec<(String, u64)> {
    let found = Partitions::find_in(disk).unwrap().unwrap();
    found.check().unwrap();
    found.list.iter().map(|one| (one.label.clone(), one.length() / MIB)).collect()
}

fn named(list: &[(&str, u64)]) -> Vec<(String, u64)> {
    list.iter().map(|(label, length)| ((*label).to_owned(), *length)).collect()
}

#[test]
fn a_disk_is_laid_out_as_the_imager_lays_it_out() {
    for (platform, both, size) in [
        ("metal", false, 2246),
        ("nocloud", false, 2246),
        ("metal", true, 4247),
        ("nocloud", true, 4247),
        ("gcp", false, 9192),
        ("gcp", true, 11_193),
    ] {
        let made = made(&profile(platform), both.then(bios).as_ref());

        let expected = if both {
            named(&[("EFI", 2101), ("BIOS", 1), ("BOOT", 2000), ("META", 1)])
        } else {
            named(&[("EFI", 2101), ("META", 1)])
        };
        assert_eq!(made.len() / MIB, size, "{platform}");
        assert_eq!(partitions(&made), expected, "{platform}");
        let there = made.stretches().into_iter().filter(|one| !one.is_hole).map(|one| one.length);
        assert!(there.sum::<u64>() < 2 * MIB, "most of a disk is a hole");
    }
}

#[test]
fn uefi_finds_a_loader_and_the_kernel_image() {
    for (arch, loader) in [(Arch::Amd64, "EFI/BOOT/BOOTX64.EFI"), (Arch::Arm64, "EFI/BOOT/BOOTAA64.EFI")] {
        let profile = Profile { arch, ..profile("nocloud") };
        let made = made(&profile, None);
        let found = Partitions::find_in(&made).unwrap().unwrap();
        let efi = found.list[0].window(&made).unwrap();

        let files = FileSystem::open(&efi).unwrap();

        assert_eq!((files.kind, files.label.as_str()), (FileSystemType::Fat32, "EFI"));
        let read = |path: &str| files.read(&efi, &files.find_path(&efi, path).unwrap().unwrap()).unwrap();
        assert_eq!(read(loader), vec![3; 70_000]);
        assert_eq!(read("loader/loader.conf"), b"timeout 10\n");
        let image = read("EFI/Linux/Talos-v1.13.9.efi");
        assert_eq!(kernel::command_line(&image).unwrap().unwrap(), profile.line.to_string());
    }
}

#[test]
fn meta_contains_the_values_and_the_boot_loaders() {
    let values = |profile: &Profile, bios: Option<&BiosPartitions>| {
        let made = made(profile, bios);
        let found = Partitions::find_in(&made).unwrap().unwrap();
        let mut bytes = vec![0; adv::LENGTH];
        found.list.last().unwrap().window(&made).unwrap().read_at(0, &mut bytes).unwrap();
        adv::read(&bytes).unwrap()
    };
    let own = profile("metal").meta;
    let none = Profile { meta: Vec::new(), ..profile("metal") };

    assert_eq!(values(&profile("metal"), None), own);
    assert_eq!(values(&none, None), []);
    let both = Value { key: 17, value: "dual-boot".to_owned() };
    assert_eq!(values(&profile("metal"), Some(&bios())), [own, vec![both.clone()]].concat());
    assert_eq!(values(&none, Some(&bios())), [both]);
}

#[test]
fn grub_stages_contain_their_sectors() {
    let made = made(&profile("metal"), Some(&bios()));
    let found = Partitions::find_in(&made).unwrap().unwrap();
    let mut first = vec![0; 512];
    made.read_at(0, &mut first).unwrap();
    let mut core = vec![0; 512];
    made.read_at(CORE_SECTOR * 512, &mut core).unwrap();

    assert_eq!(first[0x5c..0x64], CORE_SECTOR.to_le_bytes());
    assert_eq!(first[0x66..0x68], [0x90, 0x90]);
    assert_eq!((first[0x5b], first[0x68], first[446]), (1, 1, 0x80));
    // Of EFI, BIOS, BOOT and META, only the partition that a BIOS boots has an attribute.
    let attributes = [0, 1, 2, 3].map(|nth| {
        let mut bytes = [0; 8];
        made.read_at(1024 + nth * 128 + 48, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    });
    assert_eq!(attributes, [0, 1 << 2, 0, 0]);
    assert_eq!((core[0], &core[0x1f4..0x1fc]), (2, &(CORE_SECTOR + 1).to_le_bytes()[..]));
    let mut window = vec![0; 512];
    found.list[1].window(&made).unwrap().read_at(0, &mut window).unwrap();
    assert_eq!(window, core, "the core image is where its partition is");
    assert!(
        GrubLoader::for_sector(0, vec![0; 445], vec![0; 9000]).unwrap_err().to_string().contains("boot code")
    );
    assert!(
        GrubLoader::for_sector(0, vec![0; 446], vec![0; 500]).unwrap_err().to_string().contains("core image")
    );
}

#[test]
fn the_grub_menu_has_start_and_reset_entries() {
    let mut profile = profile("metal");
    profile.line.add("talos.config=https://a/?b=${uuid}&c=\"d\"");
    let line = profile.line.to_string();
    let quoted = line.replace("${uuid}&c=\"d\"", "\\$\\{uuid\\}\\&c=\\\"d\\\"");

    let config = config(&profile);

    assert_eq!(quote(&line), quoted);
    assert_eq!(quote(r"a\b"), r"a\\b");
    let expected = format!(
        r#"set default="A - Talos v1.13.9"

set timeout=3

insmod all_video

terminal_input console
terminal_output console

menuentry "A - Talos v1.13.9" {{
  set gfxmode=auto
  set gfxpayload=text
  linux /A/vmlinuz {quoted}
  initrd /A/initramfs.xz
}}
menuentry "Reset Talos installation and return to maintenance mode" {{
  set gfxmode=auto
  set gfxpayload=text
  linux /A/vmlinuz {quoted} talos.experimental.wipe=system:EPHEMERAL,STATE
  initrd /A/initramfs.xz
}}
"#
    );
    similar_asserts::assert_eq!(config, expected);
    let tree = boot_tree(&profile, &parts());
    let paths: Vec<&str> = tree.iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["A", "A/initramfs.xz", "A/vmlinuz", "grub", "grub/grub.cfg"]);
}

#[test]
fn invalid_disks_are_rejected() {
    let refused = |profile: &Profile, parts: &BootAssets, bios: Option<&BiosPartitions>| {
        disk(profile, parts, &Content::zeros(1000), bios).unwrap_err()
    };
    let arm = Profile { arch: Arch::Arm64, ..profile("metal") };
    let long = Value { key: 12, value: "x".repeat(300 << 10) };

    assert!(matches!(
        refused(&profile("metal"), &BootAssets { loader: None, ..parts() }, None),
        DiskImageError::NoLoader
    ));
    assert!(matches!(refused(&arm, &parts(), Some(&bios())), DiskImageError::NoBios));
    let meta = Profile { meta: vec![long], ..profile("metal") };
    assert!(matches!(refused(&meta, &parts(), None), DiskImageError::Meta(_)));
    let big = BiosPartitions { boot: Content::zeros(BOOT_LENGTH + 1), ..bios() };
    assert!(matches!(refused(&profile("metal"), &parts(), Some(&big)), DiskImageError::Disk(_)));
    let error = disk(&profile("metal"), &parts(), &Content::zeros(3000 * MIB), None).unwrap_err();
    assert!(matches!(error, DiskImageError::Efi(_)), "{error}");
}

#[test]
fn the_archive_for_google_cloud_is_reproducible() {
    let made = made(&profile("gcp"), None);
    let (mut one, mut two) = (Vec::new(), Vec::new());

    google(&made, 0, &mut one).unwrap();
    google(&made, 0, &mut two).unwrap();

    assert!(one == two && one.starts_with(&[0x1f, 0x8b]) && one.len() < 1 << 20);
}
