//! A GPT: the partition table at the start and the end of a disk.

use super::{ENTRY, Guid, HEADER, PROTECTIVE, SIGNATURE, sum};

/// Bytes of a sector.
pub(in crate::media) const SECTOR: u64 = 512;

/// The number of a table's entries, and its sectors.
pub(super) const ENTRIES: usize = 128;
const TABLE: u64 = (ENTRIES * ENTRY) as u64 / SECTOR;

/// The length of the backup table at the end of a disk, with its header.
pub(in crate::media) const TAIL: u64 = (TABLE + 1) * SECTOR;

/// The longest boot code, which precedes the MBR's partition table.
pub(super) const BOOT_CODE: usize = 446;

/// The table of a disk. Everything in it is known to fit.
pub(in crate::media) struct GptTable {
    /// The length of the disk.
    pub(in crate::media) size: u64,
    /// Its number.
    pub(in crate::media) guid: Guid,
    /// The boot code for a BIOS.
    pub(in crate::media) boot_code: Option<Vec<u8>>,
    /// Whether the old table is marked as one to start from, without which some machines with a BIOS do not.
    pub(in crate::media) is_active: bool,
    /// The first usable byte for partitions.
    pub(in crate::media) usable: u64,
    /// The partitions.
    pub(in crate::media) slots: Vec<Slot>,
}

/// A partition: its attributes and its bytes.
pub(in crate::media) struct Slot {
    pub(in crate::media) label: &'static str,
    pub(in crate::media) kind: Guid,
    pub(in crate::media) guid: Guid,
    pub(in crate::media) attributes: u64,
    pub(in crate::media) start: u64,
    pub(in crate::media) length: u64,
}

impl GptTable {
    /// The start of the disk.
    pub(in crate::media) fn head(&self) -> Vec<u8> {
        let mut bytes = self.boot_record();
        bytes.extend(self.header(1, self.last(), 2));
        bytes.extend(self.entries());
        bytes
    }

    /// The end of the disk.
    pub(in crate::media) fn tail(&self) -> Vec<u8> {
        let mut bytes = self.entries();
        bytes.extend(self.header(self.last(), 1, self.last() - TABLE));
        bytes
    }

    /// The last sector of the disk.
    fn last(&self) -> u64 {
        self.size / SECTOR - 1
    }

    /// The protective MBR, which covers the complete disk.
    fn boot_record(&self) -> Vec<u8> {
        let mut bytes = self.boot_code.clone().unwrap_or_default();
        bytes.resize(BOOT_CODE, 0);
        bytes.push(if self.is_active { 0x80 } else { 0 });
        bytes.extend([0, 2, 0, PROTECTIVE, 0xff, 0xff, 0xff]);
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(u32::try_from(self.last()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.resize(510, 0);
        bytes.extend([0x55, 0xaa]);
        bytes
    }

    fn entries(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(ENTRIES * ENTRY);
        for slot in &self.slots {
            let end = bytes.len() + ENTRY;
            bytes.extend(slot.kind.on_disk());
            bytes.extend(slot.guid.on_disk());
            bytes.extend((slot.start / SECTOR).to_le_bytes());
            bytes.extend(((slot.start + slot.length).div_ceil(SECTOR) - 1).to_le_bytes());
            bytes.extend(slot.attributes.to_le_bytes());
            bytes.extend(slot.label.encode_utf16().flat_map(u16::to_le_bytes));
            bytes.resize(end, 0);
        }
        bytes.resize(ENTRIES * ENTRY, 0);
        bytes
    }

    /// A header, at a sector: where the other one and the entries are.
    fn header(&self, at: u64, other: u64, entries: u64) -> Vec<u8> {
        let mut bytes = SIGNATURE.to_vec();
        // Version 1, how long it is, and its sum, which is counted over zeros.
        bytes.extend([0, 0, 1, 0]);
        bytes.extend(&HEADER.to_le_bytes()[..4]);
        bytes.extend([0; 8]);
        for number in [at, other, self.usable / SECTOR, self.last() - TABLE - 1] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.guid.on_disk());
        bytes.extend(entries.to_le_bytes());
        bytes.extend(&ENTRIES.to_le_bytes()[..4]);
        bytes.extend(&ENTRY.to_le_bytes()[..4]);
        bytes.extend(sum(&self.entries()).to_le_bytes());
        let sum = sum(&bytes);
        bytes[16..20].copy_from_slice(&sum.to_le_bytes());
        bytes.resize(512, 0);
        bytes
    }
}
