//! A tree, level by level: the entries of a folder are adjacent, and their numbers follow from their position.

use std::collections::BTreeMap;
use std::ops::Range;

use super::SquashfsWriteError;
use crate::oci::{EntryKind, FileTree, TreeEntry};

const LONGEST_NAME: usize = 255;
const LONGEST_LINK: usize = 4095;

/// Everything there is, the top first.
pub(super) struct SquashfsTree<'r> {
    pub nodes: Vec<TreeNode<'r>>,
}

/// A node of the tree.
pub(super) struct TreeNode<'r> {
    pub path: &'r str,
    pub name: &'r str,
    pub mode: u32,
    /// Its SELinux label.
    pub label: Option<&'r str>,
    pub kind: &'r EntryKind,
    /// The folder it is in; the top is in itself.
    pub(crate) parent: usize,
    /// Its entries, sorted by name.
    pub(crate) children: Range<usize>,
}

impl<'r> SquashfsTree<'r> {
    /// The contents of a folder of a tree.
    pub(super) fn new(root: &'r FileTree, top: &'r str) -> Result<Self, SquashfsWriteError> {
        let mut folders: BTreeMap<&str, Vec<TreeNode<'r>>> = BTreeMap::new();
        for (path, entry) in root.below(top) {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            check(path, name, entry)?;
            folders.entry(folder).or_default().push(TreeNode::new(path, name, entry));
        }
        let mut nodes = vec![match root.get(top) {
            Some(entry) => TreeNode { kind: &EntryKind::Folder, ..TreeNode::new(top, "", entry) },
            None => {
                let (kind, children) = (&EntryKind::Folder, 0..0);
                TreeNode { path: top, name: "", mode: 0o755, label: None, kind, parent: 0, children }
            }
        }];
        let mut parent = 0;
        while let Some(folder) = nodes.get(parent) {
            let found = folders.remove(folder.path).unwrap_or_default();
            let start = nodes.len();
            nodes.extend(found.into_iter().map(|node| TreeNode { parent, ..node }));
            nodes[parent].children = start..nodes.len();
            parent += 1;
        }
        Ok(Self { nodes })
    }
}

impl<'r> TreeNode<'r> {
    fn new(path: &'r str, name: &'r str, entry: &'r TreeEntry) -> Self {
        let label = entry.label.as_deref();
        Self { path, name, mode: entry.mode, label, kind: &entry.kind, parent: 0, children: 0..0 }
    }
}

fn check(path: &str, name: &str, entry: &TreeEntry) -> Result<(), SquashfsWriteError> {
    let path = || path.to_owned();
    match &entry.kind {
        _ if name.is_empty() || name.len() > LONGEST_NAME => {
            Err(SquashfsWriteError::Name { path: path(), length: name.len() })
        }
        EntryKind::Special(what) => Err(SquashfsWriteError::Special { path: path(), what }),
        EntryKind::Link(target) if target.is_empty() || target.len() > LONGEST_LINK => {
            Err(SquashfsWriteError::Link { path: path(), length: target.len() })
        }
        _ => Ok(()),
    }
}
