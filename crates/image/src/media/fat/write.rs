//! A file system from a volume, or from a tree of folders and files.
//!
//! Files are stored in sequence, each folder before its children. Tables and folders are made in memory; the contents of files
//! are not copied.

use sha2::{Digest as _, Sha256};

use super::folder::{FatFolder, folders};
use super::layout::{FatLayout, TABLES};
use super::name::{ShortName, label, pad};
use super::{FIRST, FOLDER, FatError, MEDIUM, SECTOR, boot_sector, record};
use crate::media::{Content, FileSystemType, Volume};
use crate::oci::{self, FileTree};

/// The table entry of the last cluster of a file.
const END: u32 = 0x0fff_ffff;

/// A FAT12 with the files of a volume, without a partition table.
pub fn write(volume: &Volume<'_>) -> Vec<u8> {
    let root = FatFolder::of_volume(volume);
    let layout = FatLayout::fat12(&root);
    let files = volume.files().iter().map(|(name, bytes)| (*name, Some(bytes.len() as u64), *bytes));
    let serial = serial(volume.label().as_bytes(), files);
    let all = file_system(&layout, pad(volume.label()), serial, &[root]);
    all.read().expect("everything in it is in memory")
}

/// A FAT32 of `size` bytes with this label and tree. A file without write permission is read-only.
pub fn tree(written: &str, root: &FileTree, size: u64) -> Result<Content, FatError> {
    let label = label(written)?;
    let folders = folders(root)?;
    let layout = FatLayout::fat32(size)?;
    layout.check(size, &folders)?;
    // Contents are not hashed: they may be long, and elsewhere.
    let files = root.iter().map(|(path, entry)| match &entry.kind {
        oci::EntryKind::File(content) => (path, Some(content.len()), &[][..]),
        _ => (path, None, &[][..]),
    });
    Ok(file_system(&layout, label, serial(&label, files), &folders))
}

/// A serial number that depends only on the input: label, paths, lengths of files, and the given contents.
fn serial<'f>(label: &[u8], files: impl Iterator<Item = (&'f str, Option<u64>, &'f [u8])>) -> [u8; 4] {
    let mut hash = Sha256::new_with_prefix(label);
    for (path, length, bytes) in files {
        hash.update((path.len() as u64).to_le_bytes());
        hash.update(path);
        if let Some(length) = length {
            hash.update(length.to_le_bytes());
        }
        hash.update(bytes);
    }
    let hash = hash.finalize();
    [hash[0], hash[1], hash[2], hash[3]]
}

/// The first clusters of a folder and of its files; zero if it has none.
struct FirstClusters {
    folder: u32,
    files: Vec<u32>,
}

fn file_system(layout: &FatLayout, label: ShortName, serial: [u8; 4], folders: &[FatFolder<'_>]) -> Content {
    let mut clusters = ClusterWriter::new(layout.cluster());
    let has_place = |nth: usize| nth == 0 && layout.root > 0;
    // Every position is known before the first record is written, because a folder refers to its children.
    let mut places = Vec::new();
    for (nth, folder) in folders.iter().enumerate() {
        let own = if has_place(nth) { 0 } else { clusters.allocate(folder.length()) };
        let files = folder.children.iter().map(|child| clusters.allocate(child.content.len())).collect();
        places.push(FirstClusters { folder: own, files });
    }
    let mut root = Content::default();
    for (nth, folder) in folders.iter().enumerate() {
        let records = records(label, nth, folder, &places);
        if has_place(nth) {
            root = records;
        } else {
            clusters.append(records);
        }
        folder.children.iter().for_each(|child| clusters.append(child.content.clone()));
    }
    let used = clusters.table.len() as u64 - u64::from(FIRST);
    let table = Content::from(clusters.table(layout.kind));
    let mut all = Content::from(boot_sector::reserved_sectors(layout, label, serial, used));
    for nth in 0..TABLES {
        all.pad_to((layout.reserved + nth * layout.table) * SECTOR as u64);
        all.push(table.clone());
    }
    for (sector, part) in [(layout.after_tables(), root), (layout.data(), clusters.data)] {
        all.pad_to(sector * SECTOR as u64);
        all.push(part);
    }
    all.pad_to(layout.sectors * SECTOR as u64);
    all
}

/// The records of a folder.
fn records(label: ShortName, nth: usize, folder: &FatFolder<'_>, places: &[FirstClusters]) -> Content {
    // `..` of a folder in the root folder is zero.
    let cluster = |folder: usize| if folder == 0 { 0 } else { places[folder].folder };
    let mut bytes = if nth == 0 {
        record::label(label).to_vec()
    } else {
        let own = record::record(pad("."), FOLDER, cluster(nth), 0);
        [own, record::record(pad(".."), FOLDER, cluster(folder.above), 0)].concat()
    };
    for (child, file) in folder.children.iter().zip(&places[nth].files) {
        let first = child.folder.map_or(*file, cluster);
        let length = u32::try_from(child.content.len()).expect("checked before");
        bytes.extend(record::name_records(child.name, child.short, child.attributes, first, length));
    }
    bytes.into()
}

/// The clusters that are in use, and their contents.
struct ClusterWriter {
    size: u64,
    table: Vec<u32>,
    data: Content,
}

impl ClusterWriter {
    fn new(size: u64) -> Self {
        Self { size, table: vec![0x0fff_ff00 | u32::from(MEDIUM), END], data: Content::default() }
    }

    /// Allocates the next clusters for this many bytes, and returns the first of them; zero if none is needed.
    fn allocate(&mut self, length: u64) -> u32 {
        let count = length.div_ceil(self.size);
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

    fn append(&mut self, content: Content) {
        self.data.push(content);
        self.data.align(self.size);
    }

    /// The table in the form of its kind: FAT12 has the lower twelve bits of each entry, two entries in three bytes.
    fn table(&self, kind: FileSystemType) -> Vec<u8> {
        if kind == FileSystemType::Fat32 {
            return self.table.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        }
        let pair = |pair: &[u32]| {
            let second = pair.get(1).copied().unwrap_or(0);
            let [one, two, three, _] = (pair[0] & 0xfff | (second & 0xfff) << 12).to_le_bytes();
            [one, two, three]
        };
        let mut bytes: Vec<u8> = self.table.chunks(2).flat_map(pair).collect();
        bytes.truncate((self.table.len() * 3).div_ceil(2));
        bytes
    }
}

fn number(cluster: usize) -> u32 {
    u32::try_from(cluster).expect("a FAT has fewer than 2^28 clusters")
}
