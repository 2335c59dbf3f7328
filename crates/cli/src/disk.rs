//! The files a cluster is made of, on disk.

use std::fs;
use std::io::{ErrorKind, Read, Seek as _, Write};
use std::path::{Path, PathBuf};

use ichor_core::cluster::{FileError, Files};
use ichor_system::file::{self, ReplaceError};

/// Ten times a cluster of a hundred thousand nodes; a device that never ends is no cluster file.
const LARGEST: u64 = 256 << 20;

/// The modes of files: everybody may read them, or their owner alone.
const PUBLIC: u32 = 0o644;
const PRIVATE: u32 = 0o600;

/// Reads and finds files by their path.
pub(crate) struct Disk;

impl Files for Disk {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        let meta = fs::metadata(path).map_err(|error| unreadable(&error))?;
        if meta.is_dir() {
            return Err(FileError::new("it is a folder"));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
        let file = fs::File::open(path).map_err(|error| unreadable(&error))?;
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
        if bytes.len() as u64 > LARGEST {
            return Err(FileError::new(format!("it is larger than {} MiB", LARGEST >> 20)));
        }
        Ok(bytes)
    }

    fn find(&mut self, pattern: &str) -> Result<Vec<String>, FileError> {
        let paths = glob::glob(pattern).map_err(FileError::new)?;
        let mut found = Vec::new();
        for path in paths {
            let path = path.map_err(FileError::new)?;
            if path.is_file() {
                let name = path.to_str().ok_or_else(|| FileError::new("a file name that is not UTF-8"))?;
                found.push(name.to_owned());
            }
        }
        found.sort();
        Ok(found)
    }
}

/// Reads only regular files: of what a cluster file names nobody knows who writes into it, and a pipe would be waited for.
pub(crate) struct Regular;

impl Files for Regular {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        let meta = fs::metadata(path).map_err(|error| unreadable(&error))?;
        if !meta.is_file() && !meta.is_dir() {
            return Err(FileError::new("it is not a regular file"));
        }
        Disk.read(path)
    }

    fn find(&mut self, pattern: &str) -> Result<Vec<String>, FileError> {
        Disk.find(pattern)
    }
}

fn unreadable(error: &std::io::Error) -> FileError {
    FileError::new(reason(error))
}

/// Why a file could not be read, in the words of the system.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// A file that could not be written.
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
            format!("there is no folder {}", folder.display())
        } else {
            reason(&source)
        };
        Self { path, reason }
    }
}

/// Replaces `path` in one step: whoever reads it sees the old contents or the new, never half of either.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> Result<(), WriteError> {
    Ok(file::replace(path, PUBLIC, contents)?)
}

/// Replaces `path` as [`replace`] does, by what `fill` writes.
pub(crate) fn replace_by(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), WriteError> {
    Ok(file::replace_by(path, PUBLIC, |file| fill(file))?)
}

/// Replaces `path` as [`replace`] does, by the whole of another file, and with these permissions.
pub(crate) fn replace_from(path: &Path, mode: u32, from: &mut fs::File) -> Result<(), WriteError> {
    let fill = |out: &mut fs::File| {
        from.rewind()?;
        std::io::copy(from, out).map(drop)
    };
    Ok(file::replace_by(path, mode, fill)?)
}

/// Replaces `path` as [`replace`] does, for nobody else to read.
pub(crate) fn replace_private(path: &Path, contents: &[u8]) -> Result<(), WriteError> {
    Ok(file::replace(path, PRIVATE, contents)?)
}

/// Makes `path` in one step, for nobody else to read, and leaves one that exists alone.
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
    fn a_folder_that_is_missing_is_named_and_nothing_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("p");

        let failed = create_private(&missing.join("secrets.yaml"), b"secret").unwrap_err().to_string();

        let file = missing.join("secrets.yaml");
        assert_eq!(
            failed,
            format!("cannot write {}: there is no folder {}", file.display(), missing.display())
        );
        fs::write(&missing, "a file").unwrap();
        let failed = create_private(&file, b"secret").unwrap_err().to_string();
        assert_eq!(failed, format!("cannot write {}: not a directory", file.display()));
    }
}
