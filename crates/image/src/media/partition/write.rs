//! A disk of partitions, with a GPT at its start and its end.

use super::Guid;
use super::table::{BOOT_CODE, ENTRIES, GptTable, SECTOR, Slot, TAIL};
use crate::media::Content;

/// The alignment of partitions: a mebibyte, which fits every disk.
const STEP: u64 = 1 << 20;

/// The longest label.
const LABEL: usize = 36;

/// A disk that is to be.
#[derive(Clone, Debug)]
pub struct Disk {
    /// Its length.
    pub size: u64,
    /// Its number.
    pub guid: Guid,
    /// The boot code for a BIOS, if it can boot from it.
    pub boot_code: Option<Vec<u8>>,
    /// Its partitions, which follow each other.
    pub partitions: Vec<NewPartition>,
}

/// A partition that is to be.
#[derive(Clone, Debug)]
pub struct NewPartition {
    /// Its label.
    pub label: &'static str,
    /// Its partition type.
    pub kind: Guid,
    /// Its number.
    pub guid: Guid,
    /// Its attribute, if any.
    pub attribute: Option<PartitionAttribute>,
    /// Its length.
    pub length: u64,
    /// Its content from its start on; the rest is a hole.
    pub content: Content,
}

/// An attribute of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionAttribute {
    /// Machines with a BIOS boot from it.
    LegacyBoot,
}

impl PartitionAttribute {
    fn bits(self) -> u64 {
        match self {
            PartitionAttribute::LegacyBoot => 1 << 2,
        }
    }
}

/// Why a disk cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// The size is not a multiple of the sector size.
    #[error("{0} bytes is not a valid disk size; want a multiple of 512")]
    Size(u64),
    /// They do not fit.
    #[error("the partitions need {needed} bytes and do not fit on a disk of {size} bytes")]
    Full {
        /// The required length of the disk.
        needed: u64,
        /// Its length.
        size: u64,
    },
    /// There are too many.
    #[error("{0} partitions are too many; want at most {ENTRIES}")]
    Many(usize),
    /// The label is too long.
    #[error("`{0}` is not a valid partition label; want at most {LABEL} characters")]
    Label(String),
    /// The content is too long.
    #[error("partition {label} has {length} bytes and cannot contain {content} bytes")]
    Long {
        /// The label of the partition.
        label: &'static str,
        /// Its length.
        length: u64,
        /// The length of the content.
        content: u64,
    },
    /// The boot code is too long.
    #[error("boot code of {0} bytes is too long; want at most {BOOT_CODE}")]
    BootCode(usize),
}

impl Disk {
    /// The start of each partition.
    pub fn starts(&self) -> Vec<u64> {
        let mut at = STEP;
        let start = |partition: &NewPartition| {
            let start = at;
            at = (at + partition.length).next_multiple_of(STEP);
            start
        };
        self.partitions.iter().map(start).collect()
    }

    /// The disk.
    pub fn write(&self) -> Result<Content, DiskError> {
        self.check()?;
        let table = self.table();
        let mut all = Content::from(table.head());
        for (partition, start) in self.partitions.iter().zip(self.starts()) {
            all.pad_to(start);
            all.push(partition.content.clone());
            all.pad_to(start + partition.length);
        }
        all.pad_to(self.size - TAIL);
        all.push(table.tail());
        Ok(all)
    }

    fn table(&self) -> GptTable {
        let slot = |(partition, start): (&NewPartition, u64)| Slot {
            label: partition.label,
            kind: partition.kind,
            guid: partition.guid,
            attributes: partition.attribute.map_or(0, PartitionAttribute::bits),
            start,
            length: partition.length,
        };
        let slots = self.partitions.iter().zip(self.starts()).map(slot).collect();
        let (boot_code, is_active) = (self.boot_code.clone(), self.boot_code.is_some());
        GptTable { size: self.size, guid: self.guid, boot_code, is_active, usable: STEP, slots }
    }

    fn check(&self) -> Result<(), DiskError> {
        if !self.size.is_multiple_of(SECTOR) {
            return Err(DiskError::Size(self.size));
        }
        if self.partitions.len() > ENTRIES {
            return Err(DiskError::Many(self.partitions.len()));
        }
        for partition in &self.partitions {
            let NewPartition { label, length, .. } = *partition;
            if label.encode_utf16().count() > LABEL {
                return Err(DiskError::Label(label.to_owned()));
            }
            let content = partition.content.len();
            if content > length || length < SECTOR || !length.is_multiple_of(SECTOR) {
                return Err(DiskError::Long { label, length, content });
            }
        }
        let code = self.boot_code.as_ref().map_or(0, Vec::len);
        if code > BOOT_CODE {
            return Err(DiskError::BootCode(code));
        }
        let end = self
            .starts()
            .into_iter()
            .zip(&self.partitions)
            .map(|(start, partition)| start + partition.length);
        let needed = end.max().unwrap_or(STEP) + TAIL;
        if needed > self.size { Err(DiskError::Full { needed, size: self.size }) } else { Ok(()) }
    }
}
