//! Files and disks as images.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use ichor_image::media::{Content, Image};
use nix::unistd::{Whence, lseek};

/// A file, or a disk of this machine.
pub(crate) struct FileImage {
    file: File,
    size: u64,
}

impl FileImage {
    /// The length of a disk is only known by going to its end.
    pub(crate) fn new(mut file: File) -> io::Result<Self> {
        let size = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, size })
    }

    /// What a file holds, with holes where the file has some.
    pub(crate) fn content(file: File) -> io::Result<Content> {
        let holes = holes(&file);
        let opened = Self::new(file)?;
        let size = opened.size;
        let whole = Content::from_image(Arc::new(opened));
        let mut content = Content::default();
        for (start, end) in holes.into_iter().filter(|(_, end)| *end <= size) {
            content
                .push(whole.part(content.len(), start - content.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
            content.pad_to(end);
        }
        content.push(whole.part(content.len(), size - content.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
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

/// Where nothing is in a file, from start to end; nowhere where the file system does not say it.
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
    fn a_file_has_the_holes_that_it_has() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"start", 1 << 20).unwrap();
        file.write_all_at(b"end", 8 << 20).unwrap();
        file.set_len(16 << 20).unwrap();
        let plain = Content::from_image(Arc::new(FileImage::new(file.try_clone().unwrap()).unwrap()));

        let content = FileImage::content(file).unwrap();

        assert_eq!(content, plain);
        let there: u64 = content.stretches().iter().filter(|it| !it.is_hole).map(|it| it.length).sum();
        assert!(there < 1 << 20, "{there}");
    }
}
