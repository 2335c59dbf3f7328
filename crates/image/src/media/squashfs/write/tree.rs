//! A tree, level by level: what is in one folder stands together, and its number follows from where it stands.

use std::collections::BTreeMap;
use std::ops::Range;

use super::WriteError;
use crate::oci::{Entry, Kind, Root};

const LONGEST_NAME: usize = 255;
const LONGEST_LINK: usize = 4095;

/// Everything there is, the top first.
pub(super) struct Tree<'r> {
    pub nodes: Vec<Node<'r>>,
}

/// Something in it.
pub(super) struct Node<'r> {
    pub path: &'r str,
    pub name: &'r str,
    pub mode: u32,
    /// What SELinux calls it.
    pub label: Option<&'r str>,
    pub kind: &'r Kind,
    /// The folder it is in; the top is in itself.
    pub(crate) parent: usize,
    /// What is in it, in the order of the names.
    pub(crate) children: Range<usize>,
}

impl<'r> Tree<'r> {
    /// What is in a folder of a tree.
    pub(super) fn of(root: &'r Root, top: &'r str) -> Result<Self, WriteError> {
        let mut folders: BTreeMap<&str, Vec<Node<'r>>> = BTreeMap::new();
        for (path, entry) in root.below(top) {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            check(path, name, entry)?;
            folders.entry(folder).or_default().push(Node::of(path, name, entry));
        }
        let mut nodes = vec![match root.get(top) {
            Some(entry) => Node { kind: &Kind::Folder, ..Node::of(top, "", entry) },
            None => {
                let (kind, children) = (&Kind::Folder, 0..0);
                Node { path: top, name: "", mode: 0o755, label: None, kind, parent: 0, children }
            }
        }];
        let mut parent = 0;
        while let Some(folder) = nodes.get(parent) {
            let found = folders.remove(folder.path).unwrap_or_default();
            let start = nodes.len();
            nodes.extend(found.into_iter().map(|node| Node { parent, ..node }));
            nodes[parent].children = start..nodes.len();
            parent += 1;
        }
        Ok(Self { nodes })
    }
}

impl<'r> Node<'r> {
    fn of(path: &'r str, name: &'r str, entry: &'r Entry) -> Self {
        let label = entry.label.as_deref();
        Self { path, name, mode: entry.mode, label, kind: &entry.kind, parent: 0, children: 0..0 }
    }
}

fn check(path: &str, name: &str, entry: &Entry) -> Result<(), WriteError> {
    let path = || path.to_owned();
    match &entry.kind {
        _ if name.is_empty() || name.len() > LONGEST_NAME => {
            Err(WriteError::Name { path: path(), length: name.len() })
        }
        Kind::Special(what) => Err(WriteError::Special { path: path(), what }),
        Kind::Link(target) if target.is_empty() || target.len() > LONGEST_LINK => {
            Err(WriteError::Link { path: path(), length: target.len() })
        }
        _ => Ok(()),
    }
}
