//! The superblock: the parameters of a file system, and the locations of its tables.

use super::compressor::Compressor;
use crate::media::image::{Image, ImageError, check_length, low16, low32, low64, piece};

/// Its length.
pub(super) const LENGTH: usize = 96;

const MAGIC: u32 = 0x7371_7368;

/// Blocks are as long as a page at least, and 1 MiB at most.
const SMALLEST_LOG: u16 = 12;
const LARGEST_LOG: u16 = 20;

/// The parameters of a file system, and the locations of its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    pub(crate) inodes: u32,
    pub(crate) block_log: u16,
    pub(crate) fragments: u32,
    pub(crate) compressor: u16,
    pub(crate) flags: u16,
    pub(crate) ids: u16,
    /// The reference of the root inode.
    pub root: u64,
    pub(crate) used: u64,
    pub(crate) id_table: u64,
    pub(crate) xattr_table: u64,
    pub(crate) inode_table: u64,
    pub(crate) directory_table: u64,
    pub(crate) fragment_table: u64,
    pub(crate) lookup_table: u64,
}

impl Superblock {
    pub(super) fn block_size(&self) -> usize {
        1 << self.block_log
    }

    /// Its bytes. It was made at no time.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LENGTH);
        for number in [MAGIC, self.inodes, 0, 1 << self.block_log, self.fragments] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [self.compressor, self.block_log, self.flags, self.ids, 4, 0] {
            bytes.extend(number.to_le_bytes());
        }
        let tables = [
            self.root,
            self.used,
            self.id_table,
            self.xattr_table,
            self.inode_table,
            self.directory_table,
            self.fragment_table,
            self.lookup_table,
        ];
        bytes.extend(tables.into_iter().flat_map(u64::to_le_bytes));
        bytes
    }

    /// Reads the superblock of a complete image.
    pub(super) fn read(image: &dyn Image) -> Result<Self, ImageError> {
        let bytes = piece(image, 0, LENGTH, "superblock")?;
        let number = |nth: usize| low64(&bytes, 32 + 8 * nth);
        let found = Self {
            inodes: low32(&bytes, 4),
            block_log: low16(&bytes, 22),
            fragments: low32(&bytes, 16),
            compressor: low16(&bytes, 20),
            flags: low16(&bytes, 24),
            ids: low16(&bytes, 26),
            root: number(0),
            used: number(1),
            id_table: number(2),
            xattr_table: number(3),
            inode_table: number(4),
            directory_table: number(5),
            fragment_table: number(6),
            lookup_table: number(7),
        };
        let is_known = low32(&bytes, 0) == MAGIC && [low16(&bytes, 28), low16(&bytes, 30)] == [4, 0];
        let is_right = (SMALLEST_LOG..=LARGEST_LOG).contains(&found.block_log)
            && low32(&bytes, 12) == 1 << found.block_log
            && found.inode_table < found.directory_table
            && found.directory_table <= found.used;
        if !(is_known && is_right) {
            return Err(ImageError::Broken("superblock"));
        }
        Compressor::from_number(found.compressor)?;
        check_length(image, found.used)?;
        Ok(found)
    }
}
