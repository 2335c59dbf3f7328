//! The layout of a CD: descriptors, path tables, folders, files.

use super::descriptor::{self, VolumeLabels, VolumeLocations};
use super::encoding::NameEncoding;
use super::hierarchy::NamedHierarchy;
use super::number::sectors;
use super::record::Extent;
use super::tree::{IsoTree, TOP};
use super::{FIRST_DESCRIPTOR, SECTOR, el_torito, rock_ridge};
use crate::media::Content;

/// The parts of a CD.
pub(super) struct LayoutOptions<'a> {
    /// Its sets of names, the plain ones first.
    pub(super) letters: &'a [NameEncoding],
    /// Whether firmware finds something to boot on it.
    pub(super) boots: bool,
}

/// The locations of all parts.
pub(super) struct IsoLayout<'t> {
    sets: Vec<NameSet<'t>>,
    /// The continuation area of the root folder's Rock Ridge entries.
    rest: u64,
    /// The boot catalog.
    catalog: Option<u64>,
    /// The sector after the last file.
    pub(super) end: u64,
}

/// A set of names.
struct NameSet<'t> {
    hierarchy: NamedHierarchy<'t>,
    path_tables: [Extent; 2],
    /// The location of each file and folder.
    places: Vec<Extent>,
}

/// Gives away sectors.
struct SectorAllocator(u64);

impl SectorAllocator {
    fn allocate(&mut self, length: u64) -> Extent {
        let sector = self.0;
        self.0 += sectors(length);
        Extent { sector, length }
    }
}

impl<'t> IsoLayout<'t> {
    pub(super) fn new(tree: &'t IsoTree, order: &LayoutOptions<'_>) -> Self {
        // One descriptor for each set of names, and one that ends them.
        let descriptors = order.letters.len() + usize::from(order.boots) + 1;
        let mut space = SectorAllocator((FIRST_DESCRIPTOR + descriptors) as u64);
        let set = |letters: &NameEncoding| {
            let hierarchy = NamedHierarchy::new(tree, *letters);
            let length = hierarchy.path_table_length();
            let path_tables = [space.allocate(length), space.allocate(length)];
            NameSet { hierarchy, path_tables, places: vec![Extent::default(); tree.nodes.len()] }
        };
        let mut sets: Vec<NameSet<'t>> = order.letters.iter().map(set).collect();
        let mut rest = 0;
        for set in &mut sets {
            for folder in &set.hierarchy.folders {
                // The length of a folder depends on nothing that is not known yet.
                set.places[*folder] = space.allocate(set.hierarchy.length(*folder, &set.places));
            }
            if set.hierarchy.letters == NameEncoding::Plain {
                rest = space.allocate(rock_ridge::extension().len() as u64).sector;
            }
        }
        let catalog = order.boots.then(|| space.allocate(SECTOR as u64).sector);
        for (node, file) in tree.files() {
            let place = space.allocate(file.len());
            for set in &mut sets {
                set.places[node] = place;
            }
        }
        Self { sets, rest, catalog, end: space.0 }
    }

    /// The location of a file.
    pub(super) fn place(&self, file: usize) -> Extent {
        self.sets[0].places[file]
    }

    /// Appends a file.
    pub(super) fn append(&self, cd: &mut Content, file: usize, content: Content) {
        cd.pad_to(self.place(file).start());
        cd.push(content);
    }

    /// All before the first file, from the first descriptor on. The CD has `sectors` sectors.
    pub(super) fn head(&self, labels: VolumeLabels<'_>, sectors: u64, catalog: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (nth, set) in self.sets.iter().enumerate() {
            let places = VolumeLocations { sectors, path_tables: set.path_tables, root: set.places[TOP] };
            append_sector_aligned(&mut bytes, &descriptor::volume(set.hierarchy.letters, labels, &places));
            if let Some(sector) = self.catalog.filter(|_| nth == 0) {
                append_sector_aligned(&mut bytes, &el_torito::record(sector));
            }
        }
        append_sector_aligned(&mut bytes, &descriptor::set_terminator());
        for set in &self.sets {
            set.hierarchy
                .path_tables(&set.places)
                .iter()
                .for_each(|table| append_sector_aligned(&mut bytes, table));
        }
        for set in &self.sets {
            for folder in &set.hierarchy.folders {
                append_sector_aligned(&mut bytes, &set.hierarchy.folder(*folder, &set.places, self.rest));
            }
            if set.hierarchy.letters == NameEncoding::Plain {
                append_sector_aligned(&mut bytes, &rock_ridge::extension());
            }
        }
        if self.catalog.is_some() {
            append_sector_aligned(&mut bytes, catalog);
        }
        bytes
    }
}

/// Adds something that starts at a sector of its own.
fn append_sector_aligned(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend(part);
    bytes.resize(bytes.len().next_multiple_of(SECTOR), 0);
}
