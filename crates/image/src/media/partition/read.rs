//! The partition table of an existing disk.

use super::{ENTRY, HEADER, PROTECTIVE, Partition, PartitionScheme, Partitions, SIGNATURE, sum};
use crate::media::Content;
use crate::media::image::{Image, ImageError, ImageWindow, low32, low64, piece};

/// Sizes of sectors that disks have.
const SECTORS: [u64; 2] = [512, 4096];

/// The most entries of a table: 128 on disks, more on CDs of xorriso.
const MOST_ENTRIES: u32 = 1024;

/// Types of an MBR: nothing, and the extended ones.
const NOTHING: u8 = 0;
const EXTENDED: [u8; 3] = [0x05, 0x0f, 0x85];

/// The most logical partitions in an extended one.
const MOST_LOGICAL: usize = 64;

impl Partition {
    /// Its bytes. `image` is the disk.
    pub fn window<'i>(&self, image: &'i dyn Image) -> Result<ImageWindow<'i>, ImageError> {
        ImageWindow::new(image, self.start, self.length).ok_or(ImageError::Short("partitions"))
    }

    /// The same as a content; none if the disk ends before.
    pub fn content(&self, disk: &Content) -> Option<Content> {
        disk.part(self.start, self.length)
    }

    /// Its length.
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl Partitions {
    /// The partitions of a disk; none if it has no partition table.
    pub fn find_in(image: &dyn Image) -> Result<Option<Self>, ImageError> {
        for sector in SECTORS {
            if let Some(list) = gpt(image, sector)? {
                return Ok(Some(Self { scheme: PartitionScheme::Gpt, list }));
            }
        }
        Ok(mbr(image).map(|list| Self { scheme: PartitionScheme::Mbr, list }))
    }

    /// Refuses a table in which two partitions have bytes in common.
    pub fn check(&self) -> Result<(), ImageError> {
        let mut sorted: Vec<&Partition> = self.list.iter().collect();
        sorted.sort_by_key(|partition| partition.start);
        for pair in sorted.windows(2) {
            if pair[0].start + pair[0].length > pair[1].start {
                let (one, other) = (pair[0].number, pair[1].number);
                return Err(ImageError::Overlap(one.min(other), one.max(other)));
            }
        }
        Ok(())
    }
}

/// A GPT: the primary header, or else the backup at the end of the disk.
fn gpt(image: &dyn Image, sector: u64) -> Result<Option<Vec<Partition>>, ImageError> {
    let Some(last) = (image.size() / sector).checked_sub(1).filter(|last| *last > 1) else { return Ok(None) };
    match header(image, sector, 1, last)? {
        Some(list) => Ok(Some(list)),
        None => header(image, sector, last, last),
    }
}

/// The partitions of a header that is valid in every field that Talos checks.
fn header(image: &dyn Image, sector: u64, at: u64, last: u64) -> Result<Option<Vec<Partition>>, ImageError> {
    let head = piece(image, at * sector, HEADER, "partition table")?;
    let size = low32(&head, 12);
    let (first_usable, last_usable) = (low64(&head, 40), low64(&head, 48));
    let mut without_sum = head.clone();
    without_sum[16..20].fill(0);
    let right = head.starts_with(SIGNATURE)
        && u64::from(size) >= HEADER as u64
        && u64::from(size) <= sector
        && low32(&head, 16) == sum(&without_sum)
        && low64(&head, 24) == at
        && first_usable <= last_usable
        && last_usable <= last
        && !(first_usable < at && at < last_usable);
    let (count, length) = (low32(&head, 80), low32(&head, 84));
    if !right || length as usize != ENTRY || count == 0 || count > MOST_ENTRIES {
        return Ok(None);
    }
    let start = low64(&head, 72).checked_mul(sector).ok_or(ImageError::Short("partition table"))?;
    let entries = piece(image, start, ENTRY * count as usize, "partition table")?;
    if low32(&head, 88) != sum(&entries) {
        return Ok(None);
    }
    let entries = (1..).zip(entries.chunks_exact(ENTRY));
    let usable = first_usable..=last_usable;
    let partition = |(number, entry): (usize, &[u8])| {
        let (start, end) = (low64(entry, 32), low64(entry, 40));
        let is_one =
            entry[..16] != [0; 16] && usable.contains(&start) && usable.contains(&end) && start <= end;
        is_one.then(|| Partition {
            number,
            label: name(&entry[56..]),
            start: start * sector,
            length: (end - start + 1) * sector,
        })
    };
    Ok(Some(entries.filter_map(partition).collect()))
}

fn name(bytes: &[u8]) -> String {
    let letters: Vec<u16> =
        bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&letters).trim_end_matches('\0').to_owned()
}

/// An MBR that has partitions of its own.
fn mbr(image: &dyn Image) -> Option<Vec<Partition>> {
    let entries = boot_record(image, 0)?;
    // A boot sector without an MBR has other data there.
    if entries.iter().any(|entry| !matches!(entry.flags, 0 | 0x80)) {
        return None;
    }
    let mut list = Vec::new();
    for (number, entry) in (1..).zip(&entries).filter(|(_, entry)| entry.is_used()) {
        if EXTENDED.contains(&entry.kind) {
            list.extend(logical(image, entry));
        } else if entry.kind != PROTECTIVE {
            list.push(entry.partition(number, 0));
        }
    }
    Some(list).filter(|list| !list.is_empty())
}

/// The logical partitions: each has a record that refers to the next.
fn logical(image: &dyn Image, extended: &MbrEntry) -> Vec<Partition> {
    let mut list = Vec::new();
    let mut at = extended.start;
    for number in 5..5 + MOST_LOGICAL {
        let Some([own, next, ..]) = boot_record(image, at) else { break };
        if own.is_used() {
            list.push(own.partition(number, at));
        }
        if !next.is_used() {
            break;
        }
        at = extended.start + next.start;
    }
    list
}

/// An entry of an MBR; places are in sectors of 512 bytes.
struct MbrEntry {
    flags: u8,
    kind: u8,
    start: u64,
    length: u64,
}

impl MbrEntry {
    fn is_used(&self) -> bool {
        self.kind != NOTHING && self.length > 0
    }

    fn partition(&self, number: usize, after: u64) -> Partition {
        let (start, length) = ((after + self.start) * SECTORS[0], self.length * SECTORS[0]);
        Partition { number, label: String::new(), start, length }
    }
}

fn boot_record(image: &dyn Image, sector: u64) -> Option<[MbrEntry; 4]> {
    let bytes = piece(image, sector.checked_mul(SECTORS[0])?, 512, "boot record").ok()?;
    let entry = |nth: usize| {
        let bytes = &bytes[446 + nth * 16..];
        let (start, length) = (low32(bytes, 8).into(), low32(bytes, 12).into());
        MbrEntry { flags: bytes[0], kind: bytes[4], start, length }
    };
    bytes.ends_with(&[0x55, 0xaa]).then(|| [0, 1, 2, 3].map(entry))
}
