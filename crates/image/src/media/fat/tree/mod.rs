//! A FAT32 file system from a tree of folders and files.
//!
//! Files stand one behind the other, each folder before what is in it. Tables and folders are in memory, and files stay where they are.

mod boot_sector;
mod layout;
mod names;

use boot_sector::Serial;
use layout::Layout;
use names::Folder;

use super::folder;
use super::name::Short;
use super::{ARCHIVE, FOLDER, MEDIUM, READ_ONLY, RECORD, SECTOR};
use crate::media::Content;
use crate::oci::{Entry, Kind, Root};

/// The smallest file system of this kind: below, it would have too few clusters.
pub const SMALLEST_TREE: u64 = 34 << 20;

/// The cluster of the root folder, the first there is.
const FIRST: u32 = 2;

/// The last cluster of a file.
const END: u32 = 0x0fff_ffff;

/// Who may write to a file.
const WRITERS: u32 = 0o222;

/// Why there is no such file system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// There is no room for the label, or it has letters that are none.
    #[error("`{0}` is no label of a FAT file system; want 1 to 11 of A-Z, 0-9, `-`, `_` and spaces")]
    Label(String),
    /// It cannot have this name.
    #[error(
        "`{0}` cannot be on a FAT file system; want a name of 1 to 255 letters of ASCII, none of `\"*:<>?\\|`, no `.` or space last"
    )]
    Name(String),
    /// Small and capital letters are the same there.
    #[error(
        "`{0}` and `{1}` are the same on a FAT file system, which takes small and capital letters for one"
    )]
    Twice(String, String),
    /// Something that is neither a file nor a folder.
    #[error("`{0}` is neither a file nor a folder, and a FAT file system has nothing else")]
    Other(String),
    /// There are too many.
    #[error("`{0}` has too much in it for a folder of a FAT file system")]
    Many(String),
    /// It is too long.
    #[error("`{path}` has {length} bytes; a file of a FAT file system has at most 4294967295")]
    Long {
        /// Where it is.
        path: String,
        /// How long it is.
        length: u64,
    },
    /// The size is none.
    #[error(
        "a FAT32 file system of {0} bytes cannot be; want {SMALLEST_TREE} to 2198754099200, in sectors of 512"
    )]
    Size(u64),
    /// Everything together is too long.
    #[error("{needed} bytes do not fit into a FAT32 file system of {size} bytes, which has room for {room}")]
    Full {
        /// How much there is, in whole clusters.
        needed: u64,
        /// How long the file system is.
        size: u64,
        /// How much it has room for.
        room: u64,
    },
}

/// A file system of `size` bytes with this label and tree. A file that nobody may write to is read-only.
pub fn tree(label: &str, root: &Root, size: u64) -> Result<Content, TreeError> {
    let label = names::label(label)?;
    let folders = names::folders(root)?;
    let layout = Layout::of(size)?;
    layout.check(size, &folders)?;
    let mut disk = Disk::new(layout.cluster());
    // Where everything comes to be is known before the first record is written: a folder says where those in it are.
    let mut places = Vec::new();
    for folder in &folders {
        let own = disk.take(folder.length());
        let files = folder.children.iter().map(|child| disk.take(child.length()));
        places.push((own, files.collect::<Vec<u32>>()));
    }
    for (nth, folder) in folders.iter().enumerate() {
        disk.put(records(label, nth, folder, &places));
        for child in &folder.children {
            if let Kind::File(content) = &child.entry.kind {
                disk.put(content.clone());
            }
        }
    }
    Ok(disk.written(&layout, label, Serial::of(label, root)))
}

/// The records of a folder. `places` are the clusters of all folders, and of the files in them.
fn records(label: Short, nth: usize, folder: &Folder<'_>, places: &[(u32, Vec<u32>)]) -> Content {
    let cluster = |folder: usize| if folder == 0 { 0 } else { places[folder].0 };
    let mut bytes = if nth == 0 {
        folder::label(label).to_vec()
    } else {
        let own = folder::record(dots(1), FOLDER, cluster(nth), 0);
        [own, folder::record(dots(2), FOLDER, cluster(folder.above), 0)].concat()
    };
    for (child, file) in folder.children.iter().zip(&places[nth].1) {
        let first = if child.entry.kind == Kind::Folder { cluster(child.folder) } else { *file };
        let length = u32::try_from(child.length()).expect("looked at before");
        bytes.extend(folder::named(child.name, child.short, attributes(child.entry), first, length));
    }
    bytes.into()
}

fn attributes(entry: &Entry) -> u8 {
    match entry.kind {
        Kind::Folder => FOLDER,
        _ if entry.mode & WRITERS == 0 => ARCHIVE | READ_ONLY,
        _ => ARCHIVE,
    }
}

/// The name of a folder in itself, and of the one above.
fn dots(count: usize) -> Short {
    let mut name = [b' '; 11];
    name[..count].fill(b'.');
    name
}

/// Clusters that are taken, and what is in them.
struct Disk {
    cluster: u64,
    table: Vec<u32>,
    data: Content,
}

impl Disk {
    fn new(cluster: u64) -> Self {
        Self { cluster, table: vec![0x0fff_ff00 | u32::from(MEDIUM), END], data: Content::default() }
    }

    /// Takes the next clusters for so many bytes; the first of them, or zero for none.
    fn take(&mut self, length: u64) -> u32 {
        let count = length.div_ceil(self.cluster);
        if count == 0 {
            return 0;
        }
        let first = self.table.len();
        for nth in 1..=count {
            let next = self.table.len() + 1;
            self.table.push(if nth == count { END } else { number(next) });
        }
        number(first)
    }

    fn put(&mut self, content: Content) {
        self.data.push(content);
        self.data.align(self.cluster);
    }

    fn written(self, layout: &Layout, label: Short, serial: Serial) -> Content {
        let used = self.table.len() as u64 - u64::from(FIRST);
        let mut all = Content::from(boot_sector::reserved(layout, label, serial, used));
        let table = Content::from(self.table.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
        for nth in 0..layout::TABLES {
            all.pad_to((layout::RESERVED + nth * layout.table) * SECTOR as u64);
            all.push(table.clone());
        }
        all.pad_to(layout.data() * SECTOR as u64);
        all.push(self.data);
        all.pad_to(layout.sectors * SECTOR as u64);
        all
    }
}

fn number(cluster: usize) -> u32 {
    u32::try_from(cluster).expect("a FAT32 has fewer than 2^28 clusters")
}
