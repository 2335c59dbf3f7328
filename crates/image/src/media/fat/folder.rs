//! Folders and their names, checked before anything is written.

use std::collections::BTreeMap;

use super::name::{ShortName, short_names};
use super::record::records;
use super::{ARCHIVE, FOLDER, FatError, READ_ONLY, RECORD};
use crate::media::{Content, Volume};
use crate::oci::{EntryKind, FileTree, TreeEntry};

/// The most records of a folder.
const MOST: usize = 65_534;

/// The write permission bits.
const WRITERS: u32 = 0o222;

/// A folder and its children.
pub(super) struct FatFolder<'r> {
    /// The index of the folder above.
    pub(super) above: usize,
    pub(super) children: Vec<FatEntry<'r>>,
    /// Further records: the label, or `.` and `..`.
    own: usize,
}

/// A file or folder.
pub(super) struct FatEntry<'r> {
    pub(super) name: &'r str,
    pub(super) short: ShortName,
    pub(super) attributes: u8,
    /// The content of a file; empty for a folder.
    pub(super) content: Content,
    /// The index of a folder.
    pub(super) folder: Option<usize>,
}

impl<'r> FatFolder<'r> {
    /// The root folder of a volume, whose names are valid.
    pub(super) fn of_volume(volume: &Volume<'r>) -> Self {
        let file = |(name, bytes): &(&'r str, &[u8])| FatEntry {
            name,
            short: ShortName::default(),
            attributes: ARCHIVE,
            content: Content::from(*bytes),
            folder: None,
        };
        let mut root = Self { above: 0, children: volume.files().iter().map(file).collect(), own: 1 };
        root.shorten();
        root
    }

    fn records(&self) -> usize {
        self.own + self.children.iter().map(|child| records(child.name)).sum::<usize>()
    }

    /// The length of its records in bytes.
    pub(super) fn length(&self) -> u64 {
        (self.records() * RECORD) as u64
    }

    /// Refuses too many children, and names that differ only in case.
    fn check(&self, path: &str) -> Result<(), FatError> {
        if self.records() > MOST {
            return Err(FatError::Many(if path.is_empty() { "/" } else { path }.to_owned()));
        }
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for FatEntry { name, .. } in &self.children {
            if let Some(other) = seen.insert(name.to_ascii_lowercase(), name) {
                return Err(FatError::Twice(other.to_owned(), (*name).to_owned()));
            }
        }
        Ok(())
    }

    /// Gives every child its short name.
    fn shorten(&mut self) {
        let names: Vec<&str> = self.children.iter().map(|child| child.name).collect();
        for (child, short) in self.children.iter_mut().zip(short_names(&names)) {
            child.short = short;
        }
    }
}

/// The folders of a tree: the root first, and each folder before its children.
pub(super) fn folders(root: &FileTree) -> Result<Vec<FatFolder<'_>>, FatError> {
    let mut paths: BTreeMap<&str, usize> = BTreeMap::from([("", 0)]);
    let mut folders = vec![FatFolder { above: 0, children: Vec::new(), own: 1 }];
    for (path, entry) in root.iter() {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let &above = paths.get(above).ok_or_else(|| FatError::Other(above.to_owned()))?;
        let content = content(path, name, entry)?;
        let folder = (entry.kind == EntryKind::Folder).then_some(folders.len());
        if let Some(nth) = folder {
            paths.insert(path, nth);
            folders.push(FatFolder { above, children: Vec::new(), own: 2 });
        }
        let attributes = attributes(entry);
        folders[above].children.push(FatEntry {
            name,
            short: ShortName::default(),
            attributes,
            content,
            folder,
        });
    }
    for (path, nth) in paths {
        folders[nth].check(path)?;
        folders[nth].shorten();
    }
    Ok(folders)
}

/// The content of an entry whose name and length FAT allows.
fn content(path: &str, name: &str, entry: &TreeEntry) -> Result<Content, FatError> {
    let letter = |byte: u8| (b' '..0x7f).contains(&byte) && !b"\"*:<>?\\|".contains(&byte);
    let right = (1..=255).contains(&name.len()) && name.bytes().all(letter) && !name.ends_with(['.', ' ']);
    match &entry.kind {
        _ if !right => Err(FatError::Name(path.to_owned())),
        EntryKind::Folder => Ok(Content::default()),
        EntryKind::File(content) if u32::try_from(content.len()).is_ok() => Ok(content.clone()),
        EntryKind::File(content) => Err(FatError::Long { path: path.to_owned(), length: content.len() }),
        EntryKind::Link(_) | EntryKind::Special(_) => Err(FatError::Other(path.to_owned())),
    }
}

fn attributes(entry: &TreeEntry) -> u8 {
    match entry.kind {
        EntryKind::Folder => FOLDER,
        _ if entry.mode & WRITERS == 0 => ARCHIVE | READ_ONLY,
        _ => ARCHIVE,
    }
}
