//! An unpacked extension on disk. No link is followed out of it, and nothing in it is executed.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, bail};
use ichor_talos::extension::{Entry, Kind, Tree};

/// More than any extension has: firmware of all vendors is a fiftieth of it.
const MOST_ENTRIES: usize = 250_000;

/// No manifest or service definition is longer.
const LONGEST_TEXT: u64 = 256 << 10;

/// All of them together are not longer.
const LONGEST_TEXTS: usize = 4 << 20;

/// Archives begin so: gzip, zstd, and tar, whose mark comes later.
const ARCHIVES: [(&[u8], usize); 3] = [(&[0x1f, 0x8b], 0), (&[0x28, 0xb5, 0x2f, 0xfd], 0), (b"ustar", 257)];

/// Everything in a folder that Talos looks at.
pub(super) fn read(top: &Path) -> anyhow::Result<Tree> {
    let mut tree = walk(top)?;
    let mut length = 0;
    for path in tree.wanted() {
        let bytes = text(&top.join(&path))?;
        length += bytes.len();
        if length > LONGEST_TEXTS {
            bail!("the service definitions in {} are longer than {} MiB", top.display(), LONGEST_TEXTS >> 20);
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
            // Of all else at the top, Talos knows that it does not belong there.
            if kind == Kind::Folder && (!inside.is_empty() || path == "rootfs") {
                folders.push((on_disk, path.clone()));
            }
            tree.add(path, Entry { kind, mode: meta.permissions().mode() & 0o7777 });
            if tree.len() > MOST_ENTRIES {
                bail!(
                    "{} has more than {MOST_ENTRIES} files and folders, which is no extension",
                    top.display()
                );
            }
        }
    }
    Ok(tree)
}

fn kind(path: &Path, meta: &Metadata) -> std::io::Result<Kind> {
    let kind = meta.file_type();
    Ok(if kind.is_dir() {
        Kind::Folder
    } else if kind.is_symlink() {
        Kind::Link(name(fs::read_link(path)?.as_os_str()))
    } else if kind.is_file() {
        Kind::File
    } else if kind.is_fifo() {
        Kind::Special("pipe")
    } else if kind.is_socket() {
        Kind::Special("socket")
    } else {
        Kind::Special("device")
    })
}

/// A name as text; bytes that are none are spelled out.
fn name(name: &OsStr) -> String {
    name.to_str().map_or_else(|| name.as_bytes().escape_ascii().to_string(), str::to_owned)
}

fn open(path: &Path) -> anyhow::Result<File> {
    File::open(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The text of a manifest or service definition.
pub(super) fn text(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(LONGEST_TEXT + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() as u64 > LONGEST_TEXT {
        bail!("{} is longer than {} KiB, which no definition is", path.display(), LONGEST_TEXT >> 10);
    }
    Ok(bytes)
}
