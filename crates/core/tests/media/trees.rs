//! FAT32 file systems of trees, read back by our reader.

use std::collections::BTreeMap;
use std::sync::Arc;

use ichor_image::media::fat::{FatError, SMALLEST_TREE, tree};
use ichor_image::media::{Content, DirectoryEntry as Found, FileSystem, FileSystemType as FileSystemKind};
use ichor_image::oci::{EntryKind, FileTree, TreeEntry};
use proptest::prelude::*;

/// The boot file of UEFI, a file with external contents, a read-only one, an empty one, and names of all lengths.
pub fn efi() -> FileTree {
    let mut root = FileTree::default();
    let kernel: Vec<u8> = (0..3_000_000_u32).map(|nth| (nth / 7 % 251) as u8).collect();
    root.put("EFI/BOOT/BOOTX64.EFI", TreeEntry::file(0o644, b"MZ"));
    root.put("EFI/Linux/Talos-v1.13.9.efi", TreeEntry::file(0o644, Content::from_image(Arc::new(kernel))));
    root.put("EFI/Linux/Talos-v1.13.9~1.efi", TreeEntry::file(0o644, vec![7; 4096]));
    root.put("loader/loader.conf", TreeEntry::file(0o644, b"timeout 10\n"));
    root.put("loader/random-seed", TreeEntry::file(0o444, vec![0; 32]));
    root.put("loader/empty", TreeEntry::file(0o644, b""));
    root.put("loader/entries", TreeEntry::folder());
    root.put(&format!("{} +[x].text", "long".repeat(60)), TreeEntry::file(0o644, b"long"));
    // More than one cluster of directory entries.
    for nth in 0..300_usize {
        root.put(
            &format!("many/a file with a name, number {nth}"),
            TreeEntry::file(0o644, vec![nth.to_le_bytes()[0]; nth]),
        );
    }
    root
}

/// All files of a file system by path; folders have no contents.
fn read(content: &Content) -> BTreeMap<String, Option<Vec<u8>>> {
    let found = FileSystem::open(content).unwrap();
    assert_eq!(found.kind, FileSystemKind::Fat32);
    let mut all = BTreeMap::new();
    let mut left: Vec<(String, Found)> =
        found.files.iter().map(|file| (file.name.clone(), file.clone())).collect();
    while let Some((path, entry)) = left.pop() {
        let bytes = (!entry.folder).then(|| found.read(content, &entry).unwrap());
        for below in found.list(content, &entry).unwrap() {
            left.push((format!("{path}/{}", below.name), below));
        }
        all.insert(path, bytes);
    }
    all
}

/// The same of a tree.
pub fn expected(root: &FileTree) -> BTreeMap<String, Option<Vec<u8>>> {
    let bytes = |entry: &TreeEntry| match &entry.kind {
        EntryKind::File(content) => Some(content.read().unwrap()),
        _ => None,
    };
    root.iter().map(|(path, entry)| (path.to_owned(), bytes(entry))).collect()
}

#[test]
fn a_tree_is_read_back_unchanged() {
    for size in [SMALLEST_TREE, 300 << 20, 2101 << 20] {
        let content = tree("EFI", &efi(), size).unwrap();

        assert_eq!(content.len(), size);
        assert_eq!(FileSystem::open(&content).unwrap().label, "EFI");
        assert_eq!(read(&content), expected(&efi()));
    }
}

#[test]
fn free_space_is_sparse() {
    let content = tree("EFI", &efi(), 2101 << 20).unwrap();

    let there =
        content.stretches().into_iter().filter(|stretch| !stretch.is_hole).map(|stretch| stretch.length);
    assert!(there.sum::<u64>() < 4 << 20);
}

#[test]
fn a_volume_is_full_when_its_last_cluster_is_used() {
    let with = |length: u64| {
        let mut root = FileTree::default();
        root.put("file", TreeEntry::file(0o644, Content::zeros(length)));
        tree("EFI", &root, SMALLEST_TREE)
    };
    let Err(FatError::Full { needed, room, .. }) = with(SMALLEST_TREE) else { panic!("it fits") };
    // The root folder uses one cluster.
    assert_eq!(needed, SMALLEST_TREE + 512);

    assert!(with(room - 512).is_ok());
    assert!(with(room - 511).is_err());
}

#[test]
fn invalid_contents_are_rejected() {
    let with = |path: &str, entry: TreeEntry| {
        let mut root = FileTree::default();
        root.put("There", TreeEntry::file(0o644, b""));
        root.put(path, entry);
        tree("EFI", &root, SMALLEST_TREE).unwrap_err()
    };
    let file = || TreeEntry::file(0o644, b"");

    for name in ["a:b", "a.", "a ", "\u{e4}", "folder/a?", "a\\b", &"n".repeat(256)] {
        assert_eq!(with(name, file()), FatError::Name(name.to_owned()));
    }
    assert_eq!(with("there", file()), FatError::Twice("There".to_owned(), "there".to_owned()));
    assert_eq!(with("link", TreeEntry::link("There")), FatError::Other("link".to_owned()));
    let long = TreeEntry::file(0o644, Content::zeros(1 << 32));
    assert_eq!(with("long", long), FatError::Long { path: "long".to_owned(), length: 1 << 32 });
    for label in ["", "small", "TWELVE LETTR"] {
        assert_eq!(tree(label, &FileTree::default(), SMALLEST_TREE), Err(FatError::Label(label.to_owned())));
    }
    for size in [0, SMALLEST_TREE - 512, SMALLEST_TREE + 1, 1 << 60] {
        assert_eq!(tree("EFI", &FileTree::default(), size), Err(FatError::Size(size)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_tree_is_read_back(
        files in proptest::collection::btree_map("([a-z]{1,3}/){0,3}[0-9][a-z0-9 +,;=~_-]{0,30}(\\.[a-z]{1,5})?[a-z]", 0..9000_usize, 0..24),
    ) {
        let mut root = FileTree::default();
        for (path, length) in &files {
            root.put(path, TreeEntry::file(0o644, vec![length.to_le_bytes()[0]; *length]));
        }
        let content = tree("ANY", &root, SMALLEST_TREE).unwrap();
        prop_assert_eq!(read(&content), expected(&root));
    }
}
