//! Extensions that cannot be in one image.

use ichor_image::build::conflict::{Conflict, find_conflicts};
use ichor_image::build::extension::Extension;

use ichor_image::media::Content;
use ichor_image::oci::{FileTree, TreeEntry};

use crate::initramfs::extensions::{extension, talos};
use crate::initramfs::segments::{assembled, base, compressed, published};
use crate::initramfs::squashfs::written;

const SERVICE: &[u8] = b"name: bgp\ncontainer: {entrypoint: /x}\nrestart: always\n";

fn found(extensions: &[Extension], kernel: Option<&str>) -> Vec<String> {
    found_in(&published(), extensions, kernel)
}

fn found_in(image: &Content, extensions: &[Extension], kernel: Option<&str>) -> Vec<String> {
    let base = base(image).unwrap();
    let found = find_conflicts(extensions, &base, &talos("v1.13.9"), kernel).unwrap();
    found.iter().map(Conflict::to_string).collect()
}

#[test]
fn unrelated_extensions_have_no_conflict() {
    let (one, other) = (
        extension("one", &[("usr/local/one", b"1"), ("usr/local/lib/same", b"s")]),
        extension("other", &[("usr/local/other", b"2"), ("usr/local/lib/same", b"s")]),
    );

    assert_eq!(found(&[one, other], Some("6.12.45-talos")), [""; 0]);
}

#[test]
fn each_conflict_names_both_extensions_and_its_subject() {
    let modules: &[(&str, &[u8])] = &[("usr/lib/modules/6.1.0/extra/x.ko", b"x")];
    for (one, other, kernel, expected) in [
        (
            extension("one", &[("usr/local/x", b"1")]),
            extension("other", &[("usr/local/x", b"2")]),
            None,
            "one and other have different files at /usr/local/x: one would hide the other",
        ),
        (
            extension("one", &[("usr/local/x/y", b"1")]),
            extension("other", &[("usr/local/x", b"2")]),
            None,
            "one and other have different files at /usr/local/x: one would hide the other",
        ),
        (
            extension("one", &[("usr/local/etc/containers/bgp.yaml", SERVICE)]),
            extension("other", &[("usr/local/etc/containers/b.yaml", SERVICE)]),
            None,
            "one and other both define service `bgp`; the node starts only one of them",
        ),
        (
            extension("one", &[]),
            extension("one", &[]),
            None,
            "extension one is given twice, as v1.0 and as v1.0; remove one",
        ),
        (
            extension("one", &[]),
            extension("zfs", modules),
            Some("6.12.45-talos"),
            "zfs has modules for the kernel 6.1.0, and the image has the kernel 6.12.45-talos, which does not load them; want the build \
             of the extension for this release of Talos",
        ),
    ] {
        assert_eq!(found(&[one, other], kernel), [expected]);
    }
}

#[test]
fn extensions_of_the_image_conflict_with_new_ones() {
    let image = assembled(&published(), &[extension("frr", &[])]);
    let base = base(&image).unwrap();

    let found = find_conflicts(&[extension("frr", &[])], &base, &talos("v1.13.9"), None).unwrap();

    assert_eq!(
        found,
        [Conflict::Present { name: "frr".to_owned(), versions: ["v1.0".to_owned(), "v1.0".to_owned()] }]
    );
}

#[test]
fn files_and_services_of_the_extensions_in_an_image_are_not_hidden() {
    let there = extension(
        "there",
        &[
            ("usr/local/x", b"1"),
            ("usr/local/same", b"s"),
            ("usr/local/folder/y", b"1"),
            ("usr/local/etc/containers/bgp.yaml", SERVICE),
            ("usr/lib/firmware/x.bin", b"1"),
            ("usr/lib/firmware/same.bin", b"s"),
        ],
    );
    let image = assembled(&published(), &[there]);
    for (path, bytes, expected) in [
        ("usr/local/same", &b"s"[..], None),
        ("usr/lib/firmware/same.bin", b"s", None),
        ("usr/local/other", b"2", None),
        (
            "usr/local/x",
            b"2",
            Some(
                "there (in the image) and new have different files at /usr/local/x: one would hide the other",
            ),
        ),
        (
            "usr/local/x",
            b"longer",
            Some(
                "there (in the image) and new have different files at /usr/local/x: one would hide the other",
            ),
        ),
        (
            "usr/local/folder",
            b"2",
            Some(
                "there (in the image) and new have different files at /usr/local/folder: one would hide the other",
            ),
        ),
        (
            "usr/lib/firmware/x.bin",
            b"2",
            Some(
                "the image and new have different files at /usr/lib/firmware/x.bin: one would hide the other",
            ),
        ),
        (
            "usr/local/etc/containers/other.yaml",
            SERVICE,
            Some("there (in the image) and new both define service `bgp`; the node starts only one of them"),
        ),
    ] {
        assert_eq!(
            found_in(&image, &[extension("new", &[(path, bytes)])], None),
            Vec::from_iter(expected),
            "{path}"
        );
    }
}

/// A published initramfs, with files of its own at paths that extensions may have.
fn crowded() -> Content {
    let mut system = FileTree::default();
    system.put("etc/cri/conf.d/00-base.part", TreeEntry::file(0o755, b"base"));
    system.put("usr/local/bin", TreeEntry::link("../bin"));
    system.put("usr/lib/modules/6.12.45-talos/modules.dep", TreeEntry::file(0o644, b"of Talos"));
    let mut root = FileTree::default();
    root.put("init", TreeEntry::file(0o755, b"#!/bin/init"));
    root.put("rootfs.sqsh", TreeEntry::file(0o644, written(&system)));
    compressed(&root)
}

#[test]
fn replaced_files_of_talos_are_reported() {
    let hidden = |path: &str| Some(format!("new replaces {path} of Talos with a different file"));
    for (path, bytes, expected) in [
        ("etc/cri/conf.d/00-base.part", &b"base"[..], None),
        ("etc/cri/conf.d/00-base.part", b"bass", hidden("/etc/cri/conf.d/00-base.part")),
        ("etc/cri/conf.d/10-mine.part", b"mine", None),
        ("usr/local/bin/x", b"x", hidden("/usr/local/bin")),
    ] {
        assert_eq!(
            found_in(&crowded(), &[extension("new", &[(path, bytes)])], None),
            Vec::from_iter(expected),
            "{path}"
        );
    }
    let mut open = extension("new", &[]);
    open.root.put("rootfs/etc/cri/conf.d/00-base.part", TreeEntry::file(0o644, b"base"));
    assert_eq!(found_in(&crowded(), &[open], None).len(), 1, "another mode");
}

#[test]
fn files_hidden_by_an_extension_of_the_image_do_not_conflict() {
    let there = extension("there", &[("etc/cri/conf.d/00-base.part", b"there")]);
    let image = assembled(&crowded(), &[there]);

    let same = extension("new", &[("etc/cri/conf.d/00-base.part", b"there")]);
    let other = extension("old", &[("etc/cri/conf.d/00-base.part", b"base")]);

    let expected = "there (in the image) and old have different files at /etc/cri/conf.d/00-base.part: one would hide the other";
    assert_eq!(found_in(&image, &[same], None), [""; 0]);
    assert_eq!(found_in(&image, &[other], None), [expected]);
}

#[test]
fn depmod_files_of_extensions_do_not_conflict() {
    let dep = "usr/lib/modules/6.12.45-talos/modules.dep";
    let zfs = extension("zfs", &[(dep, b"of zfs"), ("usr/lib/modules/6.12.45-talos/extras/zfs.ko", b"z")]);
    let drbd =
        extension("drbd", &[(dep, b"of drbd"), ("usr/lib/modules/6.12.45-talos/extras/drbd.ko", b"d")]);
    let image = assembled(&crowded(), std::slice::from_ref(&zfs));

    assert_eq!(found_in(&crowded(), &[zfs, drbd.clone()], None), [""; 0]);
    assert_eq!(found_in(&image, &[drbd], None), [""; 0]);
}
