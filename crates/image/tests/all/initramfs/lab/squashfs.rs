//! Squashfs of ours, read by unsquashfs and mounted by a kernel; and those of mksquashfs, read by us.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ichor_image::oci::{FileTree, TreeEntry};
use tempfile::TempDir;

use super::tools::{gather, lay_out, run};
use crate::initramfs::squashfs::{read, written};
use crate::initramfs::trees;
use ichor_testbed::vm;

#[test]
fn unsquashfs_reads_every_tree_without_warnings() {
    for root in trees::all() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("image"), written(&root)).unwrap();

        let output =
            run(folder.path(), "unsquashfs", &["-no-progress", "-strict-errors", "-d", "out", "image"]);

        assert!(!output.to_lowercase().contains("corrupt"), "{output}");
        assert!(gather(&folder.path().join("out")) == root, "unsquashfs read another tree");
    }
}

#[test]
fn unsquashfs_finds_the_superblock_as_talos_has_it() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("image"), written(&trees::random(2))).unwrap();

    let facts = run(folder.path(), "unsquashfs", &["-stat", "image"]);
    let list = run(folder.path(), "unsquashfs", &["-lls", "image"]);

    for fact in
        ["SQUASHFS 4:0", "Compression zstd", "compression-level 18", "Block size 131072", "Number of ids 1"]
    {
        assert!(facts.contains(fact), "{fact}: {facts}");
    }
    let entries = list.lines().filter(|line| line.contains("squashfs-root"));
    assert!(
        entries.clone().all(|line| line.contains(" root/root ") && line.contains(" 1970-01-01 ")),
        "{list}"
    );
    assert!(entries.count() > 10, "{list}");
}

/// The entries of a folder with their labels, as getfattr prints them.
fn labels(folder: &Path) -> BTreeMap<String, String> {
    let list = run(folder, "getfattr", &["-R", "-P", "-h", "-d", "-m", "security.selinux", "."]);
    let mut labels = BTreeMap::new();
    let mut file = "";
    for line in list.lines() {
        if let Some(name) = line.strip_prefix("# file: ") {
            file = name;
        } else if let Some(value) = line.strip_prefix("security.selinux=\"") {
            labels.insert(file.to_owned(), value.trim_end_matches('"').to_owned());
        }
    }
    labels
}

fn expected_labels(root: &FileTree) -> BTreeMap<String, String> {
    let label = |(path, entry): (&str, &TreeEntry)| Some((path.to_owned(), entry.label.clone()?));
    root.iter().filter_map(label).collect()
}

#[test]
fn unsquashfs_finds_every_label() {
    let (folder, root) = (TempDir::new().unwrap(), trees::labelled());
    fs::write(folder.path().join("image"), written(&root)).unwrap();

    run(folder.path(), "unsquashfs", &["-no-progress", "-strict-errors", "-d", "out", "image"]);

    let expected = expected_labels(&root);
    assert_eq!(expected.len(), 4);
    assert_eq!(labels(&folder.path().join("out")), expected);
}

#[test]
fn attributes_are_stored_as_mksquashfs_stores_them() {
    let folder = TempDir::new().unwrap();
    let mut root = FileTree::default();
    let label = "system_u:object_r:system_state_t:s0";
    root.put("x", TreeEntry { label: Some(label.to_owned()), ..TreeEntry::file(0o644, b"x") });
    fs::write(folder.path().join("ours"), written(&root)).unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    fs::write(folder.path().join("in/x"), b"x").unwrap();
    run(folder.path(), "setfattr", &["-n", "security.selinux", "-v", label, "in/x"]);
    run(
        folder.path(),
        "mksquashfs",
        &["in", "theirs", "-no-progress", "-noX", "-noI", "-comp", "zstd", "-all-root"],
    );

    let entry = |name: &str| {
        let image = fs::read(folder.path().join(name)).unwrap();
        let at =
            |at: usize| usize::try_from(u64::from_le_bytes(image[at..at + 8].try_into().unwrap())).unwrap();
        let table = at(56);
        let list = at(table + 16) + 2;
        assert!(image[list - 1] & 0x80 != 0, "it is not compressed");
        image[list..list + 16].to_vec()
    };

    assert_eq!(entry("ours"), entry("theirs"));
}

#[test]
fn images_of_mksquashfs_are_read() {
    let ways: [&[&str]; 9] = [
        &["-comp", "zstd", "-Xcompression-level", "3"],
        &["-comp", "xz"],
        &["-comp", "xz", "-Xbcj", "x86", "-b", "1M"],
        &["-comp", "gzip"],
        &["-comp", "zstd", "-no-fragments", "-no-duplicates"],
        &["-comp", "zstd", "-always-use-fragments", "-b", "4K"],
        &["-comp", "gzip", "-noI", "-noD", "-noF"],
        &["-comp", "zstd", "-noId", "-noI", "-no-sparse", "-no-exports"],
        &["-comp", "zstd", "-nopad", "-no-xattrs"],
    ];
    for root in [trees::random(21), trees::random(22), trees::edges(), trees::small()[0].clone()] {
        let folder = TempDir::new().unwrap();
        lay_out(&root, &folder.path().join("in"));
        for way in ways {
            let fixed = ["in", "image", "-noappend", "-no-progress", "-all-root"];
            run(folder.path(), "mksquashfs", &[&fixed[..], way].concat());
            let image = fs::read(folder.path().join("image")).unwrap();
            assert!(read(&image).unwrap() == root, "{way:?}");
        }
    }
}

#[test]
fn unsupported_compression_is_named() {
    let folder = TempDir::new().unwrap();
    lay_out(&trees::small()[2], &folder.path().join("in"));
    run(folder.path(), "mksquashfs", &["in", "image", "-comp", "lz4", "-no-progress"]);

    let error = read(&fs::read(folder.path().join("image")).unwrap()).unwrap_err();

    assert_eq!(error.to_string(), "the squashfs is compressed with lz4; want zstd, xz or gzip");
}

#[test]
fn a_linux_kernel_mounts_every_tree() {
    let roots = || trees::small().into_iter().chain([trees::random(1), trees::edges(), trees::labelled()]);
    let fill = |folder: &Path| {
        for (nth, root) in roots().enumerate() {
            fs::write(folder.join(nth.to_string()), written(&root)).unwrap();
        }
    };

    vm::run_in_vm_with(fill, |folder| {
        // There is nowhere to write but memory.
        run(folder, "mount", &["-t", "tmpfs", "tmpfs", "/mnt"]);
        let (at, last) = (Path::new("/mnt"), roots().count() - 1);
        for (nth, root) in roots().enumerate() {
            run(folder, "mount", &["-t", "squashfs", "-o", "ro,loop", &nth.to_string(), "/mnt"]);
            if nth == last {
                assert_eq!(labels(at), expected_labels(&root));
            } else {
                assert!(gather(at) == root, "the kernel shows another tree");
            }
            run(folder, "umount", &["/mnt"]);
        }
    });
}
