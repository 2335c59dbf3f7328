//! Other programs read every product.

use std::fs;
use std::path::Path;

use ichor_image::oci::Digest;

use super::built::Built;
use super::parts::{Parts, TALOS};
use super::rack::extension;
use super::{done, imager};
use crate::common::ichor;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn every_product_is_read_by_others_and_is_always_the_same() {
    let parts = Parts::made();
    let all = "netboot,uki,iso,disk,qcow2,installer";
    let built = Built::new(&parts, ".", "nocloud", all);
    let folder = tempfile::tempdir().unwrap();
    let said = |program: &str, words: &[&str]| done(folder.path(), program, words);

    // A first file system: what Talos published, byte by byte, and one more segment with the layer of the extension.
    let whole = fs::read(built.path(".initramfs.xz")).unwrap();
    let base = fs::read(parts.path("initramfs-amd64.xz")).unwrap();
    assert!(whole.starts_with(&base));
    fs::write(folder.path().join("tail.zst"), &whole[base.len()..]).unwrap();
    said("zstd", &["-q", "-d", "tail.zst", "-o", "tail.cpio"]);
    let listed = said("cpio", &["--quiet", "-t", "-F", "tail.cpio"]);
    assert_eq!(listed.lines().collect::<Vec<_>>(), ["0.sqsh", "extensions.yaml"]);
    said("cpio", &["--quiet", "-i", "-F", "tail.cpio"]);
    let layer = said("unsquashfs", &["-s", "0.sqsh"]);
    assert!(layer.contains("Compression zstd") && layer.contains("compression-level 18"), "{layer}");
    said("unsquashfs", &["-q", "-n", "-d", "tree", "0.sqsh"]);
    imager::unpack(&extension(), folder.path());
    said("diff", &["-r", "--no-dereference", "tree", "bundle/rootfs/rootfs"]);

    // A CD: what boots it, and what is on it.
    let iso = built.path(".iso");
    let listed = said("isoinfo", &["-R", "-f", "-i", text(&iso)]);
    for path in [
        "/boot/vmlinuz",
        "/boot/initramfs.xz",
        "/boot/grub/grub.cfg",
        "/EFI/BOOT/BOOTX64.EFI",
        "/loader/loader.conf",
    ] {
        assert!(listed.lines().any(|line| line == path), "{path}: {listed}");
    }
    let volume = said("isoinfo", &["-d", "-i", text(&iso)]);
    assert!(volume.contains("Volume id: TALOS_V1_13_9"), "{volume}");
    let torito = said(
        "xorriso",
        &["-indev", text(&iso), "-report_el_torito", "plain", "-report_system_area", "plain"],
    );
    assert!(torito.contains("BIOS") && torito.contains("UEFI"), "{torito}");

    // A disk, in each of its forms.
    let raw = built.path(".raw");
    let table = said("sgdisk", &["--verify", "--print", text(&raw)]);
    assert!(table.contains("No problems found"), "{table}");
    for name in ["EFI", "BIOS", "BOOT", "META"] {
        assert!(table.lines().any(|line| line.trim_end().ends_with(name)), "{name}: {table}");
    }
    said("qemu-img", &["check", text(&built.path(".qcow2"))]);
    said("qemu-img", &["compare", text(&raw), text(&built.path(".qcow2"))]);

    let cloud = Built::new(&parts, "metal-amd64.iso", "gcp", "gcp");
    said("tar", &["-xzf", text(&cloud.path(".raw.tar.gz"))]);
    let table = said("sgdisk", &["--verify", "disk.raw"]);
    assert!(table.contains("No problems found"), "{table}");

    // An installer.
    let installer = format!("oci-archive:{}", text(&built.path("-installer.tar")));
    let inspected = said("skopeo", &["inspect", "--config", &installer]);
    assert!(inspected.contains("/bin/installer") && inspected.contains(TALOS), "{inspected}");
    said("skopeo", &["copy", "--quiet", &installer, "oci:installer:1"]);
    said("umoci", &["unpack", "--rootless", "--image", "installer:1", "installer-bundle"]);
    let there = folder.path().join("installer-bundle/rootfs/usr/install/amd64");
    assert!(there.join("vmlinuz.efi").exists() && there.join("systemd-boot.efi").exists());

    // ichor itself knows each of them again.
    for ending in [".iso", ".raw", ".qcow2", ".efi"] {
        let run = ichor(
            folder.path(),
            &format!("media inspect {} --talos {TALOS} --json", built.path(ending).display()),
        );
        let json = run.json();
        assert_eq!(json["platform"], "nocloud", "{ending}: {json:#}");
    }

    // Same input, same bytes, but for what another program writes.
    let again = Built::new(&parts, ".", "nocloud", all);
    for ending in [".vmlinuz", ".initramfs.xz", ".cmdline", ".efi", ".iso", "-installer.tar"] {
        let sums = [&built, &again].map(|built| Digest::of_bytes(&fs::read(built.path(ending)).unwrap()));
        assert_eq!(sums[0], sums[1], "{ending}");
    }
}
