//! A file system, written.
//!
//! In their order in the image: `data` writes the contents of files, `inode` and `directory` describe the `tree`, `table` has lists
//! of numbers and `xattr` the labels.

mod data;
mod directory;
mod inode;
mod metadata;
mod table;
mod tree;
mod xattr;

use std::io::{self, Seek, SeekFrom, Write};

use self::data::DataBlocks;
use self::inode::InodeTables;
use self::tree::SquashfsTree;
use self::xattr::XattrTable;
use super::compressor::{CompressBlocks, Compressor, LEVEL};
use super::superblock::{self, Superblock};
use super::{NOWHERE, PLAIN_METADATA};
use crate::oci::FileTree;

/// The block size, as a power of two: 128 KiB, mksquashfs' default.
const BLOCK_LOG: u16 = 17;
const BLOCK: usize = 1 << BLOCK_LOG;

/// An image is padded to a page, so that a kernel can mount it from a loop device.
const PAGE: u64 = 4096;

/// Flags: equal files are stored once; no node has attributes; a block has the compressor's options.
const DUPLICATES: u16 = 0x40;
const NO_ATTRIBUTES: u16 = 0x200;
const OPTIONS: u16 = 0x400;

/// Why a file system could not be written.
#[derive(Debug, thiserror::Error)]
pub enum SquashfsWriteError {
    /// An entry that the file system of an image must not have.
    #[error("`{path}` is a {what}; want files, folders and links")]
    Special {
        /// Its path.
        path: String,
        /// The entry.
        what: &'static str,
    },
    /// A name that the kernel does not take.
    #[error("the file name of `{path}` has {length} bytes; want 1 to 255")]
    Name {
        /// Its path.
        path: String,
        /// The length of its name.
        length: usize,
    },
    /// A link that the kernel does not follow.
    #[error("the link target of `{path}` has {length} bytes; want 1 to 4095")]
    Link {
        /// Its path.
        path: String,
        /// The length of its target.
        length: usize,
    },
    /// More than the format can count.
    #[error("the tree is too large for a squashfs")]
    Large,
    /// The content of a file could not be read.
    #[error("cannot read `{path}`")]
    Read {
        /// Its path.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// The image could not be written.
    #[error("cannot write the squashfs")]
    Write(#[from] io::Error),
}

/// Writes the file system of the folder `top` of a tree; `top` is empty for the complete tree.
///
/// The permissions of that folder become those of the root. `out` is written from its current position on.
pub fn write(
    root: &FileTree,
    top: &str,
    out: &mut (impl Write + Seek),
    press: CompressBlocks<'_>,
) -> Result<(), SquashfsWriteError> {
    let tree = SquashfsTree::new(root, top)?;
    let start = out.stream_position()?;
    let mut head = vec![0; superblock::LENGTH];
    head.extend((PLAIN_METADATA | 4).to_le_bytes());
    head.extend(LEVEL.to_le_bytes());
    out.write_all(&head)?;

    let data = DataBlocks::write(&tree, out, head.len() as u64, press)?;
    let attributes = XattrTable::from_tree(&tree);
    let InodeTables { table, directories, root } = InodeTables::write(&tree, &data, &attributes)?;
    let mut tables = TableWriter { out, at: data.end };
    let inode_table = tables.append(&table)?;
    let directory_table = tables.append(&directories)?;
    let fragment_table = tables.list(&data.fragment_list())?;
    let id_table = tables.list(&0_u32.to_le_bytes())?;
    let xattr_table = attributes.write(&mut tables)?;
    let flags = DUPLICATES | OPTIONS | if xattr_table == NOWHERE { NO_ATTRIBUTES } else { 0 };
    let used = tables.at;
    let superblock = Superblock {
        inodes: u32::try_from(tree.nodes.len()).map_err(|_| SquashfsWriteError::Large)?,
        block_log: BLOCK_LOG,
        fragments: u32::try_from(data.fragments.len()).map_err(|_| SquashfsWriteError::Large)?,
        compressor: Compressor::ZSTD,
        flags,
        ids: 1,
        root,
        used,
        id_table,
        xattr_table,
        inode_table,
        directory_table,
        fragment_table,
        lookup_table: NOWHERE,
    };
    let padding = used.next_multiple_of(PAGE) - used;
    io::copy(&mut io::Read::take(io::repeat(0), padding), out)?;
    out.seek(SeekFrom::Start(start))?;
    out.write_all(&superblock.bytes())?;
    out.seek(SeekFrom::Start(start + used + padding))?;
    Ok(())
}

/// The tables, in sequence.
struct TableWriter<'o, W> {
    out: &'o mut W,
    at: u64,
}

impl<W: Write> TableWriter<'_, W> {
    /// Appends a table and returns its start.
    fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        self.out.write_all(bytes)?;
        let start = self.at;
        self.at += bytes.len() as u64;
        Ok(start)
    }

    /// Appends a list with its index, and returns the location of the index; none for an empty list.
    fn list(&mut self, entries: &[u8]) -> io::Result<u64> {
        if entries.is_empty() {
            return Ok(NOWHERE);
        }
        let (blocks, index) = table::list(entries, self.at)?;
        self.append(&blocks)?;
        self.append(&index)
    }
}
