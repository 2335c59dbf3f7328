//! The contents of files.

use std::io::Write;
use std::rc::Rc;

use super::super::{METADATA, NONE, PLAIN_DATA};
use super::Squashfs;
use super::inode::{DataLocation, NodeKind, SquashfsNode};
use crate::media::image::{ImageError, low32, low64, piece};

/// The length of an entry in the list of shared blocks.
const ENTRY: u64 = 16;

/// A block that several files share, with its number.
pub(super) struct FragmentBlock(u32, Rc<Vec<u8>>);

impl Squashfs<'_> {
    /// The content of a file, if it has at most `longest` bytes.
    pub fn read(&self, file: &SquashfsNode, longest: u64) -> Result<Vec<u8>, ImageError> {
        let mut bytes = Vec::new();
        self.copy(file, longest, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes the content of a file, block by block, if it has at most `longest` bytes.
    pub(crate) fn copy(
        &self,
        file: &SquashfsNode,
        longest: u64,
        out: &mut dyn Write,
    ) -> Result<(), ImageError> {
        let DataLocation::Data { mut start, lengths, fragment, offset } = file.place else {
            return Err(ImageError::Broken("file position"));
        };
        if file.length > longest {
            let name = format!("inode {}", file.number);
            return Err(ImageError::Long { name, length: file.length, longest });
        }
        let block_size = self.superblock.block_size() as u64;
        let mut left = file.length;
        let mut lengths = self.cursor(0, lengths.0, lengths.1)?;
        while left > 0 && (fragment == NONE || left >= block_size) {
            let want = usize::try_from(left.min(block_size)).expect("at most a block");
            let stored = low32(&lengths.read(4)?, 0);
            let block = if stored == 0 { vec![0; want] } else { self.data(start, stored)? };
            if block.len() != want {
                return Err(ImageError::Broken("file block"));
            }
            out.write_all(&block).map_err(ImageError::Read)?;
            start = start.saturating_add(u64::from(stored & !PLAIN_DATA));
            left -= want as u64;
        }
        if left > 0 {
            let block = self.shared(fragment)?;
            let tail =
                (block.get(offset as usize..)).and_then(|rest| rest.get(..usize::try_from(left).ok()?));
            let tail = tail.ok_or(ImageError::Broken("file position"))?;
            out.write_all(tail).map_err(ImageError::Read)?;
        }
        Ok(())
    }

    /// A block of data, whose length field has a compression flag.
    fn data(&self, start: u64, stored: u32) -> Result<Vec<u8>, ImageError> {
        let length = (stored & !PLAIN_DATA) as usize;
        if length > self.superblock.block_size() {
            return Err(ImageError::Broken("file block"));
        }
        let bytes = piece(self.image, start, length, "files")?;
        if stored & PLAIN_DATA != 0 {
            return Ok(bytes);
        }
        self.compressor.unpack(&bytes, self.superblock.block_size())
    }

    fn shared(&self, number: u32) -> Result<Rc<Vec<u8>>, ImageError> {
        if let Some(FragmentBlock(known, block)) = &*self.shared.borrow()
            && *known == number
        {
            return Ok(block.clone());
        }
        if number >= self.superblock.fragments {
            return Err(ImageError::Broken("fragment number"));
        }
        let at = u64::from(number) * ENTRY;
        let index = self.superblock.fragment_table.checked_add(at / METADATA as u64 * 8);
        let index = piece(self.image, index.ok_or(ImageError::Short("block list"))?, 8, "block list")?;
        let offset = u16::try_from(at % METADATA as u64).expect("in a block");
        let entry = self.cursor(0, low64(&index, 0), offset)?.read(16)?;
        let block = Rc::new(self.data(low64(&entry, 0), low32(&entry, 8))?);
        *self.shared.borrow_mut() = Some(FragmentBlock(number, block.clone()));
        Ok(block)
    }
}

impl SquashfsNode {
    /// Whether it is a file.
    pub fn is_file(&self) -> bool {
        self.kind == NodeKind::File
    }
}
