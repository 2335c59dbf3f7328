//! Records of folders (ECMA-119 9.1).

use super::SECTOR;
use super::number::{MOMENT, both16, both32, small};

/// The name of a folder in itself.
pub(super) const HERE: &[u8] = &[0];
/// The name of the folder above.
pub(super) const ABOVE: &[u8] = &[1];

/// Bytes before the identifier.
pub(super) const FIXED: usize = 33;

/// A location and a length.
#[derive(Clone, Copy, Default)]
pub(super) struct Extent {
    pub(super) sector: u64,
    pub(super) length: u64,
}

impl Extent {
    /// Its first byte.
    pub(super) fn start(self) -> u64 {
        self.sector * SECTOR as u64
    }
}

/// A record.
pub(super) struct DirectoryRecord {
    pub(super) identifier: Vec<u8>,
    pub(super) extent: Extent,
    pub(super) is_folder: bool,
    /// The system use area for Rock Ridge.
    pub(super) more: Vec<u8>,
}

impl DirectoryRecord {
    /// Its length in bytes. Every part starts at an even byte.
    pub(super) fn size(&self) -> usize {
        (FIXED + self.identifier.len()).next_multiple_of(2) + self.more.len().next_multiple_of(2)
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let size = self.size();
        let mut bytes = Vec::with_capacity(size);
        bytes.push(u8::try_from(size).expect("names are short"));
        bytes.push(0);
        bytes.extend(both32(small(self.extent.sector)));
        bytes.extend(both32(small(self.extent.length)));
        bytes.extend(MOMENT);
        bytes.push(if self.is_folder { 2 } else { 0 });
        bytes.extend([0, 0]);
        bytes.extend(both16(1));
        bytes.push(u8::try_from(self.identifier.len()).expect("names are short"));
        bytes.extend(&self.identifier);
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        bytes.extend(&self.more);
        bytes.resize(size, 0);
        bytes
    }
}

/// The length of a folder with these records: no record crosses the end of a sector.
pub(super) fn folder_length(records: &[DirectoryRecord]) -> usize {
    let place = |used: usize, record: &DirectoryRecord| start(used, record) + record.size();
    records.iter().fold(0, place).next_multiple_of(SECTOR)
}

/// A folder.
pub(super) fn folder(records: &[DirectoryRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        bytes.resize(start(bytes.len(), record), 0);
        bytes.extend(record.bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(SECTOR), 0);
    bytes
}

fn start(used: usize, record: &DirectoryRecord) -> usize {
    let left = used.next_multiple_of(SECTOR) - used;
    if left < record.size() { used + left } else { used }
}
