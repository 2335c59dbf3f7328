//! Descriptors, which locate the folders (ECMA-119 8.4 and 8.5).

use super::SECTOR;
use super::encoding::NameEncoding;
use super::number::{both16, both32, small};
use super::record::{DirectoryRecord, Extent, HERE};

/// The labels of a volume.
#[derive(Clone, Copy)]
pub(super) struct VolumeLabels<'a> {
    pub(super) volume: &'a str,
    pub(super) set: &'a str,
}

/// The locations of a volume's parts, for one set of names.
pub(super) struct VolumeLocations {
    /// Sectors of the volume.
    pub(super) sectors: u64,
    /// The path tables: that with low bytes first, that with high bytes first.
    pub(super) path_tables: [Extent; 2],
    /// The root folder.
    pub(super) root: Extent,
}

/// The primary descriptor, or Joliet's.
pub(super) fn volume(letters: NameEncoding, labels: VolumeLabels<'_>, places: &VolumeLocations) -> Vec<u8> {
    let mut bytes = head(if letters == NameEncoding::Plain { 1 } else { 2 });
    bytes.push(0);
    bytes.extend(letters.fill("", 32));
    bytes.extend(letters.fill(labels.volume, 32));
    bytes.extend([0; 8]);
    bytes.extend(both32(small(places.sectors)));
    let mut escapes = [0; 32];
    if letters == NameEncoding::Wide {
        // UCS-2 level 3.
        escapes[..3].copy_from_slice(b"%/E");
    }
    bytes.extend(escapes);
    bytes.extend([both16(1), both16(1), both16(small_sector())].concat());
    let [low, high] = places.path_tables;
    bytes.extend(both32(small(low.length)));
    bytes.extend(small(low.sector).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(small(high.sector).to_be_bytes());
    bytes.extend([0; 4]);
    let root = DirectoryRecord {
        identifier: HERE.to_owned(),
        extent: places.root,
        is_folder: true,
        more: Vec::new(),
    };
    bytes.extend(root.bytes());
    bytes.extend(letters.fill(labels.set, 128));
    // Publisher, preparer, application; then files with copyright, abstract and bibliography.
    for length in [128, 128, 128, 37, 37, 37] {
        bytes.extend(letters.fill("", length));
    }
    // Made and changed; it has no end, and is valid at once.
    for moment in [*b"1980010100000000", *b"1980010100000000", [b'0'; 16], [b'0'; 16]] {
        bytes.extend(moment);
        bytes.push(0);
    }
    bytes.push(1);
    bytes.resize(SECTOR, 0);
    bytes
}

/// The descriptor that ends the list.
pub(super) fn set_terminator() -> Vec<u8> {
    let mut bytes = head(255);
    bytes.resize(SECTOR, 0);
    bytes
}

/// The header of every descriptor.
pub(super) fn head(kind: u8) -> Vec<u8> {
    [&[kind], &b"CD001"[..], &[1]].concat()
}

fn small_sector() -> u16 {
    u16::try_from(SECTOR).expect("2048")
}
