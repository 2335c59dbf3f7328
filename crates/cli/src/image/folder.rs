//! A folder on disk as a tree. Files are opened when they are read; symlinks are not followed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichor_image::media::{Content, Image};
use ichor_image::oci::{EntryKind, FileTree, TreeEntry};

/// Size limit, above that of any extension.
const MAX_ENTRIES: usize = 250_000;

/// Errors of reading a folder.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} has a name that is not UTF-8", .0.display())]
    Name(PathBuf),
    #[error("{} has more than {MAX_ENTRIES} files and folders, too many for an extension", .0.display())]
    TooMany(PathBuf),
}

impl FolderError {
    fn read(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Read { path: path.to_owned(), source }
    }
}

/// Reads everything below a folder.
pub(crate) fn read_tree(top: &Path) -> Result<FileTree, FolderError> {
    let mut root = FileTree::default();
    let mut folders = vec![(top.to_owned(), String::new())];
    while let Some((folder, inside)) = folders.pop() {
        let failed = FolderError::read(&folder);
        for entry in folder.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let on_disk = entry.path();
            let name = entry.file_name();
            let name = name.to_str().ok_or_else(|| FolderError::Name(on_disk.clone()))?;
            let path = if inside.is_empty() { name.to_owned() } else { format!("{inside}/{name}") };
            let entry = read(&on_disk).map_err(FolderError::read(&on_disk))?;
            if entry.kind == EntryKind::Folder {
                folders.push((on_disk, path.clone()));
            }
            root.put(&path, entry);
            if root.len() > MAX_ENTRIES {
                return Err(FolderError::TooMany(top.to_owned()));
            }
        }
    }
    Ok(root)
}

fn read(path: &Path) -> io::Result<TreeEntry> {
    let meta = fs::symlink_metadata(path)?;
    let (kind, mode) = (meta.file_type(), meta.permissions().mode() & 0o7777);
    if kind.is_dir() {
        return Ok(TreeEntry { mode, ..TreeEntry::folder() });
    }
    if kind.is_symlink() {
        let target = fs::read_link(path)?;
        let target =
            target.to_str().ok_or_else(|| io::Error::other("the target of the symlink is not UTF-8"))?;
        return Ok(TreeEntry::link(target));
    }
    if kind.is_file() {
        let file = FolderFile { path: path.to_owned(), size: meta.len() };
        return Ok(TreeEntry::file(mode, Content::from_image(Arc::new(file))));
    }
    let what = if kind.is_fifo() {
        "pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    };
    Ok(TreeEntry { mode, kind: EntryKind::Special(what), ..TreeEntry::folder() })
}

/// A file that is opened for each read: a folder may have more files than a process can hold open.
struct FolderFile {
    path: PathBuf,
    size: u64,
}

impl Image for FolderFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        File::open(&self.path)?.read_exact_at(buffer, offset)
    }
}
