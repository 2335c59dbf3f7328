//! The content of a file, wherever its bytes are.
//!
//! A [`Content`] is composed of pieces: bytes in memory, parts of long [`Image`]s, zeros. Nothing is copied, and pieces are read
//! on demand, so that an image of gigabytes is composed in the memory of its small pieces, and can be inspected before it is written.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

use super::image::Image;

/// The chunk size.
const BUFFER: usize = 256 << 10;

/// Bytes in pieces. A copy of it is cheap.
#[derive(Clone, Default)]
pub struct Content {
    pieces: Vec<ContentPiece>,
    length: u64,
}

/// A piece, and its end offset.
#[derive(Clone)]
struct ContentPiece {
    end: u64,
    length: u64,
    kind: PieceData,
}

#[derive(Clone)]
enum PieceData {
    Bytes(Arc<[u8]>, usize),
    Part(Arc<dyn Image + Send + Sync>, u64),
    Zeros,
}

/// An extent of a content: offset, length, and whether it is a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentExtent {
    /// Its offset.
    pub start: u64,
    /// Its length.
    pub length: u64,
    /// Whether it is a hole.
    pub is_hole: bool,
}

impl Content {
    /// The content of a long image.
    pub fn from_image(image: Arc<dyn Image + Send + Sync>) -> Self {
        let length = image.size();
        Self::piece(length, PieceData::Part(image, 0))
    }

    /// Zeros only.
    pub fn zeros(length: u64) -> Self {
        Self::piece(length, PieceData::Zeros)
    }

    fn piece(length: u64, kind: PieceData) -> Self {
        if length == 0 {
            return Self::default();
        }
        Self { pieces: vec![ContentPiece { end: length, length, kind }], length }
    }

    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends a content.
    pub fn push(&mut self, next: impl Into<Content>) {
        for mut piece in next.into().pieces {
            self.length += piece.length;
            piece.end = self.length;
            self.pieces.push(piece);
        }
    }

    /// Adds zeros up to a length, if it is shorter.
    pub fn pad_to(&mut self, length: u64) {
        self.push(Self::zeros(length.saturating_sub(self.length)));
    }

    /// Adds zeros up to the next multiple of `step`.
    pub fn align(&mut self, step: u64) {
        self.pad_to(self.length.next_multiple_of(step));
    }

    /// The part of `length` bytes from `start` on; none if it ends before.
    #[must_use]
    pub fn part(&self, start: u64, length: u64) -> Option<Self> {
        let end = start.checked_add(length).filter(|end| *end <= self.length)?;
        let mut part = Self::default();
        let first = self.pieces.partition_point(|piece| piece.end <= start);
        for piece in self.pieces[first..].iter().take_while(|piece| piece.end - piece.length < end) {
            let begin = piece.end - piece.length;
            let (from, to) = (start.max(begin), end.min(piece.end));
            part.push(Self::piece(to - from, piece.kind.from(from - begin)));
        }
        Some(part)
    }

    /// Reads from its start to its end.
    pub(crate) fn reader(&self) -> impl Read + '_ {
        ContentReader { content: self, at: 0 }
    }

    /// Its bytes, where they are in memory already and in one piece.
    pub fn memory(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [] => Some(&[]),
            [ContentPiece { kind: PieceData::Bytes(bytes, start), length, .. }] => {
                bytes.get(*start..)?.get(..usize::try_from(*length).ok()?)
            }
            _ => None,
        }
    }

    /// Reads everything into memory. Only for short contents.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.length).map_err(|_| io::ErrorKind::OutOfMemory)?];
        self.read_at(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes all of it.
    pub fn copy_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut reader = self.reader();
        let mut buffer = vec![0; BUFFER];
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok(()),
                read => out.write_all(&buffer[..read])?,
            }
        }
    }

    /// Its extents in order: data and holes, which a sparse file need not store.
    pub fn stretches(&self) -> Vec<ContentExtent> {
        let mut all: Vec<ContentExtent> = Vec::new();
        for piece in &self.pieces {
            let is_hole = matches!(piece.kind, PieceData::Zeros);
            match all.last_mut().filter(|last| last.is_hole == is_hole) {
                Some(last) => last.length += piece.length,
                None => {
                    all.push(ContentExtent {
                        start: piece.end - piece.length,
                        length: piece.length,
                        is_hole,
                    });
                }
            }
        }
        all
    }
}

impl PieceData {
    /// The same from a later byte on.
    fn from(&self, offset: u64) -> Self {
        match self {
            Self::Bytes(bytes, start) => {
                let offset = usize::try_from(offset).expect("within bytes that are in memory");
                Self::Bytes(bytes.clone(), start + offset)
            }
            Self::Part(image, start) => Self::Part(image.clone(), start + offset),
            Self::Zeros => Self::Zeros,
        }
    }
}

impl Image for Content {
    fn size(&self) -> u64 {
        self.length
    }

    fn read_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut nth = self.pieces.partition_point(|piece| piece.end <= offset);
        while !buffer.is_empty() {
            let piece = &self.pieces[nth];
            let within = offset - (piece.end - piece.length);
            let length = usize::try_from(piece.end - offset).unwrap_or(usize::MAX).min(buffer.len());
            let (now, later) = buffer.split_at_mut(length);
            match piece.kind.from(within) {
                PieceData::Bytes(bytes, start) => now.copy_from_slice(&bytes[start..start + length]),
                PieceData::Part(image, start) => image.read_at(start, now)?,
                PieceData::Zeros => now.fill(0),
            }
            offset += length as u64;
            buffer = later;
            nth += 1;
        }
        Ok(())
    }
}

struct ContentReader<'c> {
    content: &'c Content,
    at: u64,
}

impl Read for ContentReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.content.length - self.at).unwrap_or(usize::MAX);
        let length = left.min(buffer.len());
        self.content.read_at(self.at, &mut buffer[..length])?;
        self.at += length as u64;
        Ok(length)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Arc::<[u8]>::from(bytes).into()
    }
}

impl From<Arc<[u8]>> for Content {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self::piece(bytes.len() as u64, PieceData::Bytes(bytes, 0))
    }
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Self {
        Arc::<[u8]>::from(bytes).into()
    }
}

impl<const N: usize> From<&[u8; N]> for Content {
    fn from(bytes: &[u8; N]) -> Self {
        bytes.as_slice().into()
    }
}

/// Whether both are equal; an unreadable part counts as empty.
impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        let (mut one, mut two) = (vec![0; BUFFER], vec![0; BUFFER]);
        let same = |at: u64| {
            let length = usize::try_from(self.length - at).map_or(BUFFER, |left| left.min(BUFFER));
            let read = self.read_at(at, &mut one[..length]).and(other.read_at(at, &mut two[..length]));
            read.is_ok() && one[..length] == two[..length]
        };
        self.length == other.length && (0..self.length).step_by(BUFFER).all(same)
    }
}

impl Eq for Content {}

impl fmt::Debug for Content {
    /// Without the bytes, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A content of pieces of all kinds, and its bytes.
    fn content(pieces: &[(u8, Vec<u8>)]) -> (Content, Vec<u8>) {
        let (mut content, mut bytes) = (Content::default(), Vec::new());
        for (kind, piece) in pieces {
            match kind % 3 {
                0 => content.push(piece.clone()),
                1 => content.push(Content::from_image(Arc::new(piece.clone()))),
                _ => content.push(Content::zeros(piece.len() as u64)),
            }
            let zeros = vec![0; piece.len()];
            bytes.extend(if kind % 3 == 2 { &zeros } else { piece });
        }
        (content, bytes)
    }

    proptest! {
        #[test]
        fn pieces_read_as_one_content(
            pieces in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..9)), 0..9),
            start in 0_usize..80,
            length in 0_usize..80,
        ) {
            let (content, bytes) = content(&pieces);

            prop_assert_eq!(content.len(), bytes.len() as u64);
            prop_assert_eq!(&content.read().unwrap(), &bytes);
            let mut copied = Vec::new();
            content.copy_to(&mut copied).unwrap();
            prop_assert_eq!(&copied, &bytes);
            prop_assert_eq!(&content, &Content::from(bytes.clone()));
            prop_assert!(content.memory().is_none_or(|memory| memory == bytes));
            let part = content.part(start as u64, length as u64).map(|part| part.read().unwrap());
            prop_assert_eq!(part.as_deref(), bytes.get(start..start + length));
            let stretches = content.stretches();
            prop_assert_eq!(stretches.iter().map(|stretch| stretch.length).sum::<u64>(), content.len());
            for hole in stretches.iter().filter(|stretch| stretch.is_hole) {
                let hole = content.part(hole.start, hole.length).unwrap().read().unwrap();
                prop_assert!(hole.iter().all(|byte| *byte == 0));
            }
        }
    }

    #[test]
    fn a_truncated_content_is_an_error_and_debug_output_hides_the_bytes() {
        let content = Content::from(b"hunter2");

        assert!(content.read_at(6, &mut [0; 2]).is_err());
        assert_eq!(format!("{content:?}"), "7 bytes");
    }

    #[test]
    fn contents_with_different_bytes_differ() {
        let long = |last: u8| [vec![1; BUFFER], vec![last]].concat();
        let parted = Content::from_image(Arc::new(long(2)));

        assert_eq!(parted, long(2).into());
        assert_ne!(parted, long(3).into());
        assert_ne!(parted, vec![1; BUFFER].into());
        assert_eq!((parted.memory(), Content::from(b"a").memory()), (None, Some(&b"a"[..])));
    }

    #[test]
    fn padding_is_a_hole() {
        let mut content = Content::from(b"ab");

        content.align(4);
        content.push(b"c");
        content.pad_to(3);

        assert_eq!(content.read().unwrap(), b"ab\0\0c");
        let hole = ContentExtent { start: 2, length: 2, is_hole: true };
        assert_eq!(content.stretches()[1], hole);
    }
}
