//! The unpacked image of an extension: its entries, and the texts that are read.

use std::collections::BTreeMap;

use ichor_values::symlink::{self, LinkTarget};

/// The manifest, at the top.
pub(super) const MANIFEST: &str = "manifest.yaml";

/// The root file system, at the top.
pub(super) const ROOT: &str = "rootfs";

/// The folder of service definitions, in the tree.
pub(super) const DEFINITIONS: &str = "rootfs/usr/local/etc/containers";

/// An unpacked image. Paths are relative to its top, parted by slashes.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    entries: BTreeMap<String, FileEntry>,
    texts: BTreeMap<String, Vec<u8>>,
}

/// An entry of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Its kind.
    pub kind: FileKind,
    /// Its permissions.
    pub mode: u32,
}

/// The kind of an entry; links are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A folder.
    Folder,
    /// A file with contents.
    File,
    /// A symbolic link and where it leads.
    Link(String),
    /// A device, pipe or socket, by its name.
    Special(&'static str),
}

impl Tree {
    /// Adds an entry at a path.
    pub fn add(&mut self, path: impl Into<String>, entry: FileEntry) {
        self.entries.insert(path.into(), entry);
    }

    /// The number of its entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The files whose contents are needed, once all entries are added.
    pub fn required_files(&self) -> Vec<String> {
        let manifest = self.resolve("", MANIFEST);
        let definitions = self.definitions().filter_map(|path| self.definition_file(path));
        let mut wanted: Vec<_> = manifest.into_iter().chain(definitions).collect();
        wanted.retain(|path| self.get(path).is_some_and(|entry| entry.kind == FileKind::File));
        wanted.sort();
        wanted.dedup();
        wanted
    }

    /// Adds the contents of a file.
    pub fn fill(&mut self, path: impl Into<String>, bytes: Vec<u8>) {
        self.texts.insert(path.into(), bytes);
    }

    /// The entry at a path.
    pub(super) fn get(&self, path: &str) -> Option<&FileEntry> {
        self.entries.get(path)
    }

    /// The entries at the top.
    pub(super) fn top(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().filter(|path| !path.contains('/')).map(String::as_str)
    }

    /// A folder or file and everything below it.
    pub(super) fn below<'t>(&'t self, path: &'t str) -> impl Iterator<Item = (&'t str, &'t FileEntry)> {
        let all = self.entries.range(path.to_owned()..).take_while(move |(it, _)| it.starts_with(path));
        let inside = |it: &str| it.len() == path.len() || it.as_bytes().get(path.len()) == Some(&b'/');
        all.filter(move |(it, _)| inside(it)).map(|(it, entry)| (it.as_str(), entry))
    }

    /// The entries of a folder: names and paths.
    pub(super) fn children<'t>(&'t self, folder: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
        self.below(folder).filter_map(move |(path, _)| {
            let name = path.get(folder.len() + 1..)?;
            (!name.contains('/')).then_some((name, path))
        })
    }

    /// The paths the node reads service definitions from, in its order.
    pub(super) fn definitions(&self) -> impl Iterator<Item = &str> {
        self.children(DEFINITIONS).filter(|(name, _)| ending(name) == "yaml").map(|(_, path)| path)
    }

    /// The file that a definition's path leads to on the node.
    pub(super) fn definition_file(&self, path: &str) -> Option<String> {
        self.resolve(ROOT, path.strip_prefix("rootfs/")?)
    }

    /// The contents of the file at a path that [`wanted`](Self::wanted) gave.
    pub(super) fn text(&self, path: &str) -> Option<&[u8]> {
        self.texts.get(path).map(Vec::as_slice)
    }

    /// The path that another leads to, links followed, where `root` is the root of all absolute ones.
    pub(super) fn resolve(&self, root: &str, path: &str) -> Option<String> {
        let join = |path: &str| match (root, path) {
            ("", path) => path.to_owned(),
            (root, "") => root.to_owned(),
            (root, path) => format!("{root}/{path}"),
        };
        let look = |path: &str| match &self.get(&join(path))?.kind {
            FileKind::Folder => Some(LinkTarget::Folder),
            // The tree has no files outside of the image: there, an absolute link is dangling.
            FileKind::Link(target) if root.is_empty() && target.starts_with('/') => None,
            FileKind::Link(target) => Some(LinkTarget::Link(target)),
            FileKind::File | FileKind::Special(_) => Some(LinkTarget::Leaf),
        };
        symlink::follow(path, look).map(|walk| join(&walk.target))
    }
}

/// The suffix after the last dot of a name. The node reads definitions that end in `yaml`, and not in `YAML`.
pub(super) fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, FileKind)]) -> Tree {
        let mut tree = Tree::default();
        for (path, kind) in entries {
            tree.add(*path, FileEntry { kind: kind.clone(), mode: 0o755 });
        }
        tree
    }

    #[test]
    fn links_are_followed_inside_their_root() {
        let link = |to: &str| FileKind::Link(to.to_owned());
        let tree = tree(&[
            ("r", FileKind::Folder),
            ("r/usr", FileKind::Folder),
            ("r/usr/bin", FileKind::Folder),
            ("r/usr/bin/x", FileKind::File),
            ("r/bin", link("usr/bin")),
            ("r/sbin", link("/usr/bin")),
            ("r/usr/absolute", link("/usr/bin/x")),
            ("r/up", link("../../usr/bin/x")),
            ("r/loop", link("loop")),
            ("out", link("/etc/passwd")),
        ]);

        for path in ["/usr/bin/x", "bin/x", "sbin/x", "usr/absolute", "up", "usr/../bin/./x"] {
            assert_eq!(tree.resolve("r", path).as_deref(), Some("r/usr/bin/x"), "{path}");
        }
        for path in ["loop", "usr/bin/x/y", "no", "usr/no"] {
            assert_eq!(tree.resolve("r", path), None, "{path}");
        }
        assert_eq!(tree.resolve("", "out"), None);
    }

    #[test]
    fn a_folder_is_distinct_from_one_with_the_same_prefix() {
        let tree = tree(&[
            ("a", FileKind::Folder),
            ("a-b", FileKind::File),
            ("a/b", FileKind::Folder),
            ("a/b/c", FileKind::File),
        ]);

        let below: Vec<_> = tree.below("a").map(|(path, _)| path).collect();
        let children: Vec<_> = tree.children("a").collect();

        assert_eq!(below, ["a", "a/b", "a/b/c"]);
        assert_eq!(children, [("b", "a/b")]);
    }
}
