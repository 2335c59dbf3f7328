//! Archives in the form that a Linux kernel unpacks at its start: cpio, `newc`.
//!
//! [`write()`] makes one of a tree as `cpio --reproducible` does, everything root's and without times. [`CpioReader`] streams
//! archives of any origin, from start to end.

use std::collections::BTreeMap;
use std::io::{self, Read};

use super::content::Content;
use super::image::ImageError;
use crate::oci::{EntryKind, FileTree};

/// The signatures of an entry: without and with a checksum, which kernels ignore.
const MAGIC: &[u8; 6] = b"070701";
const MAGIC_WITH_SUM: &[u8; 6] = b"070702";

/// The length of an entry's header: the signature, and 13 numbers of eight digits.
const HEAD: usize = 6 + 13 * 8;

/// The name of the entry that is the last.
const TRAILER: &str = "TRAILER!!!";

/// Archives are padded to this block size.
const BLOCK: u64 = 512;

/// The longest name, with its zero: the longest path of Linux.
const LONGEST_NAME: usize = 4096;

/// The file type bits of a mode.
const KIND: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// Why a tree could not be put into an archive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpioWriteError {
    /// More than the format can say.
    #[error("`{path}` has {length} bytes; files of an initramfs must be smaller than 4 GiB")]
    Long {
        /// Its path.
        path: String,
        /// Its length.
        length: u64,
    },
    /// An entry that an initramfs cannot contain.
    #[error("`{path}` is a {what}; want files, folders and links")]
    Special {
        /// Its path.
        path: String,
        /// The field.
        what: &'static str,
    },
}

/// The archive of a tree: each folder before its entries, names sorted, without `./` before them.
pub fn write(root: &FileTree) -> Result<Content, CpioWriteError> {
    let mut entries: Vec<_> = root.iter().collect();
    entries.sort_by(|(one, _), (other, _)| one.split('/').cmp(other.split('/')));
    let mut folders: BTreeMap<&str, u32> = BTreeMap::new();
    for (path, entry) in &entries {
        if entry.kind == EntryKind::Folder
            && let Some((above, _)) = path.rsplit_once('/')
        {
            *folders.entry(above).or_default() += 1;
        }
    }
    let mut archive = Content::default();
    for (number, (path, entry)) in (0..).zip(entries) {
        let permissions = entry.mode & 0o7777;
        match &entry.kind {
            EntryKind::Folder => {
                let links = 2 + folders.get(path).copied().unwrap_or_default();
                add(&mut archive, path, [number, FOLDER | permissions, links], &Content::default());
            }
            EntryKind::File(content) => {
                if u32::try_from(content.len()).is_err() {
                    return Err(CpioWriteError::Long { path: path.to_owned(), length: content.len() });
                }
                add(&mut archive, path, [number, FILE | permissions, 1], content);
            }
            EntryKind::Link(target) => {
                add(&mut archive, path, [number, LINK | 0o777, 1], &target.as_bytes().into());
            }
            EntryKind::Special(what) => return Err(CpioWriteError::Special { path: path.to_owned(), what }),
        }
    }
    add(&mut archive, TRAILER, [0, 0, 1], &Content::default());
    archive.align(BLOCK);
    Ok(archive)
}

fn add(archive: &mut Content, name: &str, [number, mode, links]: [u32; 3], content: &Content) {
    let (length, name_length) = (content.len(), name.len() as u64 + 1);
    let mut head = MAGIC.to_vec();
    let [owner, group, time, device, sum] = [0_u64; 5];
    for field in [number.into(), mode.into(), owner, group, links.into(), time, length] {
        head.extend(format!("{field:08X}").bytes());
    }
    for field in [device, device, device, device, name_length, sum] {
        head.extend(format!("{field:08X}").bytes());
    }
    head.extend(name.bytes().chain([0]));
    head.resize(head.len().next_multiple_of(4), 0);
    archive.push(head);
    archive.push(content.clone());
    archive.align(4);
}

/// Reads an archive, entry by entry. Reading from it returns the content of the current entry.
pub struct CpioReader<R> {
    from: R,
    /// The remaining bytes of the entry and its padding.
    left: u64,
    padding: u64,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpioEntry {
    /// Its path as stored.
    pub name: String,
    /// Its permissions.
    pub mode: u32,
    /// Its type; the target of a link is its content.
    pub shape: FileType,
    /// Its length.
    pub length: u64,
}

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A folder.
    Folder,
    /// A file.
    File,
    /// A symbolic link.
    Link,
    /// A device, pipe or socket.
    Special,
}

impl<R: Read> CpioReader<R> {
    /// Reads from the current position.
    pub fn new(from: R) -> Self {
        Self { from, left: 0, padding: 0 }
    }

    /// The next entry, whatever is left of the one before; none at the end.
    pub fn entry(&mut self) -> Result<Option<CpioEntry>, ImageError> {
        self.skip()?;
        let head: [u8; HEAD] = self.exact()?;
        if !(head.starts_with(MAGIC) || head.starts_with(MAGIC_WITH_SUM)) {
            return Err(ImageError::Broken("cpio archive"));
        }
        let number = |nth: usize| hex(&head[6 + 8 * nth..][..8]);
        let (mode, length, name_length) = (number(1)?, number(6)?, number(11)? as usize);
        if name_length == 0 || name_length > LONGEST_NAME {
            return Err(ImageError::Broken("cpio archive"));
        }
        let mut name = vec![0; name_length + (HEAD + name_length).next_multiple_of(4) - HEAD - name_length];
        self.fill(&mut name)?;
        if name[name_length - 1] != 0 {
            return Err(ImageError::Broken("cpio archive"));
        }
        let name = String::from_utf8_lossy(&name[..name_length - 1]).into_owned();
        self.left = length.into();
        self.padding = self.left.next_multiple_of(4) - self.left;
        if name == TRAILER {
            self.skip()?;
            return Ok(None);
        }
        let shape = match mode & KIND {
            FOLDER => FileType::Folder,
            FILE => FileType::File,
            LINK => FileType::Link,
            _ => FileType::Special,
        };
        Ok(Some(CpioEntry { name, mode: mode & 0o7777, shape, length: length.into() }))
    }

    /// The underlying reader.
    pub fn source(&self) -> &R {
        &self.from
    }

    fn skip(&mut self) -> Result<(), ImageError> {
        let rest = self.left + self.padding;
        let skipped =
            io::copy(&mut (&mut self.from).take(rest), &mut io::sink()).map_err(ImageError::Read)?;
        (self.left, self.padding) = (0, 0);
        if skipped == rest { Ok(()) } else { Err(ImageError::Short("cpio archive")) }
    }

    fn exact<const N: usize>(&mut self) -> Result<[u8; N], ImageError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), ImageError> {
        self.from.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ImageError::Short("cpio archive"),
            _ => ImageError::Read(error),
        })
    }
}

/// Reads the content of the current entry.
impl<R: Read> Read for CpioReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 || buffer.is_empty() {
            return Ok(0);
        }
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = self.from.read(&mut buffer[..most])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        Ok(read)
    }
}

fn hex(digits: &[u8]) -> Result<u32, ImageError> {
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'));
    text.and_then(|text| u32::from_str_radix(text, 16).ok()).ok_or(ImageError::Broken("cpio archive"))
}
