//! Rock Ridge (RRIP 1.09, `RRIP_1991A`): POSIX attributes in the records of a folder, as SUSP entries.

use super::number::{MOMENT, both32, small};

/// The name that Rock Ridge announces itself by.
pub(super) const ID: &str = "RRIP_1991A";

// RRIP 1.09 section 4.3 requires this exact text.
const DESCRIPTION: &str =
    "THE ROCK RIDGE INTERCHANGE PROTOCOL PROVIDES SUPPORT FOR POSIX FILE SYSTEM SEMANTICS";
const SOURCE: &str = "PLEASE CONTACT DISC PUBLISHER FOR SPECIFICATION SOURCE.  SEE PUBLISHER IDENTIFIER IN PRIMARY \
                      VOLUME DESCRIPTOR FOR CONTACT INFORMATION.";

/// The file type bits of a mode.
const FILE: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// The entries of a record, as `RR` lists them.
const HAS_PX: u8 = 0x01;
const HAS_NM: u8 = 0x08;
const HAS_TF: u8 = 0x80;

/// Which times `TF` has: modified, read, changed.
const TIMES: u8 = 0x02 | 0x04 | 0x08;

/// The attributes of a file or folder.
#[derive(Clone, Copy)]
pub(super) struct PosixAttributes {
    pub(super) is_folder: bool,
    pub(super) mode: u32,
    pub(super) links: u32,
}

/// For the root folder's own record: the SUSP signature, and the location of the continuation area.
pub(super) fn root(posix: PosixAttributes, rest: u64) -> Vec<u8> {
    let mut bytes = entry(*b"SP", &[0xbe, 0xef, 0]);
    bytes.extend(dot_entry_fields(posix));
    let place = [both32(small(rest)), both32(0), both32(small(extension().len() as u64))];
    bytes.extend(entry(*b"CE", &place.concat()));
    bytes
}

/// For the records that a folder has of itself and of the one above.
pub(super) fn dot_entry_fields(posix: PosixAttributes) -> Vec<u8> {
    [entry(*b"RR", &[HAS_PX | HAS_TF]), owner(posix), times()].concat()
}

/// For an entry of a folder.
pub(super) fn entry_fields(name: &str, posix: PosixAttributes) -> Vec<u8> {
    let flags = HAS_PX | HAS_NM | HAS_TF;
    let name = [&[0], name.as_bytes()].concat();
    [entry(*b"RR", &[flags]), entry(*b"NM", &name), owner(posix), times()].concat()
}

/// The rest of the root folder's entries: that they are Rock Ridge's.
pub(super) fn extension() -> Vec<u8> {
    let lengths = [ID, DESCRIPTION, SOURCE].map(|text| u8::try_from(text.len()).expect("short texts"));
    let texts = [ID, DESCRIPTION, SOURCE].concat();
    entry(*b"ER", &[&lengths[..], &[1], texts.as_bytes()].concat())
}

/// Mode, links, user and group.
fn owner(posix: PosixAttributes) -> Vec<u8> {
    let mode = posix.mode | if posix.is_folder { FOLDER } else { FILE };
    entry(*b"PX", &[mode, posix.links, 0, 0].map(both32).concat())
}

fn times() -> Vec<u8> {
    entry(*b"TF", &[&[TIMES], &MOMENT[..], &MOMENT[..], &MOMENT[..]].concat())
}

fn entry(signature: [u8; 2], body: &[u8]) -> Vec<u8> {
    let length = u8::try_from(body.len() + 4).expect("names are short");
    [&signature[..], &[length, 1], body].concat()
}
