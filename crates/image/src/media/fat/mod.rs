//! FAT, for USB sticks and for what UEFI boots from.
//!
//! [`write()`] makes a small FAT12, the one of its three kinds that has no smallest size; [`tree()`] a FAT32 of any size, with folders;
//! `folder` makes the records of a folder, `name` the short names of old. All three kinds are read: `boot_sector` says which it is,
//! `clusters` where files are, and `read` what the root folder has.

mod boot_sector;
mod clusters;
mod folder;
mod name;
mod read;
mod tree;
mod write;

pub(super) use clusters::Clusters;
pub(super) use read::{list, open};
pub use tree::{SMALLEST_TREE, TreeError, tree};
pub use write::write;

/// Bytes of a sector, in what is written.
const SECTOR: usize = 512;

/// Bytes of a record in a folder.
const RECORD: usize = 32;

/// A disk that is not a floppy.
const MEDIUM: u8 = 0xf8;

/// Attributes of a record.
const READ_ONLY: u8 = 0x01;
const LABEL: u8 = 0x08;
const FOLDER: u8 = 0x10;
const ARCHIVE: u8 = 0x20;
/// All of read-only, hidden, system and label: part of a long name.
const LONG_NAME: u8 = 0x0f;

/// FAT12 has fewer clusters than this, FAT16 fewer than the next.
const FAT12_BELOW: u64 = 4085;
const FAT16_BELOW: u64 = 65_525;
