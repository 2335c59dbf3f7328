//! The folders of a CD by one set of names. A CD may have two sets: the plain ones with Rock Ridge, and Joliet's.

use super::encoding::NameEncoding;
use super::name::{identifiers, split};
use super::number::small;
use super::record::{self, ABOVE, DirectoryRecord, Extent, HERE};
use super::rock_ridge::{self, PosixAttributes};
use super::tree::{IsoTree, TOP};

/// A tree by one set of names.
pub(super) struct NamedHierarchy<'t> {
    tree: &'t IsoTree,
    pub(super) letters: NameEncoding,
    /// The identifier of each file and folder.
    identifiers: Vec<Vec<u8>>,
    /// The entries of each folder, in the order of records.
    inside: Vec<Vec<usize>>,
    /// The folders in the order of path tables (ECMA-119 6.9.1): by depth, then by the folder above, then by name.
    pub(super) folders: Vec<usize>,
}

impl<'t> NamedHierarchy<'t> {
    pub(super) fn new(tree: &'t IsoTree, letters: NameEncoding) -> Self {
        let mut identifiers = vec![HERE.to_owned(); tree.nodes.len()];
        let mut inside = vec![Vec::new(); tree.nodes.len()];
        let mut folders = vec![TOP];
        let mut nth = 0;
        while let Some(folder) = folders.get(nth).copied() {
            let names = names(tree, letters, folder);
            for (name, node) in &names {
                identifiers[*node] = letters.write(name);
            }
            inside[folder] = names.iter().map(|(_, node)| *node).collect();
            folders.extend(inside[folder].iter().filter(|node| tree.nodes[**node].is_folder()));
            nth += 1;
        }
        Self { tree, letters, identifiers, inside, folders }
    }

    /// The length of a folder, whatever the locations.
    pub(super) fn length(&self, folder: usize, places: &[Extent]) -> u64 {
        record::folder_length(&self.records(folder, places, 0)) as u64
    }

    /// A folder. `places` are those of all files and folders, `rest` is the location of the Rock Ridge continuation area.
    pub(super) fn folder(&self, folder: usize, places: &[Extent], rest: u64) -> Vec<u8> {
        record::folder(&self.records(folder, places, rest))
    }

    fn records(&self, folder: usize, places: &[Extent], rest: u64) -> Vec<DirectoryRecord> {
        let above = self.tree.nodes[folder].above;
        let here = match folder {
            TOP => rock_ridge::root(self.posix(folder), rest),
            _ => rock_ridge::dot_entry_fields(self.posix(folder)),
        };
        let record = |identifier: &[u8], node: usize, more: Vec<u8>| DirectoryRecord {
            identifier: identifier.to_owned(),
            extent: places[node],
            is_folder: self.tree.nodes[node].is_folder(),
            // Joliet's names need nothing beside them.
            more: if self.letters == NameEncoding::Plain { more } else { Vec::new() },
        };
        let own = [
            record(HERE, folder, here),
            record(ABOVE, above, rock_ridge::dot_entry_fields(self.posix(above))),
        ];
        let inside = self.inside[folder].iter().map(|node| {
            let more = rock_ridge::entry_fields(&self.tree.nodes[*node].name, self.posix(*node));
            record(&self.identifiers[*node], *node, more)
        });
        own.into_iter().chain(inside).collect()
    }

    fn posix(&self, node: usize) -> PosixAttributes {
        let found = &self.tree.nodes[node];
        PosixAttributes { is_folder: found.is_folder(), mode: found.mode, links: self.tree.links(node) }
    }

    /// The length of a path table.
    pub(super) fn path_table_length(&self) -> u64 {
        let length = |folder: &usize| 8 + self.identifiers[*folder].len().next_multiple_of(2);
        self.folders.iter().map(length).sum::<usize>() as u64
    }

    /// The path table (ECMA-119 9.4), once with low bytes first, once with high bytes first.
    pub(super) fn path_tables(&self, places: &[Extent]) -> [Vec<u8>; 2] {
        let mut numbers = vec![1_u16; self.tree.nodes.len()];
        for (number, folder) in (1..).zip(&self.folders) {
            numbers[*folder] = number;
        }
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for folder in &self.folders {
            let (sector, above) = (small(places[*folder].sector), numbers[self.tree.nodes[*folder].above]);
            let identifier = &self.identifiers[*folder];
            let length = u8::try_from(identifier.len()).expect("names are short");
            low.extend([&[length, 0], &sector.to_le_bytes()[..], &above.to_le_bytes(), identifier].concat());
            high.extend([&[length, 0], &sector.to_be_bytes()[..], &above.to_be_bytes(), identifier].concat());
            for table in [&mut low, &mut high] {
                table.resize(table.len().next_multiple_of(2), 0);
            }
        }
        [low, high]
    }
}

/// The entries of a folder by their names, in the order of records. Joliet's names have no version: some programs show it, and
/// genisoimage and xorriso write none.
fn names(tree: &IsoTree, letters: NameEncoding, folder: usize) -> Vec<(String, usize)> {
    let inside = tree.inside(folder);
    let names = match letters {
        NameEncoding::Plain => identifiers(inside.iter().map(|node| &tree.nodes[*node])),
        NameEncoding::Wide => inside.iter().map(|node| tree.nodes[*node].name.clone()).collect(),
    };
    let mut names: Vec<(String, usize)> = names.into_iter().zip(inside.iter().copied()).collect();
    names.sort_by(|(one, _), (other, _)| sort_key(one).cmp(&sort_key(other)));
    names
}

/// The order of records (ECMA-119 9.3): by name, then by extension; a prefix comes first.
fn sort_key(identifier: &str) -> (&str, &str) {
    split(identifier.strip_suffix(";1").unwrap_or(identifier))
}
