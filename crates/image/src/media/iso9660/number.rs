//! Numbers, which ISO 9660 stores in both byte orders.

use super::SECTOR;

/// Two bytes in both orders.
pub(super) fn both16(number: u16) -> [u8; 4] {
    let (low, high) = (number.to_le_bytes(), number.to_be_bytes());
    [low[0], low[1], high[0], high[1]]
}

/// Four bytes in both orders.
pub(super) fn both32(number: u32) -> [u8; 8] {
    let mut both = [0; 8];
    both[..4].copy_from_slice(&number.to_le_bytes());
    both[4..].copy_from_slice(&number.to_be_bytes());
    both
}

/// A number of bytes or sectors, which trees keep small.
pub(super) fn small(number: u64) -> u32 {
    u32::try_from(number).expect("a tree is looked at before: files have less than 4 GiB, all together 1 TiB")
}

/// The number of sectors of a file. An empty file has one: some readers fail on files without a location.
pub(super) fn sectors(length: u64) -> u64 {
    length.div_ceil(SECTOR as u64).max(1)
}

/// 1980-01-01 00:00 UTC, the first moment that FAT can store, in the seven bytes of folders. A volume has no
/// real times, to be reproducible.
pub(super) const MOMENT: [u8; 7] = [80, 1, 1, 0, 0, 0, 0];
