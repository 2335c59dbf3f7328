//! Sizes and positions of the parts of a file system.

use super::folder::FatFolder;
use super::{FAT12_BELOW, FatError, SECTOR, SMALLEST_TREE};
use crate::media::{FileSystemType, SMALLEST};

/// The number of copies of the file allocation table.
pub(super) const TABLES: u64 = 2;

/// The size limit of FAT32, and the sectors of a cluster above each size, as mkfs.fat chooses them.
const LONGEST: u64 = (u32::MAX as u64) * SECTOR as u64;
const PER_CLUSTER: [(u64, u64); 5] = [(0, 1), (260 << 20, 8), (8 << 30, 16), (16 << 30, 32), (32 << 30, 64)];

/// Sizes in sectors, and the number of clusters.
pub(super) struct FatLayout {
    /// FAT12 or FAT32.
    pub(super) kind: FileSystemType,
    /// Sectors before the first table.
    pub(super) reserved: u64,
    /// Sectors of one table.
    pub(super) table: u64,
    /// Sectors of the root folder; zero for FAT32, which stores the root folder in clusters.
    pub(super) root: u64,
    /// Sectors of a cluster.
    pub(super) per_cluster: u64,
    pub(super) clusters: u64,
    /// Sectors of everything.
    pub(super) sectors: u64,
}

impl FatLayout {
    /// A FAT12 for the files of this root folder, with the smallest clusters that keep it FAT12.
    pub(super) fn fat12(root: &FatFolder<'_>) -> Self {
        let needed = |per_cluster: u64| {
            let cluster = per_cluster * SECTOR as u64;
            let files = root.children.iter().map(|child| child.content.len().div_ceil(cluster));
            files.sum::<u64>().max(SMALLEST as u64 / cluster)
        };
        let sizes = (0..8).map(|power| 1 << power);
        let per_cluster = sizes
            .into_iter()
            .find(|per_cluster| needed(*per_cluster) < FAT12_BELOW)
            .expect("a volume has at most 16 MiB in 128 files");
        let clusters = needed(per_cluster);
        // An entry of a table has a byte and a half. The first two entries describe no cluster.
        let table = ((clusters + 2) * 3).div_ceil(2).div_ceil(SECTOR as u64);
        let root = root.length().div_ceil(SECTOR as u64);
        let sectors = 1 + TABLES * table + root + clusters * per_cluster;
        Self { kind: FileSystemType::Fat12, reserved: 1, table, root, per_cluster, clusters, sectors }
    }

    /// A FAT32 of `size` bytes.
    pub(super) fn fat32(size: u64) -> Result<Self, FatError> {
        if !(SMALLEST_TREE..=LONGEST).contains(&size) || !size.is_multiple_of(SECTOR as u64) {
            return Err(FatError::Size(size));
        }
        // The boot sector, its copy, and free sectors, as mkfs.fat leaves them.
        let reserved = 32;
        let sectors = size / SECTOR as u64;
        let fits = PER_CLUSTER.iter().rev().find(|(above, _)| size > *above);
        let per_cluster = fits.map_or(1, |(_, per_cluster)| *per_cluster);
        // An entry of a table has four bytes. The first two entries describe no cluster.
        let most = (sectors - reserved) / per_cluster + 2;
        let table = (most * 4).div_ceil(SECTOR as u64).next_multiple_of(per_cluster);
        let clusters = (sectors - reserved - TABLES * table) / per_cluster;
        Ok(Self { kind: FileSystemType::Fat32, reserved, table, root: 0, per_cluster, clusters, sectors })
    }

    /// Refuses folders and files that need more clusters than there are.
    pub(super) fn check(&self, size: u64, folders: &[FatFolder<'_>]) -> Result<(), FatError> {
        let full_clusters = |length: u64| length.next_multiple_of(self.cluster());
        let files = folders.iter().flat_map(|folder| &folder.children);
        let files = files.map(|child| full_clusters(child.content.len()));
        let needed = folders.iter().map(|folder| full_clusters(folder.length())).chain(files).sum();
        let room = self.clusters * self.cluster();
        if needed > room { Err(FatError::Full { needed, size, room }) } else { Ok(()) }
    }

    /// Bytes of a cluster.
    pub(super) fn cluster(&self) -> u64 {
        self.per_cluster * SECTOR as u64
    }

    /// The sector after the tables: the root folder of FAT12.
    pub(super) fn after_tables(&self) -> u64 {
        self.reserved + TABLES * self.table
    }

    /// The first sector of the first cluster.
    pub(super) fn data(&self) -> u64 {
        self.after_tables() + self.root
    }
}
