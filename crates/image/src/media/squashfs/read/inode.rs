//! Inodes: the nodes of a file system.

use super::super::{EXTENDED, FILE, FOLDER, LINK};
use super::Squashfs;
use super::metadata::MetadataCursor;
use crate::media::image::{ImageError, low16, low32, low64};

/// The length of the common header.
const HEAD: usize = 16;

/// The longest target of a link that is read, as of Linux.
const LONGEST_LINK: u32 = 4096;

/// A node of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SquashfsNode {
    /// Its kind.
    pub kind: NodeKind,
    /// Its permissions.
    pub mode: u32,
    /// The length of a file; 0 for other nodes.
    pub length: u64,
    /// The number of the inode.
    pub(super) number: u32,
    pub(super) place: DataLocation,
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A folder.
    Folder,
    /// A file.
    File,
    /// A symbolic link, and where it leads.
    Link(String),
    /// A device, pipe or socket, by its name.
    Special(&'static str),
}

/// The location of its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DataLocation {
    Nowhere,
    /// A listing in the table of folders.
    Listing {
        block: u32,
        offset: u16,
        length: u32,
    },
    /// Blocks, whose lengths are at an offset of the inode table; and the number of a shared block, and the offset in it.
    Data {
        start: u64,
        lengths: (u64, u16),
        fragment: u32,
        offset: u32,
    },
}

impl Squashfs<'_> {
    /// The node at a reference.
    pub(super) fn node(&self, reference: u64) -> Result<SquashfsNode, ImageError> {
        let offset = u16::try_from(reference & 0xffff).expect("sixteen bits");
        let table = self.superblock.inode_table;
        if reference >> 16 >= self.superblock.directory_table - table {
            return Err(ImageError::Broken("inode position"));
        }
        let mut cursor = self.cursor(table, reference >> 16, offset)?;
        let head = cursor.read(HEAD)?;
        let node = |kind, length, place| {
            let (mode, number) = (u32::from(low16(&head, 2)) & 0o7777, low32(&head, 12));
            SquashfsNode { kind, mode, length, number, place }
        };
        let number = low16(&head, 0);
        let (kind, is_extended) = if number > EXTENDED { (number - EXTENDED, true) } else { (number, false) };
        match kind {
            FOLDER => Ok(node(NodeKind::Folder, 0, folder(&mut cursor, is_extended)?)),
            FILE => {
                let (length, place) = file(&mut cursor, is_extended)?;
                Ok(node(NodeKind::File, length, place))
            }
            LINK => Ok(node(NodeKind::Link(link(&mut cursor)?), 0, DataLocation::Nowhere)),
            4 => Ok(node(NodeKind::Special("block device"), 0, DataLocation::Nowhere)),
            5 => Ok(node(NodeKind::Special("character device"), 0, DataLocation::Nowhere)),
            6 => Ok(node(NodeKind::Special("pipe"), 0, DataLocation::Nowhere)),
            7 => Ok(node(NodeKind::Special("socket"), 0, DataLocation::Nowhere)),
            _ => Err(ImageError::Broken("inode")),
        }
    }
}

fn folder(cursor: &mut MetadataCursor<'_, '_>, is_extended: bool) -> Result<DataLocation, ImageError> {
    Ok(if is_extended {
        let bytes = cursor.read(24)?;
        DataLocation::Listing { block: low32(&bytes, 8), offset: low16(&bytes, 18), length: low32(&bytes, 4) }
    } else {
        let bytes = cursor.read(16)?;
        DataLocation::Listing {
            block: low32(&bytes, 0),
            offset: low16(&bytes, 10),
            length: low16(&bytes, 8).into(),
        }
    })
}

fn file(cursor: &mut MetadataCursor<'_, '_>, is_extended: bool) -> Result<(u64, DataLocation), ImageError> {
    let (start, length, fragment, offset) = if is_extended {
        let bytes = cursor.read(40)?;
        (low64(&bytes, 0), low64(&bytes, 8), low32(&bytes, 28), low32(&bytes, 32))
    } else {
        let bytes = cursor.read(16)?;
        (low32(&bytes, 0).into(), low32(&bytes, 12).into(), low32(&bytes, 4), low32(&bytes, 8))
    };
    Ok((length, DataLocation::Data { start, lengths: cursor.place(), fragment, offset }))
}

fn link(cursor: &mut MetadataCursor<'_, '_>) -> Result<String, ImageError> {
    let length = low32(&cursor.read(8)?, 4);
    if length > LONGEST_LINK {
        return Err(ImageError::Broken("link"));
    }
    Ok(String::from_utf8_lossy(&cursor.read(length as usize)?).into_owned())
}
