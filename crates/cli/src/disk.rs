//! Files on disk: reading cluster files, and atomic writes.

use std::fs;
use std::io::{ErrorKind, Read, Seek as _, Write};
use std::path::{Path, PathBuf};

use ichor_core::cluster::{FileError, Files};
use ichor_system::file::{self, ReplaceError};

/// Size limit: ten times a cluster of 100,000 nodes. Stops reads of endless devices.
const MAX_FILE_SIZE: u64 = 256 << 20;

/// File modes: world-readable, or owner only.
const PUBLIC: u32 = 0o644;
const PRIVATE: u32 = 0o600;

/// Reads and finds files by their path.
pub(crate) struct DiskFiles;

impl Files for DiskFiles {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        let meta = fs::metadata(path).map_err(|error| unreadable(&error))?;
        if meta.is_dir() {
            return Err(FileError::new("is a folder"));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
        let file = fs::File::open(path).map_err(|error| unreadable(&error))?;
        file.take(MAX_FILE_SIZE + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
        if bytes.len() as u64 > MAX_FILE_SIZE {
            return Err(FileError::new(format!("larger than {} MiB", MAX_FILE_SIZE >> 20)));
        }
        Ok(bytes)
    }

    fn find(&mut self, pattern: &str) -> Result<Vec<String>, FileError> {
        let paths = glob::glob(pattern).map_err(FileError::new)?;
        let mut found = Vec::new();
        for path in paths {
            let path = path.map_err(FileError::new)?;
            if path.is_file() {
                let name = path.to_str().ok_or_else(|| FileError::new("file name is not UTF-8"))?;
                found.push(name.to_owned());
            }
        }
        found.sort();
        Ok(found)
    }
}

/// Reads only regular files, for paths named by a cluster file: reading a pipe would block.
pub(crate) struct RegularFiles;

impl Files for RegularFiles {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        let meta = fs::metadata(path).map_err(|error| unreadable(&error))?;
        if !meta.is_file() && !meta.is_dir() {
            return Err(FileError::new("not a regular file"));
        }
        DiskFiles.read(path)
    }

    fn find(&mut self, pattern: &str) -> Result<Vec<String>, FileError> {
        DiskFiles.find(pattern)
    }
}

fn unreadable(error: &std::io::Error) -> FileError {
    FileError::new(io_reason(error))
}

/// Message of an I/O error without its number.
pub(crate) fn io_reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// A failed write.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {reason}", path.display())]
pub(crate) struct WriteError {
    path: PathBuf,
    reason: String,
}

impl From<ReplaceError> for WriteError {
    fn from(ReplaceError { path, source }: ReplaceError) -> Self {
        let folder = folder_of(&path);
        let reason = if source.kind() == ErrorKind::NotFound && !folder.exists() {
            format!("missing folder {}", folder.display())
        } else {
            io_reason(&source)
        };
        Self { path, reason }
    }
}

/// Replaces `path` atomically: readers see the old contents or the new, never a mixture.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> Result<(), WriteError> {
    Ok(file::replace(path, PUBLIC, contents)?)
}

/// Replaces `path` like [`replace`], with a writer callback.
pub(crate) fn replace_by(
    path: &Path,
    write_contents: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), WriteError> {
    Ok(file::replace_by(path, PUBLIC, |file| write_contents(file))?)
}

/// Replaces `path` like [`replace`], with the contents of another file and these permissions.
pub(crate) fn replace_from(path: &Path, mode: u32, from: &mut fs::File) -> Result<(), WriteError> {
    let write_contents = |out: &mut fs::File| {
        from.rewind()?;
        std::io::copy(from, out).map(drop)
    };
    Ok(file::replace_by(path, mode, write_contents)?)
}

/// Replaces `path` like [`replace`], readable by the owner only.
pub(crate) fn replace_private(path: &Path, contents: &[u8]) -> Result<(), WriteError> {
    Ok(file::replace(path, PRIVATE, contents)?)
}

/// Creates `path` atomically, readable by the owner only. Fails if it exists.
pub(crate) fn create_private(path: &Path, contents: &[u8]) -> Result<(), WriteError> {
    Ok(file::create(path, PRIVATE, contents)?)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_error_names_the_missing_folder_and_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("p");

        let failed = create_private(&missing.join("secrets.yaml"), b"secret").unwrap_err().to_string();

        let file = missing.join("secrets.yaml");
        assert_eq!(failed, format!("cannot write {}: missing folder {}", file.display(), missing.display()));
        fs::write(&missing, "a file").unwrap();
        let failed = create_private(&file, b"secret").unwrap_err().to_string();
        assert_eq!(failed, format!("cannot write {}: not a directory", file.display()));
    }
}
