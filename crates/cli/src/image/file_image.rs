//! Files and block devices as images.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use ichor_image::media::{Content, Image};
use nix::unistd::{Whence, lseek};

/// A file or a block device.
pub(crate) struct FileImage {
    file: File,
    size: u64,
}

impl FileImage {
    /// Finds the size by seeking: the metadata of a block device has none.
    pub(crate) fn new(mut file: File) -> io::Result<Self> {
        let size = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, size })
    }

    /// The content of a file, with its holes.
    pub(crate) fn content(file: File) -> io::Result<Content> {
        let holes = holes(&file);
        let opened = Self::new(file)?;
        let size = opened.size;
        let image = Content::from_image(Arc::new(opened));
        let mut content = Content::default();
        for (start, end) in holes.into_iter().filter(|(_, end)| *end <= size) {
            content
                .push(image.part(content.len(), start - content.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
            content.pad_to(end);
        }
        content.push(image.part(content.len(), size - content.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(content)
    }
}

impl Image for FileImage {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

/// Start and end of each hole of a file; empty if the file system does not report holes.
fn holes(file: &File) -> Vec<(u64, u64)> {
    let seek = |from: i64, whence| lseek(file, from, whence).ok();
    let Some(end) = seek(0, Whence::SeekEnd) else { return Vec::new() };
    let (mut holes, mut at) = (Vec::new(), 0);
    while let Some(start) = seek(at, Whence::SeekHole).filter(|start| *start < end) {
        at = seek(start, Whence::SeekData).unwrap_or(end);
        if let (Ok(start), Ok(end)) = (u64::try_from(start), u64::try_from(at)) {
            holes.push((start, end));
        }
        if at >= end {
            break;
        }
    }
    holes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_of_a_sparse_file_are_detected() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"start", 1 << 20).unwrap();
        file.write_all_at(b"end", 8 << 20).unwrap();
        file.set_len(16 << 20).unwrap();
        let plain = Content::from_image(Arc::new(FileImage::new(file.try_clone().unwrap()).unwrap()));

        let content = FileImage::content(file).unwrap();

        assert_eq!(content, plain);
        let data: u64 = content.stretches().iter().filter(|it| !it.is_hole).map(|it| it.length).sum();
        assert!(data < 1 << 20, "{data}");
    }
}
