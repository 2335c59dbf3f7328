//! Bytes by their place, without having them all.

use std::io;

/// A long image that is read in chunks: a file, or bytes.
pub trait Image {
    /// Its length.
    fn size(&self) -> u64;

    /// Fills `buffer` with the bytes at `offset`.
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

/// A part of an image, such as a partition of a disk.
#[derive(Clone, Copy)]
pub struct ImageWindow<'i> {
    image: &'i dyn Image,
    start: u64,
    length: u64,
}

impl<'i> ImageWindow<'i> {
    /// The part of `length` bytes from `start` on; none if the image ends before it does.
    pub(crate) fn new(image: &'i dyn Image, start: u64, length: u64) -> Option<Self> {
        let end = start.checked_add(length)?;
        (end <= image.size()).then_some(Self { image, start, length })
    }
}

impl Image for ImageWindow<'_> {
    fn size(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.image.read_at(self.start + offset, buffer)
    }
}

/// Why an image could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It is not a supported image.
    #[error("neither an ISO 9660 nor a FAT file system, nor a disk with partitions")]
    Unknown,
    /// It has to be unpacked first.
    #[error("the image is compressed; decompress it with `{0}`")]
    Packed(&'static str),
    /// A disk image of a kind that is not read.
    #[error("unsupported qcow2 image: {0}")]
    Qcow2(String),
    /// Two partitions have bytes in common.
    #[error("partitions {0} and {1} overlap")]
    Overlap(usize, usize),
    /// It ends before something it should have.
    #[error("the image is truncated: {0} is missing")]
    Short(&'static str),
    /// Some of it is missing.
    #[error("the image is truncated: the file system has {length} bytes, the image only {there}")]
    CutOff {
        /// The length in the file system's header.
        length: u64,
        /// The length of the image.
        there: u64,
    },
    /// An invalid structure.
    #[error("the {0} is corrupt")]
    Broken(&'static str),
    /// Longer than anything that is read here.
    #[error("`{name}` is too large: {length} bytes, at most {longest}")]
    Long {
        /// Its name.
        name: String,
        /// Its length.
        length: u64,
        /// The limit.
        longest: u64,
    },
    /// It is a folder.
    #[error("`{0}` is a folder; want a file")]
    Folder(String),
    /// A compression that is not read.
    #[error("the squashfs is compressed with {0}; want zstd, xz or gzip")]
    Compressed(&'static str),
    /// The bytes could not be had.
    #[error("cannot read the image")]
    Read(#[source] io::Error),
}

/// Whether a file system is complete, by the length in its header. The image may be longer: some are padded.
pub(super) fn check_length(image: &dyn Image, length: u64) -> Result<(), ImageError> {
    if image.size() < length { Err(ImageError::CutOff { length, there: image.size() }) } else { Ok(()) }
}

/// The bytes at `offset`. Nothing is made room for that the image does not have.
pub(super) fn piece(
    image: &dyn Image,
    offset: u64,
    length: usize,
    what: &'static str,
) -> Result<Vec<u8>, ImageError> {
    let end = offset.checked_add(length as u64).ok_or(ImageError::Short(what))?;
    if end > image.size() {
        return Err(ImageError::Short(what));
    }
    let mut bytes = vec![0; length];
    image.read_at(offset, &mut bytes).map_err(ImageError::Read)?;
    Ok(bytes)
}

/// The number of eight bytes at `offset`, the lowest first.
pub(super) fn low64(bytes: &[u8], offset: usize) -> u64 {
    u64::from(low32(bytes, offset)) | u64::from(low32(bytes, offset + 4)) << 32
}

/// The number of four bytes at `offset`, the highest first.
pub(super) fn high32(bytes: &[u8], offset: usize) -> u32 {
    low32(bytes, offset).swap_bytes()
}

/// The number of eight bytes at `offset`, the highest first.
pub(super) fn high64(bytes: &[u8], offset: usize) -> u64 {
    low64(bytes, offset).swap_bytes()
}

/// The number of two bytes at `offset`, the low one first.
pub(super) fn low16(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes([bytes[offset], bytes[offset + 1]])
}

/// The number of four bytes at `offset`, the lowest first.
pub(super) fn low32(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes([bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]])
}
