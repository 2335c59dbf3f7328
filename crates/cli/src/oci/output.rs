//! A layout on its way to disk: whole or not at all.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use ichor_image::oci::{LAYOUT, LIST, Layout};
use ichor_system::file::StagingFolder;

use crate::disk;

/// Whether a path is one of an archive; all others are of folders.
fn is_archive(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("tar"))
}

/// Makes sure that a layout may be written there, before much work is done for it.
pub(crate) fn check(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        bail!("cannot write {}: there is no folder {}", path.display(), folder.display());
    }
    match fs::symlink_metadata(path) {
        Ok(meta) if is_archive(path) && !meta.is_file() => {
            bail!("cannot write {}: there is something else than a file", path.display());
        }
        _ if is_archive(path) => Ok(()),
        _ => check_folder(path),
    }
}

/// Makes sure that a folder is a layout, or that there is none yet.
pub(crate) fn check_folder(path: &Path) -> anyhow::Result<()> {
    let Ok(meta) = fs::symlink_metadata(path) else { return Ok(()) };
    if !meta.is_dir() {
        bail!("{} is not a folder; an archive ends in .tar", path.display());
    }
    let names = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    for name in names {
        let name = name.with_context(|| format!("cannot read {}", path.display()))?.file_name();
        if ![LAYOUT, LIST, "blobs"].iter().any(|known| name == OsStr::new(known)) {
            bail!(
                "{} has {} in it, and is not replaced: only a layout is; name another folder",
                path.display(),
                name.display()
            );
        }
    }
    Ok(())
}

/// Writes a layout as an archive or a folder, in the place of an earlier one.
pub(crate) fn write(layout: &Layout, path: &Path) -> anyhow::Result<()> {
    if is_archive(path) {
        return Ok(disk::replace_by(path, |out| layout.archive(out))?);
    }
    let failed = || format!("cannot write {}", path.display());
    let staging = StagingFolder::beside(path)?;
    let new = staging.make("new")?;
    for (name, content) in &layout.files {
        let file = new.join(name);
        let folder = file.parent().expect("inside of the draft");
        fs::create_dir_all(folder).with_context(failed)?;
        disk::replace_by(&file, |out| content.copy_to(out))?;
    }
    fs::set_permissions(&new, Permissions::from_mode(0o755)).with_context(failed)?;
    Ok(staging.swap("new", path)?)
}
