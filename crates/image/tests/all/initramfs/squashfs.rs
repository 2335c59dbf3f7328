//! Squashfs: written, and read back.

use std::io::{self, Cursor};

use ichor_image::media::squashfs;
use ichor_image::media::squashfs::{NodeKind, Squashfs, compress_in_order};
use ichor_image::media::{Image, ImageError};
use ichor_image::oci;
use ichor_image::oci::{FileTree, TreeEntry};
use proptest::prelude::*;

use crate::initramfs::trees;

/// A tree as a squashfs.
pub fn written(root: &FileTree) -> Vec<u8> {
    let mut image = Cursor::new(Vec::new());
    squashfs::write(root, "", &mut image, &compress_in_order).unwrap();
    image.into_inner()
}

fn special(mode: u32, what: &'static str) -> TreeEntry {
    TreeEntry { mode, kind: oci::EntryKind::Special(what), label: None }
}

/// A squashfs as a tree. Labels are not read.
pub fn read(image: &dyn Image) -> Result<FileTree, ImageError> {
    let squashfs = Squashfs::open(image)?;
    let mut root = FileTree::default();
    squashfs.walk(&squashfs.top()?, &mut |path, node| {
        let entry = match &node.kind {
            NodeKind::Folder => TreeEntry { mode: node.mode, ..TreeEntry::folder() },
            NodeKind::File => TreeEntry::file(node.mode, squashfs.read(node, 64 << 20)?),
            NodeKind::Link(target) => TreeEntry::link(target),
            NodeKind::Special(what) => special(node.mode, what),
        };
        root.put(path, entry);
        Ok(())
    })?;
    Ok(root)
}

#[test]
fn a_tree_is_read_back_as_it_was() {
    for root in trees::all() {
        let image = written(&root);

        assert_eq!(image.len() % 4096, 0);
        assert_eq!(read(&image).unwrap(), root);
    }
}

/// The first block of metadata at a place.
fn metadata(image: &[u8], at: usize) -> Vec<u8> {
    let head = u16::from_le_bytes([image[at], image[at + 1]]);
    let stored = &image[at + 2..at + 2 + usize::from(head & 0x7fff)];
    if head & 0x8000 != 0 { stored.to_vec() } else { zstd::bulk::decompress(stored, 8192).unwrap() }
}

#[test]
fn folder_inodes_have_link_count_and_parent() {
    let mut root = FileTree::default();
    root.put("a/b", TreeEntry::folder());
    root.put("a/c", TreeEntry::folder());

    let image = written(&root);

    let inodes = u64::from_le_bytes(image[64..72].try_into().unwrap());
    let table = metadata(&image, usize::try_from(inodes).unwrap());
    let word = |inode: &[u8], at: usize| u32::from_le_bytes(inode[at..at + 4].try_into().unwrap());
    // The entries of a folder precede it: `c`, `b`, `a`, the top.
    let folders: Vec<_> =
        table.chunks(32).map(|inode| (word(inode, 12), word(inode, 20), word(inode, 28))).collect();
    assert_eq!(folders[..3], [(4, 2, 2), (3, 2, 2), (2, 4, 1)], "number, links and parent");
    assert_eq!((folders[3].0, folders[3].1, folders.len()), (1, 3, 4));
}

#[test]
fn parallel_compression_gives_the_same_bytes() {
    let root = trees::random(3);
    let backwards = |blocks: &[Vec<u8>]| -> io::Result<Vec<Vec<u8>>> {
        let mut pressed: Vec<_> = blocks
            .iter()
            .rev()
            .map(|block| Ok(compress_in_order(std::slice::from_ref(block))?.remove(0)))
            .collect::<io::Result<_>>()?;
        pressed.reverse();
        Ok(pressed)
    };
    let mut image = Cursor::new(Vec::new());
    squashfs::write(&root, "", &mut image, &backwards).unwrap();

    assert_eq!(image.into_inner(), written(&root));
}

#[test]
fn files_with_equal_content_are_stored_once() {
    let mut root = FileTree::default();
    let bytes = trees::Random::new(1).bytes(600_000);
    root.put("one", TreeEntry::file(0o644, bytes.clone()));
    let once = written(&root).len();
    root.put("other", TreeEntry::file(0o755, bytes));

    let twice = written(&root);

    assert!(twice.len() <= once + 4096, "{} and {once}", twice.len());
    assert_eq!(read(&twice).unwrap(), root);
}

#[test]
fn a_folder_of_a_tree_is_the_top_with_its_permissions() {
    let mut root = FileTree::default();
    root.put("rootfs", TreeEntry { mode: 0o711, ..TreeEntry::folder() });
    root.put("rootfs/usr/x", TreeEntry::file(0o644, b"x"));
    root.put("manifest.yaml", TreeEntry::file(0o644, b""));
    let mut image = Cursor::new(vec![9; 100]);
    image.set_position(100);

    squashfs::write(&root, "rootfs", &mut image, &compress_in_order).unwrap();

    let image = image.into_inner().split_off(100);
    let squashfs = Squashfs::open(&image).unwrap();
    let top = squashfs.top().unwrap();
    assert_eq!(top.mode, 0o711);
    let names: Vec<_> = squashfs.list(&top).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["usr"]);
    let file = squashfs.find("usr/x").unwrap().unwrap();
    assert_eq!(squashfs.read(&file, 1).unwrap(), b"x");
    assert!(matches!(squashfs.read(&file, 0), Err(ImageError::Long { length: 1, longest: 0, .. })));
    assert_eq!(squashfs.find("usr/x/y").unwrap(), None);
    assert_eq!(squashfs.find("usr/y").unwrap(), None);
}

#[test]
fn unsupported_entries_are_rejected() {
    for (path, entry, said) in [
        ("dev/null", special(0o666, "character device"), "`dev/null` is a character device"),
        (&*"n".repeat(256), TreeEntry::folder(), "has 256 bytes; want 1 to 255"),
        ("link", TreeEntry::link("t".repeat(4096)), "the link target of `link` has 4096 bytes"),
        ("link", TreeEntry::link(""), "the link target of `link` has 0 bytes"),
    ] {
        let mut root = FileTree::default();
        root.put(path, entry);

        let error = squashfs::write(&root, "", &mut Cursor::new(Vec::new()), &compress_in_order).unwrap_err();

        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn a_truncated_image_is_reported() {
    let image = written(&trees::random(3));
    let used = usize::try_from(Squashfs::open(&image).unwrap().size()).unwrap();
    for length in (0..used).step_by(9973) {
        let error = read(&image[..length].to_vec()).unwrap_err();
        assert!(matches!(error, ImageError::Short(_) | ImageError::CutOff { .. }), "{error}");
    }
}

#[test]
fn a_folder_loop_ends() {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let halves = |halves: &[u16]| halves.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<u8>>();
    // A folder whose listing has 24 bytes, and in it a name that leads to that folder.
    let inode = [halves(&[1, 0o755, 0, 0]), words(&[0, 1, 0, 2]), halves(&[24, 0]), words(&[1])].concat();
    let listing = [words(&[0, 0, 1]), halves(&[0, 0, 1, 0]), b"a".to_vec()].concat();
    let plain = |bytes: Vec<u8>| [halves(&[0x8000 | u16::try_from(bytes.len()).unwrap()]), bytes].concat();
    let (inodes, listings) = (plain(inode), plain(listing));
    let directories = 96 + inodes.len() as u64;
    let used = directories + listings.len() as u64;
    let tables =
        [0, used, u64::MAX, u64::MAX, 96, directories, u64::MAX, u64::MAX].map(u64::to_le_bytes).concat();
    let head = [words(&[0x7371_7368, 1, 0, 1 << 17, 0]), halves(&[6, 17, 0, 1, 4, 0]), tables].concat();
    let image = [head, inodes, listings].concat();

    let error = read(&image).unwrap_err();

    assert!(matches!(error, ImageError::Broken("folder tree")), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn an_image_with_changed_bytes_is_read_or_rejected(
        seed in 1_u64..4,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..3), 1..20),
    ) {
        let mut image = images(seed);
        let tables = usize::try_from(u64::from_le_bytes(image[64..72].try_into().unwrap())).unwrap();
        for (index, byte, part) in changes {
            let reach = [0..96, tables..image.len(), 0..image.len()][usize::from(part)].clone();
            let at = reach.start + index.index(reach.len());
            image[at] = byte;
        }
        let _ = read(&image);
    }

    #[test]
    fn arbitrary_bytes_are_read_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        let _ = read(&bytes);
    }
}

/// Small images, written once.
fn images(seed: u64) -> Vec<u8> {
    static IMAGES: [std::sync::OnceLock<Vec<u8>>; 4] = [const { std::sync::OnceLock::new() }; 4];
    let image = IMAGES[usize::try_from(seed).unwrap()].get_or_init(|| {
        let mut root = FileTree::default();
        let mut dice = trees::Random::new(seed);
        for nth in 0..40 {
            let length = dice.below(900);
            root.put(&format!("a{}/b{nth}", nth % 5), TreeEntry::file(0o644, dice.bytes(length)));
        }
        root.put("long", TreeEntry::file(0o644, vec![7; 300_000]));
        root.put("link", TreeEntry::link("long"));
        written(&root)
    });
    image.clone()
}
