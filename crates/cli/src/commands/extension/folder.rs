//! An unpacked extension on disk. Links out of the folder are not followed, and nothing is executed.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, bail};
use ichor_talos::extension::{FileEntry, FileKind, Tree};

/// Limit of files and folders, fifty times that of the firmware of all vendors.
const MAX_ENTRIES: usize = 250_000;

/// Size limit of a manifest or service definition.
const MAX_TEXT: u64 = 256 << 10;

/// Size limit of all manifests and service definitions together.
const MAX_TEXTS: usize = 4 << 20;

/// Magic bytes and offsets of archives: gzip, zstd and tar.
const ARCHIVES: [(&[u8], usize); 3] = [(&[0x1f, 0x8b], 0), (&[0x28, 0xb5, 0x2f, 0xfd], 0), (b"ustar", 257)];

/// Reads everything in a folder that Talos uses.
pub(super) fn read(top: &Path) -> anyhow::Result<Tree> {
    let mut tree = walk(top)?;
    let mut length = 0;
    for path in tree.required_files() {
        let bytes = text(&top.join(&path))?;
        length += bytes.len();
        if length > MAX_TEXTS {
            bail!("the service definitions in {} are longer than {} MiB", top.display(), MAX_TEXTS >> 20);
        }
        tree.fill(path, bytes);
    }
    Ok(tree)
}

/// Whether a file is an archive.
pub(super) fn is_archive(path: &Path) -> anyhow::Result<bool> {
    let mut head = Vec::new();
    let read = open(path)?.take(512).read_to_end(&mut head);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(ARCHIVES.iter().any(|(mark, at)| head.get(*at..).is_some_and(|it| it.starts_with(mark))))
}

fn walk(top: &Path) -> anyhow::Result<Tree> {
    let mut tree = Tree::default();
    let mut folders = vec![(top.to_owned(), String::new())];
    while let Some((folder, inside)) = folders.pop() {
        let failed = || format!("cannot read {}", folder.display());
        for entry in folder.read_dir().with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let on_disk = entry.path();
            let failed = || format!("cannot read {}", on_disk.display());
            let path = [inside.as_str(), &name(&entry.file_name())].join("/");
            let path = path.trim_start_matches('/').to_owned();
            let meta = entry.metadata().with_context(failed)?;
            let kind = kind(&on_disk, &meta).with_context(failed)?;
            // Talos rejects other folders at the top level without reading them.
            if kind == FileKind::Folder && (!inside.is_empty() || path == "rootfs") {
                folders.push((on_disk, path.clone()));
            }
            tree.add(path, FileEntry { kind, mode: meta.permissions().mode() & 0o7777 });
            if tree.len() > MAX_ENTRIES {
                bail!(
                    "{} is not an extension: it has more than {MAX_ENTRIES} files and folders",
                    top.display()
                );
            }
        }
    }
    Ok(tree)
}

fn kind(path: &Path, meta: &Metadata) -> std::io::Result<FileKind> {
    let kind = meta.file_type();
    Ok(if kind.is_dir() {
        FileKind::Folder
    } else if kind.is_symlink() {
        FileKind::Link(name(fs::read_link(path)?.as_os_str()))
    } else if kind.is_file() {
        FileKind::File
    } else if kind.is_fifo() {
        FileKind::Special("pipe")
    } else if kind.is_socket() {
        FileKind::Special("socket")
    } else {
        FileKind::Special("device")
    })
}

/// A file name as text, with invalid UTF-8 escaped.
fn name(name: &OsStr) -> String {
    name.to_str().map_or_else(|| name.as_bytes().escape_ascii().to_string(), str::to_owned)
}

fn open(path: &Path) -> anyhow::Result<File> {
    File::open(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Reads a manifest or service definition.
pub(super) fn text(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(MAX_TEXT + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() as u64 > MAX_TEXT {
        let (path, limit) = (path.display(), MAX_TEXT >> 10);
        bail!("cannot read {path}: longer than {limit} KiB, the limit for manifests and service definitions");
    }
    Ok(bytes)
}
