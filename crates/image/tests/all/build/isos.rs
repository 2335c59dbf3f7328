//! The contents of an ISO.

use ichor_image::build::uki::{ResetProfile, uki};
use ichor_image::build::{BootAssets, GrubCd, Profile, iso};
use ichor_image::inspect::BootMedia;
use ichor_image::media::{Content, FileSystem, FileSystemType, Image, Partitions};
use ichor_image::oci::MemoryStore;
use ichor_talos::kernel_args::Line;
use ichor_talos::meta;
use ichor_values::Arch;
use ichor_values::TalosVersion;

use crate::build::samples::{self, grub};

fn profile(talos: &str, arch: Arch) -> Profile {
    let talos = TalosVersion::parse(talos).unwrap();
    let line = Line::defaults(&talos, "nocloud", if arch == Arch::Amd64 { "amd64" } else { "arm64" });
    Profile { talos, arch, line, meta: Vec::new(), ..samples::profile("nocloud") }
}

/// Parts with GRUB, and an initramfs that is so long that all of it is long enough for a FAT32.
fn parts() -> BootAssets {
    BootAssets { initramfs: Content::from(vec![2; 25 << 20]), grub: Some(grub()), ..samples::parts() }
}

fn iso_with(profile: &Profile, parts: &BootAssets) -> Result<iso::Iso, iso::IsoError> {
    let image = uki(profile, parts, &iso::line(profile).to_string(), ResetProfile::Reset, 0).unwrap();
    iso::iso(profile, parts, &image)
}

fn iso_of(profile: &Profile) -> iso::Iso {
    iso_with(profile, &parts()).unwrap()
}

/// The paths of all files of a file system, and what one of them holds.
fn paths(found: &FileSystem, image: &dyn Image) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folders = vec![(String::new(), found.files.clone())];
    while let Some((above, entries)) = folders.pop() {
        for entry in entries {
            let path = format!("{above}{}", entry.name);
            if entry.folder {
                folders.push((path + "/", found.list(image, &entry).unwrap()));
            } else {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths
}

fn text(found: &FileSystem, image: &dyn Image, path: &str) -> String {
    let entry = found.find_path(image, path).unwrap().unwrap_or_else(|| panic!("{path}"));
    String::from_utf8(found.read(image, &entry).unwrap()).unwrap()
}

const FOR_UEFI: [&str; 3] = ["EFI/BOOT/BOOTX64.EFI", "EFI/Linux/Talos-v1.13.9.efi", "loader/loader.conf"];

#[test]
fn an_amd64_iso_boots_with_uefi_and_bios() {
    let iso = iso_of(&profile("v1.13.9", Arch::Amd64)).content;

    let cd = FileSystem::open(&iso).unwrap();
    let partitions = Partitions::find_in(&iso).unwrap().unwrap();
    let window = partitions.list[1].window(&iso).unwrap();
    let efi = FileSystem::open(&window).unwrap();

    assert_eq!(cd.label, "TALOS_V1_13_9");
    assert_eq!((efi.kind, efi.label.as_str()), (FileSystemType::Fat32, "EFI"));
    assert_eq!(window.size(), (10 + 26 + 1) << 20);
    assert_eq!(paths(&efi, &window), FOR_UEFI);
    let mut all = vec![
        "boot/grub/fonts/unicode.pf2",
        "boot/grub/grub.cfg",
        "boot/grub/i386-pc/eltorito.img",
        "boot/grub/i386-pc/normal.mod",
        "boot/initramfs.xz",
        "boot/vmlinuz",
    ];
    all.extend(FOR_UEFI);
    all.sort_unstable();
    assert_eq!(paths(&cd, &iso), all);
    for (found, image) in [(&cd, &iso as &dyn Image), (&efi, &window)] {
        assert_eq!(text(found, image, "loader/loader.conf"), "timeout 10\n\nsecure-boot-enroll off\n");
    }
    let kernel = cd.find_path(&iso, "boot/vmlinuz").unwrap().unwrap();
    assert_eq!(cd.content(&iso, &kernel).unwrap(), parts().kernel);
}

#[test]
fn grub_boots_with_the_line_of_an_iso_and_can_reset() {
    let mut profile = profile("v1.13.9", Arch::Amd64);
    profile.line.customize(&["talos.config=http://a/?m=${mac}&x=1".to_owned()]);
    profile.meta.push(meta::Value { key: 10, value: "x".to_owned() });

    let iso = iso_of(&profile).content;

    let menu = text(&FileSystem::open(&iso).unwrap(), &iso, "boot/grub/grub.cfg");
    let lines: Vec<&str> = menu.lines().filter(|line| line.starts_with("\tlinux ")).collect();
    let expected = "\tlinux /boot/vmlinuz talos.platform=nocloud console=tty1 console=ttyS0 net.ifnames=0 talos.halt_if_installed=1 \
                    init_on_alloc=1 slab_nomerge pti=on consoleblank=0 nvme_core.io_timeout=4294967295 printk.devkmsg=on selinux=1 \
                    module.sig_enforce=1 proc_mem.force_override=never talos.environment=INSTALLER_META_BASE64=MHhhPXg= \
                    talos.config=http://a/?m=\\$\\{mac\\}\\&x=1";
    assert_eq!(lines, [expected.to_owned(), format!("{expected} talos.experimental.wipe=system")]);
    assert_eq!(menu.matches("menuentry \"").count(), 2);
    let media = BootMedia::of_image(&iso, &mut MemoryStore::default()).unwrap();
    assert_eq!(media.command_line, Some(iso::line(&profile).to_string()));
    let same = media.found.iter().filter(|found| found.taken_for == "the same command line").count();
    assert_eq!(same, 2, "{:?}", media.found);
}

#[test]
fn an_arm64_iso_boots_with_uefi_only() {
    let iso = iso_of(&profile("v1.13.9", Arch::Arm64)).content;

    let cd = FileSystem::open(&iso).unwrap();

    assert_eq!(
        paths(&cd, &iso),
        ["EFI/BOOT/BOOTAA64.EFI", "EFI/Linux/Talos-v1.13.9.efi", "loader/loader.conf"]
    );
    assert!(GrubCd::find_in(&iso).unwrap().is_none());
}

#[test]
fn a_read_only_random_seed_exists_since_1_14() {
    let iso = iso_of(&profile("v1.14.0-rc.1", Arch::Amd64)).content;

    let cd = FileSystem::open(&iso).unwrap();

    assert_eq!(cd.label, "TALOS_V1_14_0_RC_1");
    assert_eq!(text(&cd, &iso, "loader/random-seed"), "\0".repeat(32));
}

#[test]
fn grub_is_extracted_from_an_iso_unchanged() {
    let iso = iso_of(&profile("v1.13.9", Arch::Amd64)).content;
    let before = parts().grub.unwrap();

    let after = GrubCd::find_in(&iso).unwrap().unwrap();
    let again = BootAssets { grub: Some(after.clone()), ..parts() };
    let again = iso_with(&profile("v1.13.9", Arch::Amd64), &again).unwrap();

    assert_eq!(after.image.len(), before.image.len());
    assert!(after.record.is_some());
    let names = |grub: &GrubCd| grub.files.iter().map(|(path, _)| path.to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&after)[2..], names(&before)[2..]);
    assert_eq!(again.content, iso);
}

#[test]
fn sizes_add_up_to_the_image() {
    for arch in [Arch::Amd64, Arch::Arm64] {
        let iso = iso_of(&profile("v1.13.9", arch));

        assert_eq!(iso.sizes.iter().map(|(_, size)| size).sum::<u64>(), iso.content.len());
        assert!(iso.sizes.last().unwrap().1 < 2 << 20, "{:?}", iso.sizes);
    }
}

#[test]
fn assets_are_referenced_without_copies() {
    let iso = iso_of(&profile("v1.13.9", Arch::Amd64)).content;

    let holes: u64 =
        iso.stretches().iter().filter(|stretch| stretch.is_hole).map(|stretch| stretch.length).sum();

    assert!(holes > 9 << 20, "{holes}");
    assert!(iso.memory().is_none());
}

#[test]
fn an_iso_without_systemd_boot_is_rejected() {
    let parts = BootAssets { loader: None, ..parts() };

    let error = iso_with(&profile("v1.13.9", Arch::Amd64), &parts).unwrap_err();

    assert!(error.to_string().contains("systemd-boot"), "{error}");
}
