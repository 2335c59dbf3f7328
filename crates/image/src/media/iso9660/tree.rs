//! The contents of an ISO: folders and files, by number.

use std::collections::BTreeMap;

use crate::media::{Content, Volume};
use crate::oci;

/// The top folder, which is always there.
pub(super) const TOP: usize = 0;

/// The deepest nesting of folders, with the top folder (ECMA-119 6.8.2.1). Deeper ones would have to be relocated.
const DEEPEST: usize = 8;
/// The longest name: with it, a record with everything that Rock Ridge adds is at most 254 bytes long.
const LONGEST_NAME: usize = 110;
/// The longest file: its length has 32 bits.
const LONGEST_FILE: u64 = u32::MAX as u64;
/// The most of everything. Path tables have 16 bits for the number of a folder.
const MOST: usize = u16::MAX as usize;
/// The most bytes of all files.
const ROOM: u64 = 1 << 40;

/// The permissions of files on a small volume: only its owner may read it, because it may contain passwords.
const SECRET_FILE: u32 = 0o400;
const SECRET_FOLDER: u32 = 0o500;
/// The permissions of the top folder of other CDs.
const OPEN_FOLDER: u32 = 0o755;

/// Why a tree does not fit on a CD.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IsoTreeError {
    /// A name is invalid.
    #[error(
        "`{0}` is not a valid file name on an ISO; want 1 to {LONGEST_NAME} bytes, other than `.` and `..`"
    )]
    Name(String),
    /// Its folders are too deep.
    #[error("`{0}` is nested too deeply for an ISO; want at most 7 levels of folders")]
    Deep(String),
    /// A special file.
    #[error("`{0}` is neither a file nor a folder; an ISO supports nothing else")]
    Kind(String),
    /// A file is too long.
    #[error("`{path}` has {length} bytes; files on an ISO must be smaller than 4 GiB")]
    Long {
        /// Its path.
        path: String,
        /// Its length.
        length: u64,
    },
    /// All files together are.
    #[error("the files have {0} bytes in total; an ISO has at most 1 TiB")]
    Room(u64),
    /// There are too many.
    #[error("{0} files and folders are too many for an ISO; want at most {MOST}")]
    Many(usize),
}

/// Folders and files, the top folder first, and every folder before its entries.
pub(super) struct IsoTree {
    pub(super) nodes: Vec<IsoNode>,
}

/// A folder or a file.
pub(super) struct IsoNode {
    pub(super) name: String,
    /// The folder it is in; the top folder is in itself.
    pub(super) above: usize,
    pub(super) mode: u32,
    pub(super) kind: IsoNodeKind,
}

/// The kind of a node.
pub(super) enum IsoNodeKind {
    /// A folder with its entries.
    Folder(Vec<usize>),
    /// A file.
    File(Content),
}

impl IsoTree {
    /// The files of a small volume, in their order.
    pub(super) fn of_volume(volume: &Volume<'_>) -> Self {
        let mut tree = Self::with_top(SECRET_FOLDER);
        for (name, bytes) in volume.files() {
            tree.add(TOP, name, SECRET_FILE, IsoNodeKind::File(Content::from(*bytes)));
        }
        tree
    }

    /// A root file system, or the first thing that is wrong with it.
    pub(super) fn of_root(root: &oci::FileTree) -> Result<Self, IsoTreeError> {
        let mut tree = Self::with_top(OPEN_FOLDER);
        let mut folders = BTreeMap::from([("", TOP)]);
        if root.len() > MOST {
            return Err(IsoTreeError::Many(root.len()));
        }
        for (path, entry) in root.iter() {
            let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
            let kind = check(path, name, &entry.kind)?;
            let nth = tree.add(folders[above], name, entry.mode & 0o7777, kind);
            if entry.kind == oci::EntryKind::Folder {
                folders.insert(path, nth);
            }
        }
        let length = tree.files().map(|(_, file)| file.len()).fold(0, u64::saturating_add);
        if length > ROOM { Err(IsoTreeError::Room(length)) } else { Ok(tree) }
    }

    fn with_top(mode: u32) -> Self {
        Self {
            nodes: vec![IsoNode {
                name: String::new(),
                above: TOP,
                mode,
                kind: IsoNodeKind::Folder(Vec::new()),
            }],
        }
    }

    fn add(&mut self, above: usize, name: &str, mode: u32, kind: IsoNodeKind) -> usize {
        let nth = self.nodes.len();
        self.nodes.push(IsoNode { name: name.to_owned(), above, mode, kind });
        if let IsoNodeKind::Folder(inside) = &mut self.nodes[above].kind {
            inside.push(nth);
        }
        nth
    }

    /// The entries of a folder.
    pub(super) fn inside(&self, folder: usize) -> &[usize] {
        match &self.nodes[folder].kind {
            IsoNodeKind::Folder(inside) => inside,
            IsoNodeKind::File(_) => &[],
        }
    }

    /// All files.
    pub(super) fn files(&self) -> impl Iterator<Item = (usize, &Content)> {
        self.nodes.iter().enumerate().filter_map(|(nth, node)| match &node.kind {
            IsoNodeKind::File(content) => Some((nth, content)),
            IsoNodeKind::Folder(_) => None,
        })
    }

    /// The file at a path.
    pub(super) fn file(&self, path: &str) -> Option<(usize, &Content)> {
        let mut found = TOP;
        for name in path.split('/') {
            found = *self.inside(found).iter().find(|nth| self.nodes[**nth].name == name)?;
        }
        self.files().find(|(nth, _)| *nth == found)
    }

    /// The link count of a node: a folder has one more for itself, and one for each subfolder.
    pub(super) fn links(&self, node: usize) -> u32 {
        let folders = self.inside(node).iter().filter(|nth| self.nodes[**nth].is_folder()).count();
        let own = if self.nodes[node].is_folder() { 2 } else { 1 };
        own + u32::try_from(folders).expect("at most 65,535")
    }
}

impl IsoNode {
    pub(super) fn is_folder(&self) -> bool {
        matches!(self.kind, IsoNodeKind::Folder(_))
    }
}

fn check(path: &str, name: &str, kind: &oci::EntryKind) -> Result<IsoNodeKind, IsoTreeError> {
    if !(1..=LONGEST_NAME).contains(&name.len()) || [".", ".."].contains(&name) || name.contains('\0') {
        return Err(IsoTreeError::Name(path.to_owned()));
    }
    let depth = path.matches('/').count() + 1;
    match kind {
        oci::EntryKind::Folder if depth < DEEPEST => Ok(IsoNodeKind::Folder(Vec::new())),
        oci::EntryKind::Folder => Err(IsoTreeError::Deep(path.to_owned())),
        oci::EntryKind::File(content) if content.len() <= LONGEST_FILE => {
            Ok(IsoNodeKind::File(content.clone()))
        }
        oci::EntryKind::File(content) => {
            Err(IsoTreeError::Long { path: path.to_owned(), length: content.len() })
        }
        oci::EntryKind::Link(_) | oci::EntryKind::Special(_) => Err(IsoTreeError::Kind(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::{FileTree, TreeEntry};

    fn error(path: &str, entry: TreeEntry) -> Option<IsoTreeError> {
        let mut root = FileTree::default();
        root.put(path, entry);
        IsoTree::of_root(&root).err()
    }

    #[test]
    fn invalid_names_and_depths_are_rejected() {
        let (deep, deepest) = ("a/b/c/d/e/f/g/h", "a/b/c/d/e/f/g");
        let long = "n".repeat(111);
        let gigabytes = || TreeEntry::file(0o644, Content::zeros(4 << 30));

        assert_eq!(error(deep, TreeEntry::folder()), Some(IsoTreeError::Deep(deep.to_owned())));
        assert_eq!(error(deep, TreeEntry::file(0o644, b"")), None);
        assert_eq!(error(deepest, TreeEntry::folder()), None);
        assert_eq!(error("l", TreeEntry::link("a")), Some(IsoTreeError::Kind("l".to_owned())));
        for name in [&long, "a//b", "..", "a/.", "a\0"] {
            assert!(matches!(error(name, TreeEntry::folder()), Some(IsoTreeError::Name(_))), "{name:?}");
        }
        assert!(matches!(error("f", gigabytes()), Some(IsoTreeError::Long { length: 0x1_0000_0000, .. })));
    }

    #[test]
    fn files_beyond_the_limits_are_rejected() {
        let mut root = FileTree::default();
        for nth in 0..257 {
            root.put(&nth.to_string(), TreeEntry::file(0o644, Content::zeros(LONGEST_FILE)));
        }
        assert!(matches!(IsoTree::of_root(&root), Err(IsoTreeError::Room(_))));

        for nth in 0..=MOST {
            root.put(&nth.to_string(), TreeEntry::folder());
        }
        assert!(matches!(IsoTree::of_root(&root), Err(IsoTreeError::Many(_))));
    }
}
