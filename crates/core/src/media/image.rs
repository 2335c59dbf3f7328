//! Bytes by their place, without having them all.

use std::io;

/// Something long that is read in pieces: a file, or bytes.
pub trait Image {
    /// How long it is.
    fn size(&self) -> u64;

    /// Fills `buffer` with what stands at `offset`.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

impl Image for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let end = start.and_then(|start| start.checked_add(buffer.len()));
        let piece = start.zip(end).and_then(|(start, end)| self.get(start..end));
        buffer.copy_from_slice(piece.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl Image for Vec<u8> {
    fn size(&self) -> u64 {
        self.as_slice().size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.as_slice().read_at(offset, buffer)
    }
}

/// Why an image could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is something else.
    #[error("neither an ISO 9660 nor a FAT file system")]
    Unknown,
    /// It ends before something it should have.
    #[error("the image ends before its {0}: is some of it missing?")]
    Short(&'static str),
    /// Something in it cannot be.
    #[error("the {0} is broken")]
    Broken(&'static str),
    /// Longer than anything that is read here.
    #[error("`{name}` has {length} bytes, and at most {longest} are read")]
    Long {
        /// What it is called.
        name: String,
        /// How long it is.
        length: u64,
        /// How long it may be.
        longest: u64,
    },
    /// It is a folder.
    #[error("`{0}` is a folder; want a file")]
    Folder(String),
    /// The bytes could not be had.
    #[error("cannot read the image")]
    Read(#[source] io::Error),
}

/// The bytes at `offset`. Nothing is made room for that the image does not have.
pub(super) fn piece(
    image: &dyn Image,
    offset: u64,
    length: usize,
    what: &'static str,
) -> Result<Vec<u8>, ReadError> {
    let end = offset.checked_add(length as u64).ok_or(ReadError::Short(what))?;
    if end > image.size() {
        return Err(ReadError::Short(what));
    }
    let mut bytes = vec![0; length];
    image.read_at(offset, &mut bytes).map_err(ReadError::Read)?;
    Ok(bytes)
}

/// The number of two bytes at `offset`, the low one first.
pub(super) fn low16(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes([bytes[offset], bytes[offset + 1]])
}

/// The number of four bytes at `offset`, the lowest first.
pub(super) fn low32(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes([bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]])
}
