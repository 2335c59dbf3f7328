//! An image for a USB stick from a volume.

use sha2::{Digest as _, Sha256};

use super::name::short_names;
use super::{ARCHIVE, FAT12_BELOW, MEDIUM, RECORD, SECTOR, folder};
use crate::media::{SMALLEST, Volume};

/// Sectors before the first table: the boot sector.
const RESERVED: usize = 1;
const TABLES: usize = 2;

/// The last cluster of a file.
const END: u16 = 0xfff;

/// A FAT12 file system with the files of a volume, without partitions around it.
pub fn write(volume: &Volume<'_>) -> Vec<u8> {
    let layout = Layout::of(volume);
    let mut table = vec![u16::from(MEDIUM) | 0xf00, END];
    let (mut root, mut data) = (folder::label(label(volume)).to_vec(), Vec::new());
    let names: Vec<&str> = volume.files().iter().map(|(name, _)| *name).collect();
    for ((name, bytes), short) in volume.files().iter().zip(short_names(&names)) {
        let clusters = bytes.len().div_ceil(layout.cluster());
        let first = if clusters == 0 { 0 } else { number16(table.len()) };
        root.extend(folder::named(name, short, ARCHIVE, first.into(), number32(bytes.len())));
        for nth in 1..=clusters {
            table.push(if nth == clusters { END } else { number16(table.len() + 1) });
        }
        data.extend_from_slice(bytes);
        data.resize(data.len().next_multiple_of(layout.cluster()), 0);
    }
    let mut table = packed(&table);
    table.resize(layout.table * SECTOR, 0);
    root.resize(layout.root * SECTOR, 0);
    let mut bytes = boot_sector(volume, &layout);
    for part in [&table, &table, &root, &data] {
        bytes.extend(part);
    }
    bytes.resize(layout.sectors() * SECTOR, 0);
    bytes
}

/// How large everything is, in sectors; and how many clusters there are.
struct Layout {
    table: usize,
    root: usize,
    per_cluster: usize,
    clusters: usize,
}

impl Layout {
    /// The smallest clusters with which it is still FAT12.
    fn of(volume: &Volume<'_>) -> Self {
        let records: usize = volume.files().iter().map(|(name, _)| folder::records(name)).sum();
        let root = ((records + 1) * RECORD).div_ceil(SECTOR);
        let needed = |per_cluster: usize| -> usize {
            let files = volume.files().iter().map(|(_, bytes)| bytes.len().div_ceil(per_cluster * SECTOR));
            files.sum::<usize>().max(SMALLEST / (per_cluster * SECTOR))
        };
        let small = |per_cluster: &usize| (needed(*per_cluster) as u64) < FAT12_BELOW;
        let sizes = (0..8).map(|power| 1 << power);
        let per_cluster = sizes.into_iter().find(small).expect("a volume has at most 16 MiB in 128 files");
        let clusters = needed(per_cluster);
        // A cluster takes a byte and a half of the table, which starts with two that are none.
        let table = ((clusters + 2) * 3).div_ceil(2).div_ceil(SECTOR);
        Self { table, root, per_cluster, clusters }
    }

    /// Bytes of a cluster.
    fn cluster(&self) -> usize {
        self.per_cluster * SECTOR
    }

    fn sectors(&self) -> usize {
        RESERVED + TABLES * self.table + self.root + self.clusters * self.per_cluster
    }
}

fn boot_sector(volume: &Volume<'_>, layout: &Layout) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SECTOR);
    // A jump over what follows, and who made it.
    bytes.extend([0xeb, 0x3c, 0x90]);
    bytes.extend(b"ichor   ");
    bytes.extend(number16(SECTOR).to_le_bytes());
    bytes.push(u8::try_from(layout.per_cluster).expect("at most 128"));
    bytes.extend(number16(RESERVED).to_le_bytes());
    bytes.push(2);
    bytes.extend(number16(layout.root * SECTOR / RECORD).to_le_bytes());
    let sectors = layout.sectors();
    bytes.extend(u16::try_from(sectors).unwrap_or(0).to_le_bytes());
    bytes.push(MEDIUM);
    bytes.extend(number16(layout.table).to_le_bytes());
    // Sectors of a track, heads, and sectors before the volume: nobody counts by them any more.
    bytes.extend([32, 0, 64, 0]);
    bytes.extend([0; 4]);
    bytes.extend(if sectors > usize::from(u16::MAX) { number32(sectors) } else { 0 }.to_le_bytes());
    // A hard disk, and that the next three are there: number, label, kind.
    bytes.extend([0x80, 0, 0x29]);
    bytes.extend(serial(volume));
    bytes.extend(label(volume));
    bytes.extend(b"FAT12   ");
    // It starts no machine: the firmware is to try the next disk.
    bytes.extend([0xcd, 0x18, 0xeb, 0xfe]);
    bytes.resize(SECTOR - 2, 0);
    bytes.extend([0x55, 0xaa]);
    bytes
}

/// A number for the volume that depends on what it holds alone.
fn serial(volume: &Volume<'_>) -> [u8; 4] {
    let mut hash = Sha256::new_with_prefix(volume.label());
    for (name, bytes) in volume.files() {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    let hash = hash.finalize();
    [hash[0], hash[1], hash[2], hash[3]]
}

fn label(volume: &Volume<'_>) -> [u8; 11] {
    let mut label = [b' '; 11];
    label[..volume.label().len()].copy_from_slice(volume.label().as_bytes());
    label
}

/// Entries of twelve bits, two in three bytes.
fn packed(table: &[u16]) -> Vec<u8> {
    let pair = |pair: &[u16]| {
        let both = u32::from(pair[0]) | u32::from(pair.get(1).copied().unwrap_or(0)) << 12;
        let [one, two, three, _] = both.to_le_bytes();
        [one, two, three]
    };
    table.chunks(2).flat_map(pair).collect()
}

fn number16(number: usize) -> u16 {
    u16::try_from(number)
        .expect("FAT12 has fewer than 4085 clusters, and a folder of 128 files fewer records than 65536")
}

fn number32(number: usize) -> u32 {
    u32::try_from(number).expect("a volume has at most 16 MiB")
}
