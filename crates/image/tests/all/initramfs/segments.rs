//! An initramfs: its existing contents, and appended extensions.

use std::io::Cursor;

use ichor_image::build::extension::Extension;
use ichor_image::build::initramfs;
use ichor_image::build::initramfs::{BaseInitramfs, InitramfsError, embedded_config, files};
use ichor_image::media::squashfs;
use ichor_image::media::squashfs::compress_in_order;
use ichor_image::media::{Content, cpio};
use ichor_image::oci::{FileTree, TreeEntry};
use ichor_talos::extension::Layer;
use ichor_values::TalosVersion;

use crate::initramfs::extensions::{self, extension};
use crate::initramfs::squashfs::written;

/// A published initramfs: `init` and `rootfs.sqsh`, in one segment of zstd.
pub fn published() -> Content {
    let mut root = FileTree::default();
    root.put("init", TreeEntry::file(0o755, b"#!/bin/init"));
    let mut system = FileTree::default();
    system
        .put("usr/lib/os-release", TreeEntry::file(0o644, b"NAME=\"Talos\"\nID=talos\nVERSION_ID=v1.13.9\n"));
    system.put("usr/lib/modules/6.12.45-talos/modules.dep", TreeEntry::file(0o644, b""));
    root.put("rootfs.sqsh", TreeEntry::file(0o644, written(&system)));
    compressed(&root)
}

/// A segment of zstd.
pub fn compressed(root: &FileTree) -> Content {
    let archive = cpio::write(root).unwrap().read().unwrap();
    zstd::bulk::compress(&archive, 3).unwrap().into()
}

/// Reads an initramfs, and keeps every file system of it in memory.
pub fn base(image: &Content) -> Result<BaseInitramfs, InitramfsError> {
    BaseInitramfs::read(image, &mut |_, bytes| {
        let mut kept = Vec::new();
        bytes.read_to_end(&mut kept)?;
        Ok(Some(kept.into()))
    })
}

/// An initramfs with extensions.
pub fn assembled(image: &Content, extensions: &[Extension]) -> Content {
    let plan = base(image).unwrap().plan(extensions);
    let squash = |tree: &FileTree| {
        let mut image = Cursor::new(Vec::new());
        squashfs::write(tree, "rootfs", &mut image, &compress_in_order).unwrap();
        Content::from(image.into_inner())
    };
    let squashes: Vec<_> = plan.additions.iter().map(|addition| squash(&addition.tree)).collect();
    let mut tail = Vec::new();
    plan.write_tail(&squashes, &mut tail).unwrap();
    plan.initramfs(tail.into()).unwrap()
}

/// Everything that a kernel unpacks, in its order.
pub fn unpacked(image: &Content) -> Result<Vec<(String, Vec<u8>)>, InitramfsError> {
    let mut all = Vec::new();
    files(image, &mut |file, bytes| {
        let mut held = Vec::new();
        bytes.read_to_end(&mut held)?;
        all.push((file.path.clone(), held));
        Ok(())
    })?;
    Ok(all)
}

fn names(image: &Content) -> Vec<String> {
    unpacked(image).unwrap().into_iter().map(|(path, _)| path).collect()
}

fn images(layers: &[Layer]) -> Vec<(&str, &str)> {
    layers.iter().map(|layer| (layer.image.as_str(), layer.metadata.name.as_str())).collect()
}

#[test]
fn extensions_are_appended_to_the_unchanged_initramfs() {
    let published = published();

    let image =
        assembled(&published, &[extension("frr", &[("usr/local/bin/x", b"x")]), extension("other", &[])]);

    assert_eq!(image.part(0, published.len()).unwrap(), published);
    assert_eq!(names(&image), ["init", "rootfs.sqsh", "0.sqsh", "1.sqsh", "extensions.yaml"]);
    let base = base(&image).unwrap();
    assert_eq!(images(&base.layers), [("0.sqsh", "frr"), ("1.sqsh", "other")]);
    let frr = crate::initramfs::squashfs::read(&base.kept["0.sqsh"]).unwrap();
    assert_eq!(frr.read("usr/local/bin/x"), Some(&b"x"[..]));
    assert!(frr.get("manifest.yaml").is_none());
}

/// The appended segments.
fn tail(image: &Content, published: &Content) -> Vec<u8> {
    image.part(published.len(), image.len() - published.len()).unwrap().read().unwrap()
}

#[test]
fn the_appended_segment_is_one_zstd_frame_with_a_checksum() {
    let published = published();

    let image = assembled(&published, &[extension("frr", &[("usr/local/bin/x", b"x")])]);

    let frame = tail(&image, &published);
    assert_eq!(frame[..4], *b"\x28\xb5\x2f\xfd");
    assert_eq!(frame[4] & 1 << 2, 1 << 2, "a sum");
    assert!(frame[4] >> 6 != 0 || frame[4] & 1 << 5 != 0, "a length");
    let mut modes = Vec::new();
    files(&image, &mut |file, _| {
        modes.push((file.path.clone(), file.mode & 0o7777));
        Ok(())
    })
    .unwrap();
    assert_eq!(modes[2..], [("0.sqsh".to_owned(), 0o644), ("extensions.yaml".to_owned(), 0o644)]);
}

#[test]
fn firmware_is_compressed_as_well_as_the_imager_does() {
    let published = published();
    let numbers: Vec<_> = (0..60_000_u32).map(|nth| (nth * nth % 9973).to_string()).collect();
    let firmware = numbers.join(" ");
    let files: [(&str, &[u8]); 1] = [("usr/lib/firmware/x.bin", firmware.as_bytes())];

    let length = tail(&assembled(&published, &[extension("x", &files)]), &published).len();

    let quickly = zstd::bulk::compress(firmware.as_bytes(), 3).unwrap().len();
    assert!(length < quickly, "{length} and {quickly}");
}

#[test]
fn existing_extensions_are_kept() {
    let first = assembled(&published(), &[extension("frr", &[])]);

    let image = assembled(&first, &[extension("bird", &[])]);

    assert_eq!(images(&base(&image).unwrap().layers), [("0.sqsh", "frr"), ("1.sqsh", "bird")]);
    assert_eq!(image.part(0, first.len()).unwrap(), first);
}

#[test]
fn twelve_extensions_are_layered_in_the_order_of_talos() {
    let twelve: Vec<_> = (0..12).map(|nth| extension(&format!("e{nth}"), &[])).collect();

    let base = base(&assembled(&published(), &twelve)).unwrap();

    let order: Vec<_> = base.layers.iter().map(|layer| layer.image.as_str()).collect();
    let numbers = ["0", "1", "10", "11", "2", "3", "4", "5", "6", "7", "8", "9"];
    assert_eq!(order, numbers.map(|number| format!("{number}.sqsh")));
    assert_eq!(base.layers[2].metadata.name, "e10");
}

#[test]
fn firmware_is_moved_and_microcode_comes_first() {
    let files: [(&str, &[u8]); 5] = [
        ("usr/lib/firmware/intel-ucode/06-02", b"two"),
        ("usr/lib/firmware/intel-ucode/06-01", b"one "),
        ("usr/lib/firmware/amd-ucode/microcode_amd.bin", b"amd"),
        ("usr/lib/firmware/amd-ucode/README", b"read"),
        ("usr/local/x", b"x"),
    ];
    let image = assembled(&published(), &[extension("ucode", &files)]);

    let unpacked = unpacked(&image).unwrap();
    let named: Vec<_> = unpacked.iter().map(|(path, _)| path.as_str()).collect();

    assert_eq!(
        named,
        [
            "kernel",
            "kernel/x86",
            "kernel/x86/microcode",
            "kernel/x86/microcode/AuthenticAMD.bin",
            "kernel/x86/microcode/GenuineIntel.bin",
            "init",
            "rootfs.sqsh",
            "0.sqsh",
            "extensions.yaml",
            "usr",
            "usr/lib",
            "usr/lib/firmware",
            "usr/lib/firmware/amd-ucode",
            "usr/lib/firmware/amd-ucode/README",
            "usr/lib/firmware/intel-ucode",
        ]
    );
    assert_eq!(unpacked[4].1, b"one two");
    assert_eq!(image.part(0, 6).unwrap().read().unwrap(), b"070701");
    let tree = crate::initramfs::squashfs::read(&base(&image).unwrap().kept["0.sqsh"]).unwrap();
    assert_eq!(
        tree.iter().map(|(path, _)| path).collect::<Vec<_>>(),
        ["usr", "usr/lib", "usr/local", "usr/local/x"]
    );
    // Microcode of a second extension comes behind that of the first, in the one file that a kernel looks at.
    let again = assembled(&image, &[extension("more", &[("usr/lib/firmware/intel-ucode/07-01", b" three")])]);
    assert_eq!(self::unpacked(&again).unwrap()[4].1, b"one two three");
    assert_eq!(names(&again).iter().filter(|name| name.ends_with("GenuineIntel.bin")).count(), 1);
}

#[test]
fn the_module_list_comes_last_and_replaces_an_earlier_one() {
    let list = |text: &[u8]| Extension::modules("6.12.45-talos", &[("modules.dep".to_owned(), text.into())]);
    let first = assembled(&published(), &[list(b"1"), extension("a", &[])]);

    let base = base(&assembled(&first, &[extension("b", &[]), list(b"2")])).unwrap();

    assert_eq!(images(&base.layers), [("0.sqsh", "a"), ("1.sqsh", "b"), ("modules.dep.sqsh", "modules.dep")]);
    assert_eq!(base.layers[2].metadata.version, "6.12.45-talos");
    let tree = crate::initramfs::squashfs::read(&base.kept["modules.dep.sqsh"]).unwrap();
    assert_eq!(tree.read("usr/lib/modules/6.12.45-talos/modules.dep"), Some(&b"2"[..]));
}

#[test]
fn an_embedded_configuration_is_read_back() {
    let talos = TalosVersion::parse("v1.13.9").unwrap();
    let config = Content::from(b"version: v1alpha1\n");
    let embedded = Extension::embedded(&config, &talos).unwrap();

    let base = base(&assembled(&published(), &[embedded])).unwrap();

    assert_eq!(images(&base.layers), [("0.sqsh", "embedded-config")]);
    assert_eq!(base.layers[0].metadata.version, extensions::sum(b"version: v1alpha1\n"));
    assert_eq!(embedded_config(&base.kept["0.sqsh"]).unwrap().as_deref(), Some(&b"version: v1alpha1\n"[..]));
    assert_eq!(embedded_config(&base.kept["rootfs.sqsh"]).unwrap(), None);
}

#[test]
fn every_kind_of_segment_is_read_with_any_padding() {
    let tree = |name: &str| {
        let mut root = FileTree::default();
        root.put(name, TreeEntry::file(0o644, name.as_bytes()));
        root
    };
    let mut image = cpio::write(&tree("plain")).unwrap();
    image.push(Content::zeros(70_000));
    image.push(compressed(&tree("zstd")));
    image.push(Content::zeros(3));
    image.push(compressed(&tree("again")));
    image.push(cpio::write(&tree("behind")).unwrap());

    assert_eq!(names(&image), ["plain", "zstd", "again", "behind"]);
}

#[test]
fn an_initramfs_of_another_system_is_rejected_with_the_reason() {
    let only_init = {
        let mut root = FileTree::default();
        root.put("init", TreeEntry::file(0o755, b""));
        compressed(&root)
    };
    let initramfs = published();
    let cut = initramfs.part(0, initramfs.len() - 40).unwrap();
    let bad_list = {
        let mut root = FileTree::default();
        root.put("extensions.yaml", TreeEntry::file(0o644, b"- a\n"));
        let mut image = initramfs.clone();
        image.push(compressed(&root));
        image
    };
    for (image, said) in [
        (
            Content::from(b"\x1f\x8b\x08\0\0\0\0\0"),
            "compressed with gzip; Talos kernels support only zstd and xz",
        ),
        (Content::from(b"MZ a kernel"), "byte 0 starts neither an archive nor a compressed segment"),
        (Content::default(), "`init` is missing"),
        (only_init, "`rootfs.sqsh` is missing"),
        (cut, "cannot decompress the initramfs segment at byte 0"),
        (bad_list, "Talos cannot read the initramfs' list of extensions"),
    ] {
        let error = base(&image).unwrap_err();
        assert!(error.to_string().contains(said), "{said}: {error}");
    }
}

#[test]
fn a_decompression_bomb_is_stopped() {
    // 128 MiB of zeros: each block of a frame says one byte for 128 KiB.
    let mut frame = b"\x28\xb5\x2f\xfd\x00\x58".to_vec();
    let block = |last: u32| [&((128_u32 << 10) << 3 | 1 << 1 | last).to_le_bytes()[..3], &[0]].concat();
    for _ in 0..1024 {
        frame.extend(block(0));
    }
    frame.extend(block(1));

    let error = base(&frame.into()).unwrap_err();

    assert!(matches!(error, initramfs::InitramfsError::Large), "{error}");
}
