//! How large everything is.

use super::names::Folder;
use super::{SECTOR, SMALLEST_TREE, TreeError};

/// Sectors before the first table: boot sectors, their copies, and room.
pub(super) const RESERVED: u64 = 32;
pub(super) const TABLES: u64 = 2;

/// The longest file system, and from which length on clusters have so many sectors, as mkfs.fat takes them.
const LONGEST: u64 = (u32::MAX as u64) * SECTOR as u64;
const PER_CLUSTER: [(u64, u64); 5] = [(0, 1), (260 << 20, 8), (8 << 30, 16), (16 << 30, 32), (32 << 30, 64)];

/// Sizes in sectors, and the number of clusters.
pub(super) struct Layout {
    pub(super) sectors: u64,
    pub(super) per_cluster: u64,
    pub(super) table: u64,
    pub(super) clusters: u64,
}

impl Layout {
    pub(super) fn of(size: u64) -> Result<Self, TreeError> {
        if !(SMALLEST_TREE..=LONGEST).contains(&size) || !size.is_multiple_of(SECTOR as u64) {
            return Err(TreeError::Size(size));
        }
        let sectors = size / SECTOR as u64;
        let fits = PER_CLUSTER.iter().rev().find(|(from, _)| size > *from);
        let per_cluster = fits.map_or(1, |(_, per_cluster)| *per_cluster);
        // An entry of a table has four bytes. Each cluster takes its sectors and one in every table; the first two entries are none.
        let most = (sectors - RESERVED) / per_cluster + 2;
        let table = (most * 4).div_ceil(SECTOR as u64).next_multiple_of(per_cluster);
        let clusters = (sectors - RESERVED - TABLES * table) / per_cluster;
        Ok(Self { sectors, per_cluster, table, clusters })
    }

    /// Whether there is room for all of it.
    pub(super) fn check(&self, size: u64, folders: &[Folder<'_>]) -> Result<(), TreeError> {
        let whole = |length: u64| length.next_multiple_of(self.cluster());
        let files = folders.iter().flat_map(|folder| &folder.children).map(|child| whole(child.length()));
        let needed = folders.iter().map(|folder| whole(folder.length())).chain(files).sum();
        let room = self.clusters * self.cluster();
        if needed > room { Err(TreeError::Full { needed, size, room }) } else { Ok(()) }
    }

    /// Bytes of a cluster.
    pub(super) fn cluster(&self) -> u64 {
        self.per_cluster * SECTOR as u64
    }

    /// The first sector of the first cluster.
    pub(super) fn data(&self) -> u64 {
        RESERVED + TABLES * self.table
    }
}
