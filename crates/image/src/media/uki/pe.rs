//! The file of a program for UEFI: headers, and sections that are loaded.

use crate::media::Content;
use crate::media::image::{Image, ImageError, low16, low32, piece};

/// The signature of the DOS header, its length, and the offset of the pointer to the PE header.
const MAGIC: &[u8] = b"MZ";
pub(super) const DOS_HEADER: usize = 0x40;
const HEADER_AT: usize = 0x3c;

/// The signature of the PE header, and the length of the header after it.
pub(super) const SIGNATURE: &[u8] = b"PE\0\0";
pub(super) const FILE_HEADER: usize = 20;

/// The most sections, and the length of a section header.
pub(super) const MOST_SECTIONS: usize = 256;
pub(super) const SECTION: usize = 40;

/// A program: its headers.
#[derive(Clone, Debug)]
pub(super) struct PeFile {
    /// The header that DOS knew.
    pub(super) dos: Vec<u8>,
    /// Machine, number of sections, time.
    pub(super) file: Vec<u8>,
    /// The optional header, for the loader; may be empty.
    pub(super) optional: Vec<u8>,
    /// The sections, in their order.
    pub(super) parts: Vec<PeSection>,
}

/// A section of a program.
#[derive(Clone, Debug)]
pub(super) struct PeSection {
    pub(super) name: [u8; 8],
    /// Its length in memory, and its address.
    pub(super) memory: u32,
    pub(super) address: u32,
    /// Its length in the file, and its offset there.
    pub(super) written: u32,
    pub(super) start: u32,
    pub(super) flags: u32,
}

impl PeFile {
    /// The program in a file; none if it is not one.
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

    /// The first bytes that are stored in the file. A section without bytes may have any offset.
    pub(super) fn content(&self, file: &Content, length: u32) -> Result<Content, ImageError> {
        let start = if length == 0 { 0 } else { self.start };
        file.part(start.into(), length.into()).ok_or(ImageError::Short("sections"))
    }

    /// The length of the content: the stored length is padded to full sectors, and the length in memory may be larger.
    pub(super) fn length(&self) -> u32 {
        self.memory.min(self.written)
    }
}
