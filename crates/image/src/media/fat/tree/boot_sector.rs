//! The sectors before the tables.

use sha2::{Digest as _, Sha256};

use super::layout::{Layout, RESERVED, TABLES};
use super::{FIRST, Kind, MEDIUM, Root, SECTOR, Short};

/// Where the sector with the number of free clusters is, and where copies of it and of the first one are.
const INFORMATION: usize = 1;
const COPY: usize = 6;

/// A number for the file system.
#[derive(Clone, Copy)]
pub(super) struct Serial([u8; 4]);

impl Serial {
    /// One that depends on label, names and lengths: what files hold is not read for it.
    pub(super) fn of(label: Short, root: &Root) -> Self {
        let mut hash = Sha256::new_with_prefix(label);
        for (path, entry) in root.iter() {
            hash.update((path.len() as u64).to_le_bytes());
            hash.update(path);
            if let Kind::File(content) = &entry.kind {
                hash.update(content.len().to_le_bytes());
            }
        }
        let hash = hash.finalize();
        Self([hash[0], hash[1], hash[2], hash[3]])
    }
}

/// Everything that is not zero of them.
pub(super) fn reserved(layout: &Layout, label: Short, serial: Serial, used: u64) -> Vec<u8> {
    let (first, second) = (boot(layout, label, serial), information(layout, used));
    let mut bytes = [first.clone(), second.clone()].concat();
    bytes.resize(COPY * SECTOR, 0);
    bytes.extend(first);
    bytes.extend(second);
    bytes
}

fn boot(layout: &Layout, label: Short, serial: Serial) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SECTOR);
    // A jump over what follows, and who made it.
    bytes.extend([0xeb, 0x58, 0x90]);
    bytes.extend(b"ichor   ");
    bytes.extend(number(SECTOR as u64, 2));
    bytes.extend(number(layout.per_cluster, 1));
    bytes.extend(number(RESERVED, 2));
    bytes.extend(number(TABLES, 1));
    // What only the smaller kinds have: records of the root folder, and sectors in two bytes.
    bytes.extend([0; 4]);
    bytes.push(MEDIUM);
    bytes.extend([0; 2]);
    // Sectors of a track, heads, and sectors before it: nobody counts by them any more.
    bytes.extend([32, 0, 64, 0]);
    bytes.extend([0; 4]);
    bytes.extend(number(layout.sectors, 4));
    bytes.extend(number(layout.table, 4));
    // Both tables are kept alike; the version.
    bytes.extend([0; 4]);
    bytes.extend(FIRST.to_le_bytes());
    bytes.extend(number(INFORMATION as u64, 2));
    bytes.extend(number(COPY as u64, 2));
    bytes.extend([0; 12]);
    // A hard disk, and that the next three are there: number, label, kind.
    bytes.extend([0x80, 0, 0x29]);
    bytes.extend(serial.0);
    bytes.extend(label);
    bytes.extend(b"FAT32   ");
    // It starts no machine: the firmware is to try the next disk.
    bytes.extend([0xcd, 0x18, 0xeb, 0xfe]);
    bytes.resize(SECTOR - 2, 0);
    bytes.extend([0x55, 0xaa]);
    bytes
}

fn information(layout: &Layout, used: u64) -> Vec<u8> {
    let mut bytes = b"RRaA".to_vec();
    bytes.resize(484, 0);
    bytes.extend(b"rrAa");
    bytes.extend(number(layout.clusters - used, 4));
    // Where to look for the next free one.
    bytes.extend(number(u64::from(FIRST) + used, 4));
    bytes.resize(SECTOR - 2, 0);
    bytes.extend([0x55, 0xaa]);
    bytes
}

/// A number in so many bytes, the lowest first.
fn number(number: u64, length: usize) -> Vec<u8> {
    number.to_le_bytes()[..length].to_vec()
}
