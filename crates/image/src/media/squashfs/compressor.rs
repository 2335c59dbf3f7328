//! Blocks, made shorter and long again.

use std::io::{self, Read};

use flate2::read::ZlibDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

use crate::media::image::ImageError;

/// The level of zstd that Talos' own images have.
pub(super) const LEVEL: i32 = 18;

/// The memory that unpacking one block may take beside the block: dictionaries are as long as a block, and that is 1 MiB at most.
const MOST_MEMORY: u32 = 8 << 20;

/// Makes each of some blocks shorter, in their order: [`compress_in_order`], or the same on several processors.
pub type CompressBlocks<'p> = &'p dyn Fn(&[Vec<u8>]) -> io::Result<Vec<Vec<u8>>>;

/// Compresses blocks in sequence.
pub fn compress_in_order(blocks: &[Vec<u8>]) -> io::Result<Vec<Vec<u8>>> {
    let mut presser = BlockCompressor::new()?;
    blocks.iter().map(|block| presser.press(block)).collect()
}

/// Compresses blocks. Its buffers are reused from block to block.
pub struct BlockCompressor(zstd::bulk::Compressor<'static>);

impl BlockCompressor {
    /// A new compressor.
    pub fn new() -> io::Result<Self> {
        zstd::bulk::Compressor::new(LEVEL).map(Self)
    }

    /// A block, compressed. It is not always shorter.
    pub fn press(&mut self, block: &[u8]) -> io::Result<Vec<u8>> {
        self.0.compress(block)
    }
}

/// The compression of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compressor {
    Gzip,
    Xz,
    Zstd,
}

impl Compressor {
    /// The number of the one that is written.
    pub(super) const ZSTD: u16 = 6;

    /// The compression with a number.
    pub(super) fn from_number(number: u16) -> Result<Self, ImageError> {
        match number {
            1 => Ok(Self::Gzip),
            4 => Ok(Self::Xz),
            Self::ZSTD => Ok(Self::Zstd),
            2 => Err(ImageError::Compressed("lzma")),
            3 => Err(ImageError::Compressed("lzo")),
            5 => Err(ImageError::Compressed("lz4")),
            _ => Err(ImageError::Broken("superblock")),
        }
    }

    /// Decompresses a block of at most `most` bytes.
    pub(super) fn unpack(self, block: &[u8], most: usize) -> Result<Vec<u8>, ImageError> {
        let mut bytes = Vec::new();
        let wanted = most as u64 + 1;
        let unpacked = match self {
            Self::Gzip => ZlibDecoder::new(block).take(wanted).read_to_end(&mut bytes),
            Self::Xz => {
                let reader = XzReader::new_mem_limit(block, false, MOST_MEMORY >> 10);
                reader.take(wanted).read_to_end(&mut bytes)
            }
            Self::Zstd => StreamingDecoder::new_with_max_window_size(block, MOST_MEMORY.into())
                .map_err(io::Error::other)
                .and_then(|decoder| decoder.take(wanted).read_to_end(&mut bytes)),
        };
        match unpacked {
            Ok(length) if length <= most => Ok(bytes),
            _ => Err(ImageError::Broken("compressed block")),
        }
    }
}
