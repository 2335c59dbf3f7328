//! Archives of cpio: written, and read back.

use std::io::Read;

use ichor_image::media::cpio;
use ichor_image::media::cpio::{CpioReader, CpioWriteError, FileType};
use ichor_image::media::{Content, ImageError};
use ichor_image::oci;
use ichor_image::oci::{FileTree, TreeEntry};
use proptest::prelude::*;

use crate::initramfs::trees;

/// An archive as a tree.
pub fn read(bytes: &[u8]) -> Result<FileTree, ImageError> {
    let mut reader = CpioReader::new(bytes);
    let mut root = FileTree::default();
    while let Some(entry) = reader.entry()? {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(ImageError::Read)?;
        assert!(bytes.len() as u64 == entry.length);
        let found = match entry.shape {
            FileType::Folder => TreeEntry { mode: entry.mode, ..TreeEntry::folder() },
            FileType::File => TreeEntry::file(entry.mode, bytes),
            FileType::Link => TreeEntry::link(String::from_utf8_lossy(&bytes)),
            FileType::Special => TreeEntry { mode: entry.mode, ..special() },
        };
        root.put(&entry.name, found);
    }
    Ok(root)
}

fn special() -> TreeEntry {
    let mut entry = TreeEntry::folder();
    entry.kind = oci::EntryKind::Special("device");
    entry
}

#[test]
fn a_tree_is_read_back_as_it_was() {
    for root in trees::all() {
        let archive = cpio::write(&root).unwrap().read().unwrap();

        assert_eq!(archive.len() % 512, 0);
        assert_eq!(read(&archive).unwrap(), root);
    }
}

#[test]
fn headers_match_those_of_reproducible_cpio() {
    let mut root = FileTree::default();
    root.put("a/b", TreeEntry::folder());
    root.put("a/f", TreeEntry::file(0o4755, b"xy"));
    root.put("l", TreeEntry::link("a"));

    let archive = cpio::write(&root).unwrap().read().unwrap();

    // Everything is root's, without times and devices.
    let none = "00000000";
    for (number, mode, links, length, name) in [
        (0, 0o040_755, 3, 0, "a"),
        (1, 0o040_755, 2, 0, "a/b"),
        (2, 0o104_755, 1, 2, "a/f"),
        (3, 0o120_777, 1, 1, "l"),
        (0, 0, 1, 0, "TRAILER!!!"),
    ] {
        let devices = none.repeat(4);
        let head = format!(
            "070701{number:08X}{mode:08X}{none}{none}{links:08X}{none}{length:08X}{devices}{:08X}{none}{name}\0",
            name.len() + 1
        );
        assert!(archive.windows(head.len()).any(|window| window == head.as_bytes()), "{head}");
    }
}

#[test]
fn folders_precede_their_entries_in_sorted_order() {
    let mut root = FileTree::default();
    for path in ["usr/lib/firmware/a", "usr-b", "10.sqsh", "2.sqsh"] {
        root.put(path, TreeEntry::file(0o644, b"x"));
    }
    let archive = cpio::write(&root).unwrap().read().unwrap();
    let mut reader = CpioReader::new(archive.as_slice());
    let mut names = Vec::new();
    while let Some(entry) = reader.entry().unwrap() {
        names.push(entry.name);
    }

    assert_eq!(
        names,
        ["10.sqsh", "2.sqsh", "usr", "usr/lib", "usr/lib/firmware", "usr/lib/firmware/a", "usr-b"]
    );
}

#[test]
fn files_beyond_the_format_are_rejected() {
    let mut root = FileTree::default();
    root.put("large", TreeEntry::file(0o644, Content::zeros(1 << 32)));
    let error = cpio::write(&root).unwrap_err();
    assert_eq!(error, CpioWriteError::Long { path: "large".to_owned(), length: 1 << 32 });

    root.put("large", special());
    assert!(matches!(cpio::write(&root), Err(CpioWriteError::Special { .. })));
}

#[test]
fn a_truncated_archive_is_reported() {
    let archive = cpio::write(&trees::random(3)).unwrap().read().unwrap();
    for length in (0..archive.len() - 1024).step_by(4999) {
        assert!(read(&archive[..length]).is_err(), "{length}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..2000), magic in any::<bool>()) {
        let bytes = if magic { [&b"070701"[..], &b"0".repeat(104), &bytes].concat() } else { bytes };
        let _ = read(&bytes);
    }

    #[test]
    fn an_archive_with_changed_bytes_is_read_or_rejected(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut root = FileTree::default();
        root.put("a/b", TreeEntry::file(0o644, b"some"));
        root.put("a/c", TreeEntry::link("b"));
        let mut archive = cpio::write(&root).unwrap().read().unwrap();
        for (index, byte) in changes {
            let at = index.index(archive.len());
            archive[at] = byte;
        }
        let _ = read(&archive);
    }
}
