//! Trees to write.

use ichor_image::oci::{FileTree, TreeEntry};

/// The length of a block of squashfs.
pub const BLOCK: usize = 128 << 10;

/// Numbers that follow from a seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next()).unwrap() % end
    }

    /// Bytes that can be compressed in part: few letters, or noise.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mask = [0x01, 0x0f, 0xff][self.below(3)];
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend(self.next().to_le_bytes()[..5].iter().map(|byte| byte & mask));
        }
        bytes.truncate(length);
        bytes
    }
}

/// A tree of folders, files of many lengths, and links.
pub fn random(seed: u64) -> FileTree {
    let mut dice = Random::new(seed);
    let mut root = FileTree::default();
    let mut folders = vec![String::new()];
    let lengths = [0, 1, 100, 5000, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 77];
    for nth in 0..12 + dice.below(20) {
        let folder = &folders[dice.below(folders.len())];
        let name = ["a", "b-", "ccc.so", "Ü", "d d"][dice.below(5)];
        let path = format!("{folder}{name}{nth}");
        let mode = [0o644, 0o755, 0o400, 0, 0o4755, 0o1777][dice.below(6)];
        let entry = match dice.below(8) {
            0 | 1 => {
                folders.push(format!("{path}/"));
                TreeEntry { mode: [0o755, 0o700, 0o1777][dice.below(3)], ..TreeEntry::folder() }
            }
            2 => TreeEntry::link(["/usr/lib", "../x", "nowhere at all"][dice.below(3)]),
            _ => {
                let length = lengths[dice.below(lengths.len())];
                TreeEntry::file(mode, dice.bytes(length))
            }
        };
        root.put(&path, entry);
    }
    root
}

/// A folder with so many files that their listing has several runs, blocks and sizes of inodes; and everything that is at an edge.
pub fn edges() -> FileTree {
    let mut root = FileTree::default();
    for nth in 0..3000 {
        root.put(
            &format!("many/a-longer-name-for-file-{nth}"),
            TreeEntry::file(0o644, format!("{}", nth % 700).as_bytes()),
        );
        if nth % 7 == 0 {
            root.put(&format!("many/folder-{nth}"), TreeEntry::folder());
        }
    }
    let same = Random::new(7).bytes(2 * BLOCK);
    root.put("same/one", TreeEntry::file(0o755, same.clone()));
    root.put("same/other", TreeEntry::file(0o644, same));
    root.put(&"n".repeat(255), TreeEntry::file(0o600, b"x"));
    root.put("link", TreeEntry::link("t".repeat(4095)));
    root.put("zeros", TreeEntry::file(0o644, vec![0; 5 * BLOCK]));
    root.put(&vec!["deep"; 300].join("/"), TreeEntry { mode: 0o700, ..TreeEntry::folder() });
    root
}

/// A tree in which some have labels: a file that is stored in blocks, a short one, a folder and a link.
pub fn labelled() -> FileTree {
    let mut root = random(9);
    let labels = ["system_u:object_r:system_state_t:s0", "system_u:object_r:other_t:s0"];
    let label = |nth: usize| Some(labels[nth % 2].to_owned());
    root.put("l-long", TreeEntry { label: label(0), ..TreeEntry::file(0o400, vec![1; 2 * BLOCK]) });
    root.put("l-short", TreeEntry { label: label(1), ..TreeEntry::file(0, b"short") });
    root.put("l-folder", TreeEntry { label: label(0), ..TreeEntry::folder() });
    root.put("l-folder/inside", TreeEntry::file(0o644, b"x"));
    root.put("l-link", TreeEntry { label: label(1), ..TreeEntry::link("l-short") });
    root
}

/// An empty tree, and an empty file.
pub fn small() -> [FileTree; 3] {
    let mut empty_file = FileTree::default();
    empty_file.put("empty", TreeEntry::file(0o644, b""));
    let mut one = FileTree::default();
    one.put("one", TreeEntry::file(0o644, b"one"));
    [FileTree::default(), empty_file, one]
}

/// All trees.
pub fn all() -> Vec<FileTree> {
    small().into_iter().chain((1..5).map(random)).chain([edges()]).collect()
}
