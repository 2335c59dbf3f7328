//! Descriptors: what says where the folders are (ECMA-119 8.4 and 8.5).

use super::SECTOR;
use super::number::{both16, both32, small};
use super::record::{Extent, HERE, Record};

/// How long a path table is that has the root folder alone.
pub(super) const PATH_TABLE: usize = 10;

/// Where the parts of a volume are, by one set of names.
pub(super) struct Places {
    /// Sectors of the whole volume.
    pub(super) sectors: usize,
    /// The path table with low bytes first; that with high bytes first comes next.
    pub(super) path_table: usize,
    /// The root folder.
    pub(super) root: Extent,
}

/// In what letters a descriptor is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    /// One byte each: the primary descriptor.
    Plain,
    /// Two bytes each, the high one first: Joliet's.
    Wide,
}

impl Letters {
    pub(super) fn write(self, text: &str) -> Vec<u8> {
        match self {
            Self::Plain => text.as_bytes().to_owned(),
            Self::Wide => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }

    /// A text with spaces after it. Where half a letter is left, there is a zero.
    fn fill(self, text: &str, length: usize) -> Vec<u8> {
        let mut bytes = self.write(text);
        let space = self.write(" ");
        while bytes.len() + space.len() <= length {
            bytes.extend(&space);
        }
        bytes.resize(length, 0);
        bytes
    }
}

/// The primary descriptor, or Joliet's.
pub(super) fn volume(letters: Letters, label: &str, places: &Places) -> Vec<u8> {
    let mut bytes = head(if letters == Letters::Plain { 1 } else { 2 });
    bytes.push(0);
    bytes.extend(letters.fill("", 32));
    bytes.extend(letters.fill(label, 32));
    bytes.extend([0; 8]);
    bytes.extend(both32(small(places.sectors)));
    let mut escapes = [0; 32];
    if letters == Letters::Wide {
        // UCS-2 level 3.
        escapes[..3].copy_from_slice(b"%/E");
    }
    bytes.extend(escapes);
    bytes.extend([both16(1), both16(1), both16(small_sector())].concat());
    bytes.extend(both32(small(PATH_TABLE)));
    bytes.extend(small(places.path_table).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(small(places.path_table + 1).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(Record::folder(HERE, places.root, Vec::new()).bytes());
    // Volume set, publisher, who prepared it, application; then files with copyright, abstract and bibliography.
    for length in [128, 128, 128, 128, 37, 37, 37] {
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

/// What ends the descriptors.
pub(super) fn end() -> Vec<u8> {
    let mut bytes = head(255);
    bytes.resize(SECTOR, 0);
    bytes
}

/// The path table of a volume without folders, once with low bytes first, once with high bytes first.
pub(super) fn path_tables(root: Extent) -> [Vec<u8>; 2] {
    let table = |sector: [u8; 4], parent: [u8; 2]| [&[1, 0], &sector[..], &parent, &[0, 0]].concat();
    let (sector, parent) = (small(root.sector), 1_u16);
    [table(sector.to_le_bytes(), parent.to_le_bytes()), table(sector.to_be_bytes(), parent.to_be_bytes())]
}

fn head(kind: u8) -> Vec<u8> {
    [&[kind], &b"CD001"[..], &[1]].concat()
}

fn small_sector() -> u16 {
    u16::try_from(SECTOR).expect("2048")
}
