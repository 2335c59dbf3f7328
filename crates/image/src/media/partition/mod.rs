//! The partitions of a disk.
//!
//! [`Partitions::find_in`] reads an existing table, and [`Disk::write`] makes one.

mod guid;
mod read;
pub(super) mod table;
mod write;

pub use guid::Guid;
pub use write::{Disk, DiskError, NewPartition, PartitionAttribute};

use flate2::Crc;

/// The signature of a GPT header, and its length.
const SIGNATURE: &[u8] = b"EFI PART";
const HEADER: usize = 92;

/// The length of an entry.
const ENTRY: usize = 128;

/// The MBR type of a GPT's protective partition.
const PROTECTIVE: u8 = 0xee;

/// The scheme of a partition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionScheme {
    /// GPT, which Talos reads and writes.
    Gpt,
    /// MBR, its predecessor.
    Mbr,
}

/// A disk's partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitions {
    /// The scheme of the table.
    pub scheme: PartitionScheme,
    /// The partitions in their order.
    pub list: Vec<Partition>,
}

/// A partition.
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
