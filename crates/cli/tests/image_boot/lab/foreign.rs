//! Reads every product with other programs.

use std::fs;
use std::path::Path;

use ichor_image::oci::Digest;

use super::built::Built;
use super::rack::extension;
use super::release::TALOS_1_13;
use super::{done, imager};
use crate::common::ichor;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn products_are_readable_by_other_programs_and_reproducible() {
    let files = TALOS_1_13.files();
    let all = "netboot,uki,iso,disk,qcow2,installer";
    let built = Built::new(&files, ".", "nocloud", all);
    let folder = tempfile::tempdir().unwrap();
    let run_program = |program: &str, words: &[&str]| done(folder.path(), program, words);

    // An initramfs: the published one byte for byte, and another segment with the extension layer.
    let initramfs = fs::read(built.path(".initramfs.xz")).unwrap();
    let base = fs::read(files.path("initramfs-amd64.xz")).unwrap();
    assert!(initramfs.starts_with(&base));
    fs::write(folder.path().join("tail.zst"), &initramfs[base.len()..]).unwrap();
    run_program("zstd", &["-q", "-d", "tail.zst", "-o", "tail.cpio"]);
    let listed = run_program("cpio", &["--quiet", "-t", "-F", "tail.cpio"]);
    assert_eq!(listed.lines().collect::<Vec<_>>(), ["0.sqsh", "extensions.yaml"]);
    run_program("cpio", &["--quiet", "-i", "-F", "tail.cpio"]);
    let layer = run_program("unsquashfs", &["-s", "0.sqsh"]);
    assert!(layer.contains("Compression zstd") && layer.contains("compression-level 18"), "{layer}");
    run_program("unsquashfs", &["-q", "-n", "-d", "tree", "0.sqsh"]);
    imager::unpack(&extension(), folder.path());
    run_program("diff", &["-r", "--no-dereference", "tree", "bundle/rootfs/rootfs"]);

    // An ISO: its boot records and files.
    let iso = built.path(".iso");
    let listed = run_program("isoinfo", &["-R", "-f", "-i", text(&iso)]);
    for path in [
        "/boot/vmlinuz",
        "/boot/initramfs.xz",
        "/boot/grub/grub.cfg",
        "/EFI/BOOT/BOOTX64.EFI",
        "/loader/loader.conf",
    ] {
        assert!(listed.lines().any(|line| line == path), "{path}: {listed}");
    }
    let volume = run_program("isoinfo", &["-d", "-i", text(&iso)]);
    assert!(volume.contains("Volume id: TALOS_V1_13_9"), "{volume}");
    let torito = run_program(
        "xorriso",
        &["-indev", text(&iso), "-report_el_torito", "plain", "-report_system_area", "plain"],
    );
    assert!(torito.contains("BIOS") && torito.contains("UEFI"), "{torito}");

    // A disk in each format.
    let raw = built.path(".raw");
    let table = run_program("sgdisk", &["--verify", "--print", text(&raw)]);
    assert!(table.contains("No problems found"), "{table}");
    for name in ["EFI", "BIOS", "BOOT", "META"] {
        assert!(table.lines().any(|line| line.trim_end().ends_with(name)), "{name}: {table}");
    }
    run_program("qemu-img", &["check", text(&built.path(".qcow2"))]);
    run_program("qemu-img", &["compare", text(&raw), text(&built.path(".qcow2"))]);

    let cloud = Built::new(&files, "metal-amd64.iso", "gcp", "gcp");
    run_program("tar", &["-xzf", text(&cloud.path(".raw.tar.gz"))]);
    let table = run_program("sgdisk", &["--verify", "disk.raw"]);
    assert!(table.contains("No problems found"), "{table}");

    // An installer.
    let installer = format!("oci-archive:{}", text(&built.path("-installer.tar")));
    let inspected = run_program("skopeo", &["inspect", "--config", &installer]);
    assert!(inspected.contains("/bin/installer") && inspected.contains(TALOS_1_13.version), "{inspected}");
    run_program("skopeo", &["copy", "--quiet", &installer, "oci:installer:1"]);
    run_program("umoci", &["unpack", "--rootless", "--image", "installer:1", "installer-bundle"]);
    let boot_files = folder.path().join("installer-bundle/rootfs/usr/install/amd64");
    assert!(boot_files.join("vmlinuz.efi").exists() && boot_files.join("systemd-boot.efi").exists());

    // ichor recognises each product.
    for ending in [".iso", ".raw", ".qcow2", ".efi"] {
        let run = ichor(
            folder.path(),
            &format!("media inspect {} --talos {} --json", built.path(ending).display(), TALOS_1_13.version),
        );
        let json = run.json();
        assert_eq!(json["platform"], "nocloud", "{ending}: {json:#}");
    }

    // Builds are reproducible, except for the output of other programs.
    let again = Built::new(&files, ".", "nocloud", all);
    for ending in [".vmlinuz", ".initramfs.xz", ".cmdline", ".efi", ".iso", "-installer.tar"] {
        let sums = [&built, &again].map(|built| Digest::of_bytes(&fs::read(built.path(ending)).unwrap()));
        assert_eq!(sums[0], sums[1], "{ending}");
    }
}
