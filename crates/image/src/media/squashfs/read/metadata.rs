//! Metadata, block by block.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::{METADATA, PLAIN_METADATA};
use super::Squashfs;
use crate::media::image::{ReadError, low16, piece};

/// How many blocks are remembered.
const REMEMBERED: usize = 128;

/// Blocks that were read, by where they are.
#[derive(Default)]
pub(super) struct Blocks(BTreeMap<u64, Rc<Block>>);

/// A block as it was before it was compressed, and where the next one is.
struct Block {
    bytes: Vec<u8>,
    next: u64,
}

/// A place in metadata, from which it is read.
pub(super) struct Cursor<'f, 'i> {
    squashfs: &'f Squashfs<'i>,
    block: u64,
    offset: usize,
}

impl<'i> Squashfs<'i> {
    /// The place of a reference into a table.
    pub(super) fn cursor(&self, table: u64, block: u64, offset: u16) -> Result<Cursor<'_, 'i>, ReadError> {
        let block = table.checked_add(block).ok_or(ReadError::Broken("place of metadata"))?;
        Ok(Cursor { squashfs: self, block, offset: offset.into() })
    }

    fn block(&self, at: u64) -> Result<Rc<Block>, ReadError> {
        if let Some(block) = self.blocks.borrow().0.get(&at) {
            return Ok(block.clone());
        }
        let head = low16(&piece(self.image, at, 2, "metadata")?, 0);
        let length = usize::from(head & !PLAIN_METADATA);
        if length == 0 || length > METADATA {
            return Err(ReadError::Broken("metadata"));
        }
        let stored = piece(self.image, at + 2, length, "metadata")?;
        let is_plain = head & PLAIN_METADATA != 0;
        let bytes = if is_plain { stored } else { self.compressor.unpack(&stored, METADATA)? };
        let block = Rc::new(Block { bytes, next: at + 2 + length as u64 });
        let remembered = &mut self.blocks.borrow_mut().0;
        if remembered.len() == REMEMBERED {
            remembered.clear();
        }
        remembered.insert(at, block.clone());
        Ok(block)
    }
}

impl Cursor<'_, '_> {
    /// The next bytes. `length` is little: whoever asks has looked.
    pub(super) fn read(&mut self, length: usize) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let block = self.squashfs.block(self.block)?;
            let rest = block.bytes.get(self.offset..).ok_or(ReadError::Broken("place of metadata"))?;
            if rest.is_empty() && block.bytes.len() < METADATA {
                return Err(ReadError::Broken("metadata"));
            }
            let now = rest.len().min(length - bytes.len());
            bytes.extend(&rest[..now]);
            self.offset += now;
            if self.offset == METADATA {
                (self.block, self.offset) = (block.next, 0);
            }
        }
        Ok(bytes)
    }
}

impl Cursor<'_, '_> {
    /// Where it is: a block of the image, and a place in it.
    pub(super) fn place(&self) -> (u64, u16) {
        (self.block, u16::try_from(self.offset).expect("in a block"))
    }
}
