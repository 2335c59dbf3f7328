//! Names and folders of a tree, looked at before anything is written.

use std::collections::BTreeMap;

use super::{Entry, Kind, RECORD, Root, Short, TreeError};
use crate::media::fat::folder::records;
use crate::media::fat::name::short_names;

/// The most records of a folder.
const MOST: usize = 65_534;

/// A folder and what is in it.
pub(super) struct Folder<'r> {
    /// Which folder it is in.
    pub(super) above: usize,
    pub(super) children: Vec<Child<'r>>,
    /// Records beside those of its children: the label, or itself and the one above.
    own: usize,
}

/// What is in a folder.
pub(super) struct Child<'r> {
    pub(super) name: &'r str,
    pub(super) short: Short,
    pub(super) entry: &'r Entry,
    /// Which folder it is, where it is one.
    pub(super) folder: usize,
}

impl Folder<'_> {
    fn records(&self) -> usize {
        self.own + self.children.iter().map(|child| records(child.name)).sum::<usize>()
    }

    /// How many bytes its records take.
    pub(super) fn length(&self) -> u64 {
        (self.records() * RECORD) as u64
    }
}

impl Child<'_> {
    /// How many bytes it has: a folder says none.
    pub(super) fn length(&self) -> u64 {
        match &self.entry.kind {
            Kind::File(content) => content.len(),
            _ => 0,
        }
    }
}

/// The folders of a tree: the root first, and each before those in it.
pub(super) fn folders(root: &Root) -> Result<Vec<Folder<'_>>, TreeError> {
    let mut paths: BTreeMap<&str, usize> = BTreeMap::from([("", 0)]);
    let mut folders = vec![Folder { above: 0, children: Vec::new(), own: 1 }];
    for (path, entry) in root.iter() {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let &above = paths.get(above).ok_or_else(|| TreeError::Other(above.to_owned()))?;
        check(path, name, entry)?;
        let folder = folders.len();
        if entry.kind == Kind::Folder {
            paths.insert(path, folder);
            folders.push(Folder { above, children: Vec::new(), own: 2 });
        }
        folders[above].children.push(Child { name, short: [0; 11], entry, folder });
    }
    for (path, nth) in paths {
        shorten(path, &mut folders[nth])?;
    }
    Ok(folders)
}

fn check(path: &str, name: &str, entry: &Entry) -> Result<(), TreeError> {
    let letter = |byte: u8| (b' '..0x7f).contains(&byte) && !b"\"*:<>?\\|".contains(&byte);
    let right = (1..=255).contains(&name.len()) && name.bytes().all(letter) && !name.ends_with(['.', ' ']);
    match &entry.kind {
        _ if !right => Err(TreeError::Name(path.to_owned())),
        Kind::Folder => Ok(()),
        Kind::File(content) if u32::try_from(content.len()).is_ok() => Ok(()),
        Kind::File(content) => Err(TreeError::Long { path: path.to_owned(), length: content.len() }),
        Kind::Link(_) | Kind::Special(_) => Err(TreeError::Other(path.to_owned())),
    }
}

/// Gives everything in a folder its short name.
fn shorten(path: &str, folder: &mut Folder<'_>) -> Result<(), TreeError> {
    if folder.records() > MOST {
        return Err(TreeError::Many(if path.is_empty() { "/" } else { path }.to_owned()));
    }
    let names: Vec<&str> = folder.children.iter().map(|child| child.name).collect();
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for name in &names {
        if let Some(other) = seen.insert(name.to_ascii_lowercase(), name) {
            return Err(TreeError::Twice(other.to_owned(), (*name).to_owned()));
        }
    }
    for (child, short) in folder.children.iter_mut().zip(short_names(&names)) {
        child.short = short;
    }
    Ok(())
}

/// A label as it is written.
pub(super) fn label(label: &str) -> Result<Short, TreeError> {
    let letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"-_ ".contains(&byte);
    let mut written = [b' '; 11];
    let room = written.get_mut(..label.len()).filter(|room| !room.is_empty() && label.bytes().all(letter));
    room.ok_or_else(|| TreeError::Label(label.to_owned()))?.copy_from_slice(label.as_bytes());
    Ok(written)
}
