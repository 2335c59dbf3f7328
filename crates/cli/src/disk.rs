//! The files a cluster is made of, on disk.

use std::fs;
use std::io::{ErrorKind, Read, Seek as _, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ichor_core::cluster::{FileError, Files};
use tempfile::NamedTempFile;

/// Ten times a cluster of a hundred thousand nodes; a device that never ends is no cluster file.
const LARGEST: u64 = 256 << 20;

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

impl WriteError {
    fn new(path: &Path, error: &std::io::Error) -> Self {
        let folder = folder_of(path);
        let reason = if error.kind() == ErrorKind::NotFound && !folder.exists() {
            format!("there is no folder {}", folder.display())
        } else {
            // What is written has a name of its own until it is whole, which means nothing to anybody.
            let inner = error.get_ref().and_then(|wrapped| wrapped.source());
            reason(inner.and_then(|inner| inner.downcast_ref()).unwrap_or(error))
        };
        Self { path: path.to_owned(), reason }
    }
}

/// Replaces `path` in one step: whoever reads it sees the old contents or the new, never half of either.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> Result<(), WriteError> {
    replace_by(path, |out| out.write_all(contents))
}

/// Replaces `path` as [`replace`] does, by what `fill` writes.
pub(crate) fn replace_by(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), WriteError> {
    put(path, fill, 0o644, |temp| temp.persist(path).map(drop).map_err(|error| error.error))
}

/// Replaces `path` as [`replace`] does, by the whole of another file, and with these permissions.
pub(crate) fn replace_from(path: &Path, mode: u32, from: &mut fs::File) -> Result<(), WriteError> {
    let fill = |out: &mut dyn Write| {
        from.rewind()?;
        std::io::copy(from, out).map(drop)
    };
    put(path, fill, mode, |temp| temp.persist(path).map(drop).map_err(|error| error.error))
}

/// Replaces `path` as [`replace`] does, for nobody else to read.
pub(crate) fn replace_private(path: &Path, contents: &[u8]) -> Result<(), WriteError> {
    let fill = |out: &mut dyn Write| out.write_all(contents);
    put(path, fill, 0o600, |temp| temp.persist(path).map(drop).map_err(|error| error.error))
}

/// Makes `path` in one step, for nobody else to read, and leaves one that exists alone.
pub(crate) fn create_private(path: &Path, contents: &[u8]) -> Result<(), WriteError> {
    let fill = |out: &mut dyn Write| out.write_all(contents);
    put(path, fill, 0o600, |temp| temp.persist_noclobber(path).map(drop).map_err(|error| error.error))
}

fn put(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    mode: u32,
    persist: impl FnOnce(NamedTempFile) -> std::io::Result<()>,
) -> Result<(), WriteError> {
    let attempt = || {
        let temp = draft(path, fill, mode)?;
        temp.as_file().sync_all()?;
        persist(temp)
    };
    attempt().map_err(|error| WriteError::new(path, &error))
}

/// What `fill` writes beside `path`, under a name of its own.
fn draft(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    mode: u32,
) -> std::io::Result<NamedTempFile> {
    let mut temp = NamedTempFile::new_in(folder_of(path))?;
    fill(temp.as_file_mut())?;
    temp.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    Ok(temp)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_is_interrupted_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.yaml");

        let failed =
            put(&path, |out| out.write_all(b"secret"), 0o600, |_| Err(std::io::Error::other("power lost")));

        assert!(failed.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_exists_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.yaml");
        create_private(&path, b"first").unwrap();

        let second = create_private(&path, b"second");

        assert!(second.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

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
