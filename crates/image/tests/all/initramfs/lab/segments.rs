//! An initramfs as the tools that Talos' imager runs make it, read by us; and ours, taken apart by them.

use std::fs;
use std::path::Path;

use ichor_image::media::Content;
use tempfile::TempDir;

use super::tools::run;
use crate::initramfs::extensions::extension;
use crate::initramfs::segments::{assembled, base, published, unpacked};

fn sh(folder: &Path, script: &str) -> String {
    run(folder, "sh", &["-ec", script])
}

#[test]
fn segments_of_zstd_and_xz_are_read_as_the_tools_write_them() {
    let folder = TempDir::new().unwrap();
    let cpio = "cpio -H newc --create --reproducible --quiet -R +0:+0";
    sh(
        folder.path(),
        &format!(
            "mkdir -p kernel/x86/microcode root && echo micro >kernel/x86/microcode/GenuineIntel.bin
            echo start >init && echo system >root/os-release && mksquashfs root rootfs.sqsh -no-progress -comp zstd >/dev/null
            mksquashfs root 0.sqsh -no-progress -comp xz >/dev/null
            printf 'layers:\\n    - image: 0.sqsh\\n      metadata:\\n        name: one\\n        version: 1.0\\n' >extensions.yaml
            find kernel | {cpio} >image
            (echo .; echo init; echo rootfs.sqsh) | {cpio} | zstd -T0 -18 -c --quiet >>image
            (echo 0.sqsh; echo extensions.yaml) | {cpio} | xz -C crc32 -0 -e -T 0 -z --quiet >>image
            (echo init) | {cpio} | zstd -1 -c --quiet >>image"
        ),
    );
    let image: Content = fs::read(folder.path().join("image")).unwrap().into();

    let names: Vec<String> = unpacked(&image).unwrap().into_iter().map(|(path, _)| path).collect();
    let base = base(&image).unwrap();

    let expected = ["init", "rootfs.sqsh", "0.sqsh", "extensions.yaml", "init"];
    assert_eq!(names[names.len() - 5..], expected);
    assert_eq!(base.layers[0].metadata.name, "one");
    for name in ["rootfs.sqsh", "0.sqsh"] {
        let tree = crate::initramfs::squashfs::read(&base.kept[name]).unwrap();
        assert_eq!(tree.read("os-release"), Some(&b"system\n"[..]));
    }
}

#[test]
fn standard_tools_extract_the_initramfs() {
    let published = published();
    let microcode: (&str, &[u8]) = ("usr/lib/firmware/intel-ucode/06-01", b"micro");
    let image = assembled(&published, &[extension("frr", &[("usr/local/bin/x", b"x"), microcode])]);
    let folder = TempDir::new().unwrap();
    let initramfs = image.read().unwrap();
    let head = initramfs.len() - usize::try_from(published.len()).unwrap();
    let at = initramfs.windows(16).position(|bytes| bytes == &published.read().unwrap()[..16]).unwrap();
    let tail = at + usize::try_from(published.len()).unwrap();
    assert!(at > 0 && head > 0);
    fs::write(folder.path().join("head"), &initramfs[..at]).unwrap();
    fs::write(folder.path().join("tail"), &initramfs[tail..]).unwrap();

    let first = sh(folder.path(), "cpio --list --quiet <head");
    let list = sh(folder.path(), "zstd --test --quiet tail && zstd -dc tail | cpio --list --quiet");
    let squash = sh(
        folder.path(),
        "zstd -dc tail | cpio --extract --quiet && unsquashfs -ls 0.sqsh && cat extensions.yaml",
    );

    assert!(first.ends_with("kernel/x86/microcode/GenuineIntel.bin\n"), "{first}");
    assert_eq!(
        list,
        "0.sqsh\nextensions.yaml\nusr\nusr/lib\nusr/lib/firmware\nusr/lib/firmware/intel-ucode\n"
    );
    assert!(squash.contains("squashfs-root/usr/local/bin/x\n"), "{squash}");
    assert!(
        squash.contains("layers:\n    - image: 0.sqsh\n      metadata:\n        name: frr\n"),
        "{squash}"
    );
}
