//! Storage of long contents while an image is unpacked or packed.

use std::io::{self, Read, Write};

use crate::media::Content;

/// As much is kept in memory and no more, whatever an image promises.
const MOST_IN_MEMORY: u64 = 2 << 30;

/// Somewhere with room for long contents: a file, or memory.
pub trait BlobStore {
    /// Stores the output of `fill`.
    fn write(&mut self, fill: BlobWriter<'_>) -> io::Result<Content>;

    /// Stores a reader's data, to its end.
    fn keep(&mut self, bytes: &mut dyn Read) -> io::Result<Content> {
        self.write(Box::new(|out| io::copy(bytes, out).map(drop)))
    }
}

/// Writes a content.
pub type BlobWriter<'f> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'f>;

/// Memory. Only for contents that are needed there, such as the programs of an image that are parsed.
#[derive(Debug)]
pub struct MemoryStore {
    left: u64,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self { left: MOST_IN_MEMORY }
    }
}

impl BlobStore for MemoryStore {
    fn write(&mut self, fill: BlobWriter<'_>) -> io::Result<Content> {
        let mut bounded = BoundedBuffer { bytes: Vec::new(), left: self.left };
        fill(&mut bounded)?;
        self.left = bounded.left;
        Ok(bounded.bytes.into())
    }
}

/// Bytes, and how many more may come.
struct BoundedBuffer {
    bytes: Vec<u8>,
    left: u64,
}

impl Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let full = || {
            io::Error::other(format!(
                "content larger than {} GiB does not fit in memory",
                MOST_IN_MEMORY >> 30
            ))
        };
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(full)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Stores the lengths of contents, and none of their bytes.
pub(crate) struct LengthStore;

impl BlobStore for LengthStore {
    fn write(&mut self, fill: BlobWriter<'_>) -> io::Result<Content> {
        let mut length = LengthCounter(0);
        fill(&mut length)?;
        Ok(Content::zeros(length.0))
    }
}

struct LengthCounter(u64);

impl Write for LengthCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_store_has_a_size_limit() {
        let mut memory = MemoryStore { left: 5 };

        assert_eq!(memory.keep(&mut &b"abc"[..]).unwrap(), b"abc".into());
        assert!(memory.keep(&mut &b"def"[..]).is_err());
        assert_eq!(memory.keep(&mut &b"de"[..]).unwrap(), b"de".into());
        assert_eq!(LengthStore.keep(&mut &b"abc"[..]).unwrap(), Content::zeros(3));
    }
}
