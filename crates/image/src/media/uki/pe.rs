//! The file of a program for UEFI: headers, and sections that are loaded.

use crate::media::Content;
use crate::media::image::{Image, ImageError, low16, low32, piece};

/// What it begins with, how long that first header is, and where it says where the next is.
const MAGIC: &[u8] = b"MZ";
pub(super) const DOS_HEADER: usize = 0x40;
const HEADER_AT: usize = 0x3c;

/// What the next header begins with, and how long it is behind that.
pub(super) const SIGNATURE: &[u8] = b"PE\0\0";
pub(super) const FILE_HEADER: usize = 20;

/// The most sections that are looked at, and the length of what describes one.
pub(super) const MOST_SECTIONS: usize = 256;
pub(super) const SECTION: usize = 40;

/// A program: what its headers say.
#[derive(Clone, Debug)]
pub(super) struct PeFile {
    /// The header that DOS knew.
    pub(super) dos: Vec<u8>,
    /// Machine, number of sections, time.
    pub(super) file: Vec<u8>,
    /// What is said to whoever loads it: may be none.
    pub(super) optional: Vec<u8>,
    /// The sections, in their order.
    pub(super) parts: Vec<PeSection>,
}

/// A section of a program.
#[derive(Clone, Debug)]
pub(super) struct PeSection {
    pub(super) name: [u8; 8],
    /// How long it is in memory, and where it is loaded.
    pub(super) memory: u32,
    pub(super) address: u32,
    /// How long it is in the file, and where it stands there.
    pub(super) written: u32,
    pub(super) start: u32,
    pub(super) flags: u32,
}

impl PeFile {
    /// The program in a file; none where it is something else.
    pub(super) fn find_in(image: &dyn Image) -> Result<Option<Self>, ImageError> {
        let Ok(dos) = piece(image, 0, DOS_HEADER, "header") else { return Ok(None) };
        if !dos.starts_with(MAGIC) {
            return Ok(None);
        }
        let at = u64::from(low32(&dos, HEADER_AT));
        let header = piece(image, at, SIGNATURE.len() + FILE_HEADER, "header")?;
        let Some(file) = header.strip_prefix(SIGNATURE) else { return Ok(None) };
        let (count, length) = (usize::from(low16(file, 2)), usize::from(low16(file, 16)));
        let at = at + header.len() as u64;
        let optional = piece(image, at, length, "header")?;
        let count = count.min(MOST_SECTIONS);
        let list = piece(image, at + length as u64, count * SECTION, "sections")?;
        let parts = list.chunks_exact(SECTION).map(PeSection::read).collect();
        Ok(Some(Self { dos, file: file.to_vec(), optional, parts }))
    }
}

impl PeSection {
    fn read(bytes: &[u8]) -> Self {
        let mut name = [0; 8];
        name.copy_from_slice(&bytes[..8]);
        let [memory, address, written, start, flags] = [8, 12, 16, 20, 36].map(|at| low32(bytes, at));
        Self { name, memory, address, written, start, flags }
    }

    pub(super) fn bytes(&self) -> [u8; SECTION] {
        let mut bytes = [0; SECTION];
        bytes[..8].copy_from_slice(&self.name);
        let numbers = [self.memory, self.address, self.written, self.start];
        for (at, number) in (8..).step_by(4).zip(numbers) {
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        bytes[36..].copy_from_slice(&self.flags.to_le_bytes());
        bytes
    }

    pub(super) fn name(&self) -> String {
        let length = self.name.iter().position(|byte| *byte == 0).unwrap_or(self.name.len());
        String::from_utf8_lossy(&self.name[..length]).into_owned()
    }

    /// The first bytes of what is written. What has none need not be anywhere.
    pub(super) fn content(&self, file: &Content, length: u32) -> Result<Content, ImageError> {
        let start = if length == 0 { 0 } else { self.start };
        file.part(start.into(), length.into()).ok_or(ImageError::Short("sections"))
    }

    /// How much of what is written is meant: that is padded to whole sectors, and in memory there may be more.
    pub(super) fn length(&self) -> u32 {
        self.memory.min(self.written)
    }
}
