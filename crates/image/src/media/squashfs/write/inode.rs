//! Inodes: one for each file, folder and link, numbered in tree order.

use super::super::{EXTENDED, NONE};
use super::SquashfsWriteError;
use super::data::{DataBlocks, FileLocation};
use super::directory::{kind, listing};
use super::metadata::{MetadataPosition, MetadataWriter};
use super::tree::{SquashfsTree, TreeNode};
use super::xattr::XattrTable;
use crate::oci::EntryKind;

/// The length that a listing adds for `.` and `..`, which are not in it.
const LISTED_ANYWAY: usize = 3;

/// The tables of inodes and of folders, and where the inode of the top is.
pub(super) struct InodeTables {
    pub table: Vec<u8>,
    pub(crate) directories: Vec<u8>,
    pub root: u64,
}

impl InodeTables {
    /// Writes the inodes of a tree. The entries of a folder precede the folder, which refers to them.
    pub(super) fn write(
        tree: &SquashfsTree<'_>,
        data: &DataBlocks,
        attributes: &XattrTable<'_>,
    ) -> Result<Self, SquashfsWriteError> {
        let (mut inodes, mut directories) = (MetadataWriter::new()?, MetadataWriter::new()?);
        let mut positions = vec![MetadataPosition { block: 0, offset: 0 }; tree.nodes.len()];
        for (nth, node) in tree.nodes.iter().enumerate().rev() {
            let inode = InodeEncoder { node, number: number(nth)?, attributes };
            let bytes = match node.kind {
                EntryKind::File(content) => inode.file(content.len(), data.place(nth)),
                EntryKind::Link(target) => inode.link(target)?,
                EntryKind::Folder | EntryKind::Special(_) => {
                    let (inside, first) = (node.children.clone(), number(node.children.start)?);
                    let listing = listing(&tree.nodes[inside.clone()], &positions[inside.clone()], first);
                    let at = directories.position()?;
                    directories.push(&listing)?;
                    let folders =
                        tree.nodes[inside].iter().filter(|node| *node.kind == EntryKind::Folder).count();
                    inode.folder(at, listing.len(), folders, number(node.parent)?)?
                }
            };
            positions[nth] = inodes.position()?;
            inodes.push(&bytes)?;
        }
        let root = positions[0].reference();
        Ok(Self { table: inodes.finish()?, directories: directories.finish()?, root })
    }
}

fn number(nth: usize) -> Result<u32, SquashfsWriteError> {
    u32::try_from(nth + 1).ok().filter(|number| *number < NONE).ok_or(SquashfsWriteError::Large)
}

struct InodeEncoder<'t> {
    node: &'t TreeNode<'t>,
    number: u32,
    attributes: &'t XattrTable<'t>,
}

impl InodeEncoder<'_> {
    /// The common header of inodes. Owner and group are the first of the id table.
    fn head(&self, is_extended: bool) -> Vec<u8> {
        let kind = kind(self.node.kind) + if is_extended { EXTENDED } else { 0 };
        let mode = u16::try_from(self.node.mode & 0o7777).expect("twelve bits");
        let mut bytes = Vec::new();
        for half in [kind, mode, 0, 0] {
            bytes.extend(half.to_le_bytes());
        }
        for word in [0, self.number] {
            bytes.extend(word.to_le_bytes());
        }
        bytes
    }

    fn attribute(&self) -> Option<u32> {
        self.node.label.map(|label| self.attributes.number(label))
    }

    fn file(&self, length: u64, place: &FileLocation) -> Vec<u8> {
        let (fragment, offset) = place.fragment.unwrap_or((NONE, 0));
        let plain = u32::try_from(length).ok().zip(u32::try_from(place.start).ok());
        let mut bytes = match (plain, self.attribute()) {
            (Some((length, start)), None) => {
                let mut bytes = self.head(false);
                bytes.extend(le_words([start, fragment, offset, length]));
                bytes
            }
            (_, attribute) => {
                let mut bytes = self.head(true);
                let no_holes = 0;
                bytes.extend([place.start, length, no_holes].into_iter().flat_map(u64::to_le_bytes));
                bytes.extend(le_words([1, fragment, offset, attribute.unwrap_or(NONE)]));
                bytes
            }
        };
        bytes.extend(place.blocks.iter().flat_map(|length| length.to_le_bytes()));
        bytes
    }

    fn link(&self, target: &str) -> Result<Vec<u8>, SquashfsWriteError> {
        let attribute = self.attribute();
        let mut bytes = self.head(attribute.is_some());
        bytes.extend(le_words([1, u32::try_from(target.len()).map_err(|_| SquashfsWriteError::Large)?]));
        bytes.extend(target.as_bytes());
        bytes.extend(attribute.into_iter().flat_map(u32::to_le_bytes));
        Ok(bytes)
    }

    fn folder(
        &self,
        at: MetadataPosition,
        listing: usize,
        folders: usize,
        parent: u32,
    ) -> Result<Vec<u8>, SquashfsWriteError> {
        let length = u32::try_from(listing + LISTED_ANYWAY).map_err(|_| SquashfsWriteError::Large)?;
        let links = u32::try_from(folders + 2).map_err(|_| SquashfsWriteError::Large)?;
        Ok(match (u16::try_from(length), self.attribute()) {
            (Ok(length), None) => {
                let mut bytes = self.head(false);
                bytes.extend(le_words([at.block, links]));
                bytes.extend([length, at.offset].into_iter().flat_map(u16::to_le_bytes));
                bytes.extend(parent.to_le_bytes());
                bytes
            }
            (_, attribute) => {
                let mut bytes = self.head(true);
                let no_index = 0_u16;
                bytes.extend(le_words([links, length, at.block, parent]));
                bytes.extend([no_index, at.offset].into_iter().flat_map(u16::to_le_bytes));
                bytes.extend(attribute.unwrap_or(NONE).to_le_bytes());
                bytes
            }
        })
    }
}

fn le_words<const N: usize>(words: [u32; N]) -> impl Iterator<Item = u8> {
    words.into_iter().flat_map(u32::to_le_bytes)
}
