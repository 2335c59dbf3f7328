//! Records of a folder.

use super::name::{ShortName, sum};
use super::{LABEL, LONG_NAME, RECORD};

/// 1980-01-01, the first day that FAT can store. A volume has no real times, to be reproducible.
const DAY: u16 = 1 << 5 | 1;

/// Letters of a long name that one record holds.
pub(super) const LETTERS: usize = 13;
/// Their offsets in it.
pub(super) const PLACES: [usize; LETTERS] = [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30];
/// The flag in the number of the last part of a long name, which comes first.
pub(super) const LAST: u8 = 0x40;

/// The record of the label.
pub(super) fn label(name: ShortName) -> [u8; RECORD] {
    record(name, LABEL, 0, 0)
}

/// The records of a file or folder: those of its long name, then its own.
pub(super) fn name_records(
    name: &str,
    short: ShortName,
    attributes: u8,
    cluster: u32,
    length: u32,
) -> Vec<u8> {
    let letters: Vec<u16> = name.encode_utf16().collect();
    let parts: Vec<&[u16]> = letters.chunks(LETTERS).collect();
    let mut bytes = Vec::new();
    for (nth, part) in parts.iter().enumerate().rev() {
        let number = u8::try_from(nth + 1).expect("names have at most 255 letters");
        let last = if nth + 1 == parts.len() { LAST } else { 0 };
        bytes.extend(long_name(number | last, part, sum(short)));
    }
    bytes.extend(record(short, attributes, cluster, length));
    bytes
}

/// The number of records of a file or folder.
pub(super) fn records(name: &str) -> usize {
    name.len().div_ceil(LETTERS) + 1
}

/// A single record.
pub(super) fn record(name: ShortName, attributes: u8, cluster: u32, length: u32) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    bytes[..11].copy_from_slice(&name);
    bytes[11] = attributes;
    // Made, read, changed.
    for place in [16, 18, 24] {
        bytes[place..place + 2].copy_from_slice(&DAY.to_le_bytes());
    }
    // The high 16 bits came later, and are elsewhere.
    let [low, high] = [cluster & 0xffff, cluster >> 16].map(u32::to_le_bytes);
    bytes[20..22].copy_from_slice(&high[..2]);
    bytes[26..28].copy_from_slice(&low[..2]);
    bytes[28..32].copy_from_slice(&length.to_le_bytes());
    bytes
}

/// Part of a long name: after its end a zero, and after that ones.
fn long_name(number: u8, part: &[u16], sum: u8) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    bytes[0] = number;
    bytes[11] = LONG_NAME;
    bytes[13] = sum;
    let pad = part.iter().copied().chain([0]).chain(std::iter::repeat(0xffff));
    for (place, letter) in PLACES.into_iter().zip(pad) {
        bytes[place..place + 2].copy_from_slice(&letter.to_le_bytes());
    }
    bytes
}
