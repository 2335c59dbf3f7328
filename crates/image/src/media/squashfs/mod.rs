//! Squashfs, the file system of Talos and its extensions: format 4.0.
//!
//! [`write()`] makes one of a tree, always the same bytes for the same tree: zstd, blocks of 128 KiB, everything root's, no times. Only
//! what describes files is in memory. Their bytes go through in batches, which the caller may press on several processors.
//!
//! [`Squashfs::open`] reads one that anybody made, with zstd, xz or gzip. Whatever is in it, reading ends and needs bounded memory.

mod compressor;
mod read;
mod superblock;
mod write;

pub use compressor::{BlockCompressor, CompressBlocks, one_by_one};
pub use read::{NodeKind, Squashfs, SquashfsNode};
pub use write::{SquashfsWriteError, write};

/// How much of metadata is one block.
const METADATA: usize = 8192;

/// In the length of a metadata block: it is not compressed.
const PLAIN_METADATA: u16 = 1 << 15;

/// In the length of a block of data: it is not compressed.
const PLAIN_DATA: u32 = 1 << 24;

/// The place of something that is not there.
const NOWHERE: u64 = u64::MAX;

/// The number of a fragment, or of attributes, that is none.
const NONE: u32 = u32::MAX;

/// Kinds of inodes. Those with more room have a number that is higher by [`EXTENDED`].
const FOLDER: u16 = 1;
const FILE: u16 = 2;
const LINK: u16 = 3;
const EXTENDED: u16 = 7;
