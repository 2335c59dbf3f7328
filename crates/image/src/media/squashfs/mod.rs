//! Squashfs, the file system of Talos and its extensions: format 4.0.
//!
//! [`write()`] makes one of a tree, always the same bytes for the same tree: zstd, blocks of 128 KiB, everything root's, no times. Only
//! metadata is in memory. The data is streamed in batches, which the caller may compress on several processors.
//!
//! [`Squashfs::open`] reads existing ones, with zstd, xz or gzip. Whatever their contents, reading ends and needs bounded memory.

mod compressor;
mod read;
mod superblock;
mod write;

pub use compressor::{BlockCompressor, CompressBlocks, compress_in_order};
pub use read::{NodeKind, Squashfs, SquashfsNode};
pub use write::{SquashfsWriteError, write};

/// The block size of metadata.
const METADATA: usize = 8192;

/// In the length of a metadata block: it is not compressed.
const PLAIN_METADATA: u16 = 1 << 15;

/// In the length of a block of data: it is not compressed.
const PLAIN_DATA: u32 = 1 << 24;

/// The location of a missing table.
const NOWHERE: u64 = u64::MAX;

/// The number of a missing fragment or attribute set.
const NONE: u32 = u32::MAX;

/// Kinds of inodes. Those with more room have a number that is higher by [`EXTENDED`].
const FOLDER: u16 = 1;
const FILE: u16 = 2;
const LINK: u16 = 3;
const EXTENDED: u16 = 7;
