//! A substitute of an official ISO of Talos: made by grub-mkrescue, called as Talos' imager does, with Debian's kernel.

use std::fs;
use std::path::{Path, PathBuf};

use ichor_image::build::{BootAssets, GrubCd};
use ichor_image::media::Content;

use super::programs::run_tool;
use ichor_testbed::firmware::{parts, systemd};

const LOADER: &str = "systemd-bootx64.efi";

/// An ISO, made in a folder, and parts with GRUB out of it.
pub fn release(folder: &Path) -> (Content, BootAssets) {
    let parts = parts();
    let image = Content::from(fs::read(rescue(folder, &parts)).unwrap());
    let grub = GrubCd::find_in(&image).unwrap();
    assert!(grub.is_some(), "no GRUB is found");
    (image, BootAssets { grub, ..parts })
}

/// An ISO as Talos' imager makes it.
fn rescue(folder: &Path, parts: &BootAssets) -> PathBuf {
    let tree = folder.join("iso");
    for below in ["boot/grub", "EFI/BOOT", "loader"] {
        fs::create_dir_all(tree.join(below)).unwrap();
    }
    fs::write(tree.join("boot/vmlinuz"), parts.kernel.read().unwrap()).unwrap();
    fs::write(tree.join("boot/initramfs.xz"), parts.initramfs.read().unwrap()).unwrap();
    fs::write(tree.join("boot/grub/grub.cfg"), "set timeout=0\n").unwrap();
    fs::write(tree.join("loader/loader.conf"), "timeout 10\n").unwrap();
    fs::write(tree.join("EFI/BOOT/BOOTX64.EFI"), systemd(LOADER)).unwrap();
    run_tool(&tree, "truncate", &["-s", "40M", "efiboot.img"]);
    run_tool(&tree, "mkfs.vfat", &["-F", "32", "-n", "EFI", "efiboot.img"]);
    run_tool(&tree, "mcopy", &["-s", "-i", "efiboot.img", "EFI", "loader", "::"]);
    let image = folder.join("official.iso");
    let partition = tree.join("efiboot.img");
    run_tool(
        folder,
        "grub-mkrescue",
        &[
            "--compress=xz",
            &format!("--output={}", image.display()),
            "--directory=/usr/lib/grub/i386-pc",
            "-m",
            "efiboot.img",
            "-iso-level",
            "3",
            tree.to_str().unwrap(),
            "-eltorito-alt-boot",
            "-e",
            "--interval:appended_partition_2:all::",
            "-append_partition",
            "2",
            "0xef",
            partition.to_str().unwrap(),
            "-appended_part_as_gpt",
            "-partition_cyl_align",
            "all",
            "-partition_offset",
            "16",
            "-iso_mbr_part_type",
            "0x83",
            "-no-emul-boot",
            "--",
            "-volid",
            "TALOS_V1_13_9",
            "-volset-id",
            "Talos-v1.13.9",
        ],
    );
    image
}
