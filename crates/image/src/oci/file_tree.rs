//! A root file system. The contents of files may be elsewhere. Owners are dropped: everything belongs to root.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;

use crate::media::Content;
use ichor_values::symlink::{self, LinkTarget, LinkWalk};

/// A root file system. Paths are relative to its top, parted by slashes; the top itself is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileTree {
    entries: BTreeMap<String, TreeEntry>,
}

/// An entry of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its permissions.
    pub mode: u32,
    /// Its kind.
    pub kind: EntryKind,
    /// Its SELinux label, if it has one.
    pub label: Option<String>,
}

/// The kind of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A file and its contents.
    File(Content),
    /// A symbolic link and where it leads.
    Link(String),
    /// A device, pipe or socket, by its name.
    Special(&'static str),
}

impl TreeEntry {
    /// A folder that every user may read.
    pub fn folder() -> Self {
        Self { mode: 0o755, kind: EntryKind::Folder, label: None }
    }

    /// A file.
    pub fn file(mode: u32, content: impl Into<Content>) -> Self {
        Self { mode, kind: EntryKind::File(content.into()), label: None }
    }

    /// The bytes of a file, where they are in memory.
    pub fn memory(&self) -> Option<&[u8]> {
        match &self.kind {
            EntryKind::File(content) => content.memory(),
            _ => None,
        }
    }

    /// A symbolic link.
    pub fn link(target: impl Into<String>) -> Self {
        Self { mode: 0o777, kind: EntryKind::Link(target.into()), label: None }
    }
}

impl FileTree {
    /// The entry at a path; links are not followed.
    pub fn get(&self, path: &str) -> Option<&TreeEntry> {
        self.entries.get(path)
    }

    /// Everything, in the order of the paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &TreeEntry)> {
        self.entries.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Everything below a folder.
    pub fn below<'r>(&'r self, folder: &str) -> impl Iterator<Item = (&'r str, &'r TreeEntry)> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let range = (Bound::Included(prefix.clone()), Bound::Unbounded);
        let all = self.entries.range::<String, _>(range);
        all.take_while(move |(path, _)| path.starts_with(&prefix)).map(|(path, entry)| (path.as_str(), entry))
    }

    /// Puts an entry at a path, replacing an existing one, and creates the folders above it. A folder that replaces
    /// a folder keeps its entries.
    pub fn put(&mut self, path: &str, entry: TreeEntry) {
        for (at, _) in path.match_indices('/') {
            let above = &path[..at];
            if !matches!(self.get(above), Some(TreeEntry { kind: EntryKind::Folder, .. })) {
                self.entries.insert(above.to_owned(), TreeEntry::folder());
            }
        }
        if entry.kind != EntryKind::Folder {
            self.remove(path);
        }
        self.entries.insert(path.to_owned(), entry);
    }

    /// Removes the entry at a path, with everything below it.
    pub fn remove(&mut self, path: &str) {
        let below: Vec<_> = self.below(path).map(|(path, _)| path.to_owned()).collect();
        for path in &below {
            self.entries.remove(path);
        }
        self.entries.remove(path);
    }

    /// The target of a path, with links followed; `/` is the top.
    pub fn follow(&self, path: &str) -> Option<LinkWalk> {
        let look = |path: &str| match &self.get(path)?.kind {
            EntryKind::Folder => Some(LinkTarget::Folder),
            EntryKind::Link(target) => Some(LinkTarget::Link(target)),
            EntryKind::File(_) | EntryKind::Special(_) => Some(LinkTarget::Leaf),
        };
        symlink::follow(path, look)
    }

    /// The file that a path leads to.
    pub fn file(&self, path: &str) -> Option<&Content> {
        match &self.get(&self.follow(path)?.target)?.kind {
            EntryKind::File(content) => Some(content),
            _ => None,
        }
    }

    /// The bytes of the file that a path leads to, where they are in memory.
    pub fn read(&self, path: &str) -> Option<&[u8]> {
        self.file(path)?.memory()
    }

    /// The bytes of the file that a path leads to, brought into memory where they are elsewhere; none of a file with more than `most`.
    pub fn load(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        self.file(path).filter(|content| content.len() <= most).map(Content::read).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_entry_replaces_the_existing_one() {
        let mut root = FileTree::default();
        root.put("a/b/c", TreeEntry::file(0o644, b"x"));
        root.put("a-b", TreeEntry::file(0o644, b"y"));
        root.put("a", TreeEntry { mode: 0o700, ..TreeEntry::folder() });
        assert_eq!(root.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["a", "a-b", "a/b", "a/b/c"]);

        root.put("a/b", TreeEntry::link("/a-b"));
        assert_eq!(root.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["a", "a-b", "a/b"]);
        assert_eq!(root.read("a/b").map(|bytes| bytes.to_vec()), Some(b"y".to_vec()));
        assert_eq!(root.follow("/a/b").unwrap().links, ["a/b"]);

        root.remove("a");
        assert_eq!(root.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["a-b"]);
    }
}
