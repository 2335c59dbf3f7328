//! The files of an initramfs, in the order a kernel unpacks them.
//!
//! An initramfs is a sequence of segments with zeros between them: cpio archives, plain or compressed. Compressed ones are
//! streamed: no more of them is in memory than decompression needs.

use std::io::{self, BufRead, BufReader, Read};

use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

use super::InitramfsError;
use crate::media::cpio::{self, FileType};
use crate::media::{self, Image};

/// How much of the image is in memory.
const BUFFER: usize = 256 << 10;

/// The limits of a decompressed initramfs: size and number of files.
const MOST_UNPACKED: u64 = 8 << 30;
const MOST_FILES: usize = 1 << 18;

/// How many zeros may be between archives; more are only there to waste time.
const MOST_ZEROS: u64 = 64 << 20;

/// The memory limit for decompression of a segment: the same as a kernel's.
const MOST_MEMORY: u32 = 128 << 20;

/// The signatures of compressed segments. Talos' kernels support only zstd and xz.
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const XZ: &[u8] = b"\xfd7zXZ\0";
const OTHERS: [(&[u8], &str); 5] = [
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\x5d\0\0", "lzma"),
    (b"\x89LZO", "lzo"),
    (b"\x02\x21\x4c\x18", "lz4"),
];

/// A file, folder or link in an initramfs.
#[derive(Clone, Debug)]
pub struct InitramfsFile {
    /// Its path, without `/` or `./` before it; empty for the top.
    pub path: String,
    /// Its type.
    pub shape: FileType,
    /// Its permissions.
    pub mode: u32,
    /// Its length.
    pub length: u64,
    /// The offset of its content in the image, if it is not compressed.
    pub at: Option<u64>,
}

/// Receives a file and its content.
pub type FileVisitor<'s> = &'s mut dyn FnMut(&InitramfsFile, &mut dyn Read) -> Result<(), InitramfsError>;

/// Visits every file of an initramfs; a visitor reads as much of the content as it needs. Returns where the first compressed
/// segment begins: the kernel searches the part before it for microcode.
pub fn files(image: &dyn Image, show: FileVisitor<'_>) -> Result<u64, InitramfsError> {
    let mut source = SegmentReader { image, buffer: Vec::new(), start: 0, used: 0 };
    let mut budget = UnpackBudget { bytes: MOST_UNPACKED, files: MOST_FILES };
    let mut head = None;
    loop {
        skip_zeros(&mut source)?;
        let at = source.at();
        let begin = source.peek()?;
        if begin.is_empty() {
            return Ok(head.unwrap_or(at));
        }
        if begin.starts_with(b"07070") {
            archive(&mut source, &mut budget, &|source| Some(source.at()), show)?;
            continue;
        }
        head.get_or_insert(at);
        let unpacked: Box<dyn Read + '_> = if begin.starts_with(ZSTD) {
            let decoder = StreamingDecoder::new_with_max_window_size(&mut source, MOST_MEMORY.into());
            Box::new(decoder.map_err(|_| InitramfsError::Segment { at })?)
        } else if begin.starts_with(XZ) {
            Box::new(XzReader::new_mem_limit(&mut source, false, MOST_MEMORY >> 10))
        } else {
            let other = OTHERS.iter().find(|(magic, _)| begin.starts_with(magic));
            return Err(match other {
                Some((_, compression)) => InitramfsError::Compression { at, compression },
                None => InitramfsError::Unknown { at },
            });
        };
        let mut unpacked = BufReader::with_capacity(BUFFER, unpacked.take(budget.bytes + 1));
        while skip_zeros(&mut unpacked).map_err(|error| error.unpacking(at))? {
            archive(&mut unpacked, &mut budget, &|_| None, show)?;
        }
        budget.bytes = unpacked.into_inner().limit().checked_sub(1).ok_or(InitramfsError::Large)?;
    }
}

/// Whether an image is an initramfs, judged by its first file.
pub fn is_initramfs(image: &dyn Image) -> bool {
    let mut is_one = false;
    let _ = files(image, &mut |_, _| {
        is_one = true;
        Err(InitramfsError::Large)
    });
    is_one
}

/// The remaining limits.
struct UnpackBudget {
    bytes: u64,
    files: usize,
}

/// Shows the files of one archive.
fn archive<R: Read>(
    from: &mut R,
    budget: &mut UnpackBudget,
    place: &dyn Fn(&R) -> Option<u64>,
    show: FileVisitor<'_>,
) -> Result<(), InitramfsError> {
    let mut reader = cpio::CpioReader::new(from);
    while let Some(entry) = reader.entry()? {
        budget.files = budget.files.checked_sub(1).ok_or(InitramfsError::Large)?;
        let path = entry.name.trim_start_matches("./").trim_start_matches('/');
        let file = InitramfsFile {
            path: if path == "." { String::new() } else { path.to_owned() },
            shape: entry.shape,
            mode: entry.mode,
            length: entry.length,
            at: place(reader.source()),
        };
        show(&file, &mut reader)?;
    }
    Ok(())
}

/// Skips zeros. Returns whether any bytes remain.
fn skip_zeros(from: &mut impl BufRead) -> Result<bool, InitramfsError> {
    let mut skipped = 0;
    while skipped <= MOST_ZEROS {
        let buffer = from.fill_buf()?;
        if buffer.is_empty() {
            return Ok(false);
        }
        let zeros = buffer.iter().take_while(|byte| **byte == 0).count();
        let is_something = zeros < buffer.len();
        from.consume(zeros);
        if is_something {
            return Ok(true);
        }
        skipped += zeros as u64;
    }
    Err(InitramfsError::Large)
}

impl InitramfsError {
    /// Converts a read error of a compressed segment into a decompression error.
    fn unpacking(self, at: u64) -> Self {
        match self {
            Self::Read(_) => Self::Segment { at },
            other => other,
        }
    }
}

/// The image, read from its start on, and where that is.
struct SegmentReader<'i> {
    image: &'i dyn Image,
    buffer: Vec<u8>,
    start: u64,
    used: usize,
}

impl SegmentReader<'_> {
    fn at(&self) -> u64 {
        self.start + self.used as u64
    }

    /// The next bytes: enough to detect their format, unless fewer remain.
    fn peek(&mut self) -> io::Result<&[u8]> {
        if self.buffer.len() - self.used < XZ.len() {
            self.refill()?;
        }
        Ok(&self.buffer[self.used..])
    }

    fn refill(&mut self) -> io::Result<()> {
        self.start = self.at();
        self.used = 0;
        let left = self.image.size() - self.start;
        self.buffer.resize(usize::try_from(left).map_or(BUFFER, |left| left.min(BUFFER)), 0);
        self.image.read_at(self.start, &mut self.buffer)
    }
}

impl BufRead for SegmentReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.used == self.buffer.len() {
            self.refill()?;
        }
        Ok(&self.buffer[self.used..])
    }

    fn consume(&mut self, amount: usize) {
        self.used += amount;
    }
}

impl Read for SegmentReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl From<media::ImageError> for InitramfsError {
    fn from(error: media::ImageError) -> Self {
        Self::Archive(error)
    }
}
