//! The partitions of a disk.
//!
//! [`Partitions::find_in`] reads what somebody made, and [`Disk::write`] makes one.

mod guid;
mod read;
pub(super) mod table;
mod write;

pub use guid::Guid;
pub use write::{Disk, DiskError, NewPartition, PartitionAttribute};

use flate2::Crc;

/// What a GPT header begins with, and how much of it there is.
const SIGNATURE: &[u8] = b"EFI PART";
const HEADER: usize = 92;

/// The length of an entry.
const ENTRY: usize = 128;

/// The type of an MBR that stands for a GPT.
const PROTECTIVE: u8 = 0xee;

/// How partitions are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionScheme {
    /// The one that Talos reads and writes.
    Gpt,
    /// The one before it.
    Mbr,
}

/// A disk's partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitions {
    /// How they are written down.
    pub scheme: PartitionScheme,
    /// The partitions in their order.
    pub list: Vec<Partition>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number, from 1 on.
    pub number: usize,
    /// Its label; an MBR has none.
    pub label: String,
    start: u64,
    length: u64,
}

fn sum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}
