//! The folders of an existing FAT file system.

use super::boot_sector::{BootSector, RootFolder};
use super::name::{ShortName, sum};
use super::record::{LAST, PLACES};
use super::{AllocationTable, FOLDER, LABEL, LONG_NAME, RECORD};
use crate::media::file_system::FileLookup;
use crate::media::image::{Image, ImageError, check_length, low16, low32, piece};
use crate::media::{DirectoryEntry, FileSystem, FileSystemType};

/// The longest folder that is read.
const LONGEST_FOLDER: u64 = 1 << 20;

/// A removed record, and the escape of a first byte with that value.
const REMOVED: u8 = 0xe5;
const ESCAPED: u8 = 0x05;

/// That the letters of a short name are small: before the dot, and after it.
const SMALL_STEM: u8 = 0x08;
const SMALL_EXTENSION: u8 = 0x10;

/// Label and root folder; none if it is not FAT.
pub(in crate::media) fn open(image: &dyn Image) -> Result<Option<FileSystem>, ImageError> {
    let Ok(sector) = piece(image, 0, 512, "boot sector") else { return Ok(None) };
    let Some(sector) = BootSector::read(&sector) else { return Ok(None) };
    check_length(image, sector.length)?;
    let clusters = AllocationTable::new(&sector);
    let root = match sector.root {
        RootFolder::At(offset, length) => piece(image, offset, length, "root folder")?,
        RootFolder::From(cluster) => folder(image, &clusters, cluster)?,
    };
    let (label, files) = records(&root, sector.kind);
    let label = label.unwrap_or_else(|| match text(&sector.label).as_str() {
        "NO NAME" => String::new(),
        written => written.to_owned(),
    });
    let tree = FileLookup::Fat(clusters);
    Ok(Some(FileSystem { kind: sector.kind, label, files, folds_case: true, tree }))
}

/// The entries of the folder that starts at a cluster, without `.` and `..`.
pub(in crate::media) fn list(
    image: &dyn Image,
    clusters: &AllocationTable,
    start: u64,
) -> Result<Vec<DirectoryEntry>, ImageError> {
    let (_, mut files) = records(&folder(image, clusters, start)?, clusters.kind());
    files.retain(|entry| !matches!(entry.name.as_str(), "." | ".."));
    Ok(files)
}

fn folder(image: &dyn Image, clusters: &AllocationTable, start: u64) -> Result<Vec<u8>, ImageError> {
    let found = clusters.up_to(image, start, LONGEST_FOLDER)?;
    piece(&found, 0, usize::try_from(found.size()).unwrap_or(usize::MAX), "folder")
}

fn records(root: &[u8], kind: FileSystemType) -> (Option<String>, Vec<DirectoryEntry>) {
    let (mut label, mut files) = (None, Vec::new());
    let mut long = LongName::default();
    for record in root.chunks_exact(RECORD).take_while(|record| record[0] != 0) {
        let attributes = record[11];
        if record[0] == REMOVED {
            long = LongName::default();
        } else if attributes & 0x3f == LONG_NAME {
            long.add(record);
        } else if attributes & LABEL != 0 {
            label = label.or_else(|| Some(text(&record[..11])));
            long = LongName::default();
        } else {
            files.push(entry(record, std::mem::take(&mut long), kind));
        }
    }
    (label, files)
}

fn entry(record: &[u8], long: LongName, kind: FileSystemType) -> DirectoryEntry {
    let mut short: ShortName = [0; 11];
    short.copy_from_slice(&record[..11]);
    let name = long.name_for(short).unwrap_or_else(|| short_name(short, record[12]));
    let high = if kind == FileSystemType::Fat32 { u64::from(low16(record, 20)) << 16 } else { 0 };
    DirectoryEntry {
        name,
        length: low32(record, 28).into(),
        folder: record[11] & FOLDER != 0,
        start: high | u64::from(low16(record, 26)),
    }
}

fn short_name(mut short: ShortName, small: u8) -> String {
    if short[0] == ESCAPED {
        short[0] = REMOVED;
    }
    let (stem, extension) = short.split_at(8);
    let cased = |part: &[u8], is_small: bool| {
        let part = text(part);
        if is_small { part.to_ascii_lowercase() } else { part }
    };
    let stem = cased(stem, small & SMALL_STEM != 0);
    let extension = cased(extension, small & SMALL_EXTENSION != 0);
    if extension.is_empty() { stem } else { format!("{stem}.{extension}") }
}

fn text(bytes: &[u8]) -> String {
    let letters: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    letters.trim_end_matches([' ', '\0']).to_owned()
}

/// A long name, whose parts come before the file, the last one first.
#[derive(Default)]
struct LongName {
    letters: Vec<u16>,
    sum: u8,
    /// The number of the part that came last.
    number: u8,
}

impl LongName {
    fn add(&mut self, record: &[u8]) {
        let number = record[0] & !LAST;
        if record[0] & LAST != 0 {
            *self = Self { letters: Vec::new(), sum: record[13], number: number + 1 };
        }
        if number == 0 || number + 1 != self.number || record[13] != self.sum {
            *self = Self::default();
            return;
        }
        let part = PLACES.map(|place| low16(record, place));
        let part = part.into_iter().take_while(|letter| *letter != 0);
        self.letters.splice(0..0, part);
        self.number = number;
    }

    /// The name, if it is complete and belongs to this file.
    fn name_for(self, short: ShortName) -> Option<String> {
        let is_complete = self.number == 1 && self.sum == sum(short);
        is_complete.then(|| String::from_utf16_lossy(&self.letters))
    }
}
