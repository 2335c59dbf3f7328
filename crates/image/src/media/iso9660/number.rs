//! Numbers, which stand on a CD in both orders of bytes.

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

/// How many sectors something takes. What is empty takes one too: some readers stumble over files that are nowhere.
pub(super) fn sectors(length: u64) -> u64 {
    length.div_ceil(SECTOR as u64).max(1)
}

/// 1980-01-01 00:00 UTC, the first moment that FAT knows, in the seven bytes of folders. A volume says nothing of when it was made.
pub(super) const MOMENT: [u8; 7] = [80, 1, 1, 0, 0, 0, 0];
