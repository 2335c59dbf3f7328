//! Temporary storage for large contents: an unnamed file that disappears with the process.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use ichor_image::media::{Content, Image};
use ichor_image::oci::{BlobStore, BlobWriter};

/// Write buffer size.
const BUFFER: usize = 256 << 10;

/// Adds the folder and a remedy to the error of a full temporary file system.
pub(crate) fn explain_full_disk(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::StorageFull {
        return error;
    }
    let folder = std::env::temp_dir();
    io::Error::new(error.kind(), format!("{} is full; set $TMPDIR to another folder", folder.display()))
}

/// A temporary file that cannot be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot create a temporary file in {}; set $TMPDIR to another folder", folder.display())]
pub(crate) struct TempFileError {
    folder: PathBuf,
    source: io::Error,
}

/// A temporary file with several contents in sequence.
pub(crate) struct TempFileStore {
    file: Arc<File>,
    end: u64,
}

impl TempFileStore {
    /// Creates the file in `$TMPDIR` or `/tmp`.
    pub(crate) fn new() -> Result<Self, TempFileError> {
        let file = tempfile::tempfile();
        let file = file.map_err(|source| TempFileError { folder: std::env::temp_dir(), source })?;
        Ok(Self { file: Arc::new(file), end: 0 })
    }
}

impl BlobStore for TempFileStore {
    fn write(&mut self, fill: BlobWriter<'_>) -> io::Result<Content> {
        let tail = Appender { file: &self.file, at: self.end };
        let mut out = BufWriter::with_capacity(BUFFER, tail);
        fill(&mut out)?;
        let end = out.into_inner().map_err(io::IntoInnerError::into_error)?.at;
        let kept = FileRange { file: Arc::clone(&self.file), start: self.end, length: end - self.end };
        self.end = end;
        Ok(Content::from_image(Arc::new(kept)))
    }
}

/// Writer that appends to a file.
struct Appender<'f> {
    file: &'f File,
    at: u64,
}

impl Write for Appender<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write_at(bytes, self.at).map_err(explain_full_disk)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One content of the file.
struct FileRange {
    file: Arc<File>,
    start: u64,
    length: u64,
}

impl Image for FileRange {
    fn size(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.file.read_exact_at(buffer, self.start + offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_separate_and_outlive_their_store() {
        let mut disk = TempFileStore::new().unwrap();
        let one = disk.keep(&mut &b"first"[..]).unwrap();
        let failed = disk.write(Box::new(|out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        }));
        let two = disk.keep(&mut &b"second"[..]).unwrap();
        drop(disk);

        assert!(failed.is_err());
        assert_eq!((one.read().unwrap(), two.read().unwrap()), (b"first".to_vec(), b"second".to_vec()));
        assert!(one.read_at(3, &mut [0; 3]).is_err(), "a content ends before the next one");
        assert!(one.memory().is_none());
    }
}
