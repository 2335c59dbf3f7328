//! Writes OCI layouts to disk atomically.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ichor_image::oci::{ImageLayout, LAYOUT, LIST};
use ichor_system::file::StagingFolder;

use crate::disk::{self, WriteError};

/// Errors of writing a layout.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    #[error("cannot write {}: missing folder {}", path.display(), folder.display())]
    NoFolder { path: PathBuf, folder: PathBuf },
    #[error("cannot write {}: the path exists and is not a regular file", path.display())]
    NotFile { path: PathBuf },
    #[error("{} is not a folder; for an archive, use a name that ends in .tar", path.display())]
    NotFolder { path: PathBuf },
    #[error(
        "refusing to replace {}: {} is not part of an OCI layout; set another folder",
        path.display(),
        name.display()
    )]
    NotLayout { path: PathBuf, name: OsString },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Replace(#[from] WriteError),
}

/// Whether a path is an archive; all others are folders.
fn is_archive(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("tar"))
}

/// Checks that a layout can be written, before the expensive work starts.
pub(crate) fn check(path: &Path) -> Result<(), OutputError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(OutputError::NoFolder { path: path.to_owned(), folder: folder.to_owned() });
    }
    match fs::symlink_metadata(path) {
        Ok(meta) if is_archive(path) && !meta.is_file() => {
            Err(OutputError::NotFile { path: path.to_owned() })
        }
        _ if is_archive(path) => Ok(()),
        _ => check_folder(path),
    }
}

/// Checks that a folder is an OCI layout or does not exist.
pub(crate) fn check_folder(path: &Path) -> Result<(), OutputError> {
    let Ok(meta) = fs::symlink_metadata(path) else { return Ok(()) };
    if !meta.is_dir() {
        return Err(OutputError::NotFolder { path: path.to_owned() });
    }
    let failed = |source| OutputError::Read { path: path.to_owned(), source };
    for name in fs::read_dir(path).map_err(failed)? {
        let name = name.map_err(failed)?.file_name();
        if ![LAYOUT, LIST, "blobs"].iter().any(|known| name == OsStr::new(known)) {
            return Err(OutputError::NotLayout { path: path.to_owned(), name });
        }
    }
    Ok(())
}

/// Writes a layout as an archive or a folder, and replaces an earlier one.
pub(crate) fn write(layout: &ImageLayout, path: &Path) -> Result<(), OutputError> {
    if is_archive(path) {
        return Ok(disk::replace_by(path, |out| layout.archive(out))?);
    }
    let failed = |source| OutputError::Write { path: path.to_owned(), source };
    let staging = StagingFolder::beside(path).map_err(WriteError::from)?;
    let new = staging.make("new").map_err(WriteError::from)?;
    for (name, content) in &layout.files {
        let file = new.join(name);
        let folder = file.parent().expect("a path below the staging folder");
        fs::create_dir_all(folder).map_err(failed)?;
        disk::replace_by(&file, |out| content.copy_to(out))?;
    }
    fs::set_permissions(&new, Permissions::from_mode(0o755)).map_err(failed)?;
    Ok(staging.swap("new", path).map_err(WriteError::from)?)
}
