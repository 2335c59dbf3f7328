//! FAT, for USB sticks and EFI system partitions.
//!
//! [`write()`] makes a FAT12 of a volume, because FAT12 has no minimum size; [`tree()`] makes a FAT32 of any size with folders. They
//! differ in their `layout` and their `boot_sector`, and share everything else: `folder` collects names, `name` makes short names,
//! `record` encodes folder records. `read` and `clusters` read all three kinds, from untrusted images too.

mod allocation_table;
mod boot_sector;
mod error;
mod folder;
mod layout;
mod name;
mod read;
mod record;
mod write;

pub(super) use allocation_table::AllocationTable;
pub use error::FatError;
pub(super) use read::{list, open};
pub use write::{tree, write};

/// The smallest FAT32 in bytes: a smaller one would have too few clusters for this kind.
pub const SMALLEST_TREE: u64 = 34 << 20;

/// Bytes of a sector in the file systems that are written.
const SECTOR: usize = 512;

/// Bytes of a folder record.
const RECORD: usize = 32;

/// Media type: a disk that is not a floppy.
const MEDIUM: u8 = 0xf8;

/// The number of the first cluster: the first two entries of a table have another meaning.
const FIRST: u32 = 2;

/// Attributes of a record.
const READ_ONLY: u8 = 0x01;
const LABEL: u8 = 0x08;
const FOLDER: u8 = 0x10;
const ARCHIVE: u8 = 0x20;
/// Read-only, hidden, system and label together: part of a long name.
const LONG_NAME: u8 = 0x0f;

/// FAT12 has fewer clusters than this, FAT16 fewer than the next.
const FAT12_BELOW: u64 = 4085;
const FAT16_BELOW: u64 = 65_525;
