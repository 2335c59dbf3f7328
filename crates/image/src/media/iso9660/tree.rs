//! What goes on a CD: folders and files, by number.

use std::collections::BTreeMap;

use crate::media::{Content, Volume};
use crate::oci;

/// The top folder, which is always there.
pub(super) const TOP: usize = 0;

/// How deep folders may be, the top folder counted (ECMA-119 6.8.2.1). Deeper ones would have to be moved up.
const DEEPEST: usize = 8;
/// The longest name: with it, a record with everything that Rock Ridge adds is at most 254 bytes long.
const LONGEST_NAME: usize = 110;
/// The longest file: its length has 32 bits.
const LONGEST_FILE: u64 = u32::MAX as u64;
/// The most of everything. Path tables have 16 bits for the number of a folder.
const MOST: usize = u16::MAX as usize;
/// The most bytes of all files.
const ROOM: u64 = 1 << 40;

/// What those on a small volume may do: its owner alone may read it, because it may hold passwords.
const SECRET_FILE: u32 = 0o400;
const SECRET_FOLDER: u32 = 0o500;
/// What everybody may do with the top folder of other CDs.
const OPEN_FOLDER: u32 = 0o755;

/// Why a tree does not fit on a CD.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// It has a name that is none.
    #[error("`{0}` cannot be on a CD; want names of 1 to {LONGEST_NAME} bytes, other than `.` and `..`")]
    Name(String),
    /// Its folders are too deep.
    #[error("`{0}` is too deep for a CD; want folders at most 7 deep")]
    Deep(String),
    /// It is something else.
    #[error("`{0}` cannot be on a CD; want files and folders")]
    Kind(String),
    /// A file is too long.
    #[error("`{path}` has {length} bytes, too many for a file on a CD; want less than 4 GiB")]
    Long {
        /// Where it should be.
        path: String,
        /// How long it is.
        length: u64,
    },
    /// All files together are.
    #[error("files of {0} bytes together are too long for a CD; want at most 1 TiB")]
    Room(u64),
    /// There are too many.
    #[error("{0} files and folders are too many for a CD; want at most {MOST}")]
    Many(usize),
}

/// Folders and files, the top folder first, and every folder before what is in it.
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
}

/// A folder or a file.
pub(super) struct Node {
    pub(super) name: String,
    /// The folder it is in; the top folder is in itself.
    pub(super) above: usize,
    pub(super) mode: u32,
    pub(super) kind: Kind,
}

/// What it is.
pub(super) enum Kind {
    /// A folder, with what is in it.
    Folder(Vec<usize>),
    /// A file.
    File(Content),
}

impl Tree {
    /// The files of a small volume, in their order.
    pub(super) fn of_volume(volume: &Volume<'_>) -> Self {
        let mut tree = Self::with_top(SECRET_FOLDER);
        for (name, bytes) in volume.files() {
            tree.add(TOP, name, SECRET_FILE, Kind::File(Content::from(*bytes)));
        }
        tree
    }

    /// A root file system, or the first thing that is wrong with it.
    pub(super) fn of_root(root: &oci::Root) -> Result<Self, TreeError> {
        let mut tree = Self::with_top(OPEN_FOLDER);
        let mut folders = BTreeMap::from([("", TOP)]);
        if root.len() > MOST {
            return Err(TreeError::Many(root.len()));
        }
        for (path, entry) in root.iter() {
            let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
            let kind = check(path, name, &entry.kind)?;
            let nth = tree.add(folders[above], name, entry.mode & 0o7777, kind);
            if entry.kind == oci::Kind::Folder {
                folders.insert(path, nth);
            }
        }
        let length = tree.files().map(|(_, file)| file.len()).fold(0, u64::saturating_add);
        if length > ROOM { Err(TreeError::Room(length)) } else { Ok(tree) }
    }

    fn with_top(mode: u32) -> Self {
        Self { nodes: vec![Node { name: String::new(), above: TOP, mode, kind: Kind::Folder(Vec::new()) }] }
    }

    fn add(&mut self, above: usize, name: &str, mode: u32, kind: Kind) -> usize {
        let nth = self.nodes.len();
        self.nodes.push(Node { name: name.to_owned(), above, mode, kind });
        if let Kind::Folder(inside) = &mut self.nodes[above].kind {
            inside.push(nth);
        }
        nth
    }

    /// What is in a folder.
    pub(super) fn inside(&self, folder: usize) -> &[usize] {
        match &self.nodes[folder].kind {
            Kind::Folder(inside) => inside,
            Kind::File(_) => &[],
        }
    }

    /// All files.
    pub(super) fn files(&self) -> impl Iterator<Item = (usize, &Content)> {
        self.nodes.iter().enumerate().filter_map(|(nth, node)| match &node.kind {
            Kind::File(content) => Some((nth, content)),
            Kind::Folder(_) => None,
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

    /// How many names a node has: a folder has one more in itself, and one in each folder that is in it.
    pub(super) fn links(&self, node: usize) -> u32 {
        let folders = self.inside(node).iter().filter(|nth| self.nodes[**nth].is_folder()).count();
        let own = if self.nodes[node].is_folder() { 2 } else { 1 };
        own + u32::try_from(folders).expect("at most 65,535")
    }
}

impl Node {
    pub(super) fn is_folder(&self) -> bool {
        matches!(self.kind, Kind::Folder(_))
    }
}

fn check(path: &str, name: &str, kind: &oci::Kind) -> Result<Kind, TreeError> {
    if !(1..=LONGEST_NAME).contains(&name.len()) || [".", ".."].contains(&name) || name.contains('\0') {
        return Err(TreeError::Name(path.to_owned()));
    }
    let depth = path.matches('/').count() + 1;
    match kind {
        oci::Kind::Folder if depth < DEEPEST => Ok(Kind::Folder(Vec::new())),
        oci::Kind::Folder => Err(TreeError::Deep(path.to_owned())),
        oci::Kind::File(content) if content.len() <= LONGEST_FILE => Ok(Kind::File(content.clone())),
        oci::Kind::File(content) => Err(TreeError::Long { path: path.to_owned(), length: content.len() }),
        oci::Kind::Link(_) | oci::Kind::Special(_) => Err(TreeError::Kind(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::{Entry, Root};

    fn error(path: &str, entry: Entry) -> Option<TreeError> {
        let mut root = Root::default();
        root.put(path, entry);
        Tree::of_root(&root).err()
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (deep, deepest) = ("a/b/c/d/e/f/g/h", "a/b/c/d/e/f/g");
        let long = "n".repeat(111);
        let gigabytes = || Entry::file(0o644, Content::zeros(4 << 30));

        assert_eq!(error(deep, Entry::folder()), Some(TreeError::Deep(deep.to_owned())));
        assert_eq!(error(deep, Entry::file(0o644, b"")), None);
        assert_eq!(error(deepest, Entry::folder()), None);
        assert_eq!(error("l", Entry::link("a")), Some(TreeError::Kind("l".to_owned())));
        for name in [&long, "a//b", "..", "a/.", "a\0"] {
            assert!(matches!(error(name, Entry::folder()), Some(TreeError::Name(_))), "{name:?}");
        }
        assert!(matches!(error("f", gigabytes()), Some(TreeError::Long { length: 0x1_0000_0000, .. })));
    }

    #[test]
    fn too_much_is_refused() {
        let mut root = Root::default();
        for nth in 0..257 {
            root.put(&nth.to_string(), Entry::file(0o644, Content::zeros(LONGEST_FILE)));
        }
        assert!(matches!(Tree::of_root(&root), Err(TreeError::Room(_))));

        for nth in 0..=MOST {
            root.put(&nth.to_string(), Entry::folder());
        }
        assert!(matches!(Tree::of_root(&root), Err(TreeError::Many(_))));
    }
}
