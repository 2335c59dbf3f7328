//! A file of a file system, as an image of its own.

use std::io;

use super::Content;
use super::image::{Image, ImageError};

/// A file, wherever its pieces are.
pub struct FileImage<'i> {
    image: &'i dyn Image,
    pieces: Vec<FileExtent>,
    size: u64,
}

/// Bytes that follow each other, in the file and in the image.
#[derive(Clone, Copy, Debug)]
struct FileExtent {
    /// Its offset in the file.
    at: u64,
    /// Its offset in the image.
    start: u64,
    length: u64,
}

impl<'i> FileImage<'i> {
    /// A file with nothing in it yet.
    pub(super) fn empty(image: &'i dyn Image) -> Self {
        Self { image, pieces: Vec::new(), size: 0 }
    }

    /// Adds the bytes at `start` of the image.
    pub(super) fn add(&mut self, start: u64, length: u64) -> Result<(), ImageError> {
        let end = start.checked_add(length).filter(|end| *end <= self.image.size());
        end.ok_or(ImageError::Short("files"))?;
        match self.pieces.last_mut().filter(|last| last.start + last.length == start) {
            Some(last) => last.length += length,
            None => self.pieces.push(FileExtent { at: self.size, start, length }),
        }
        self.size += length;
        Ok(())
    }

    /// The same as parts of `image`, which is the one it is in.
    pub(super) fn parts_of(&self, image: &Content) -> Option<Content> {
        let mut content = Content::default();
        for piece in &self.pieces {
            content.push(image.part(piece.start, piece.length)?);
        }
        Some(content)
    }
}

impl Image for FileImage<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let nth = self.pieces.partition_point(|piece| piece.at + piece.length <= offset);
            let piece = self.pieces.get(nth).ok_or(io::ErrorKind::UnexpectedEof)?;
            let within = offset - piece.at;
            let length = usize::try_from(piece.length - within).unwrap_or(usize::MAX).min(buffer.len());
            let (now, later) = buffer.split_at_mut(length);
            self.image.read_at(piece.start + within, now)?;
            offset += length as u64;
            buffer = later;
        }
        Ok(())
    }
}
