//! The boot sector: what kind of FAT it is, and where its parts are.

use super::{FAT12_BELOW, FAT16_BELOW, RECORD};
use crate::media::Kind;
use crate::media::image::{low16, low32};

/// What a boot sector says. All places are in bytes.
pub(super) struct BootSector {
    pub(super) kind: Kind,
    /// How long all of it is.
    pub(super) length: u64,
    /// Where the first table starts.
    pub(super) table: u64,
    /// Where the root folder is; FAT32 has it among the files.
    pub(super) root: Root,
    /// Where the first cluster is.
    pub(super) data: u64,
    pub(super) cluster: u64,
    pub(super) clusters: u64,
    pub(super) label: [u8; 11],
}

/// Where a root folder is.
#[derive(Clone, Copy)]
pub(super) enum Root {
    /// At a place, and so long.
    At(u64, usize),
    /// From this cluster on.
    From(u64),
}

impl BootSector {
    /// Reads it; none where it is something else. It looks at what Talos looks at.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let says = |offset: usize, word: &[u8]| bytes[offset..].starts_with(word);
        let known =
            [&b"MSDOS"[..], b"FAT16   ", b"FAT12   ", b"FAT     "].iter().any(|word| says(0x36, word))
                || [&b"MSWIN"[..], b"FAT32   "].iter().any(|word| says(0x52, word));
        let sector = u64::from(low16(bytes, 11));
        let (per_cluster, reserved, tables) =
            (u64::from(bytes[13]), u64::from(low16(bytes, 14)), u64::from(bytes[16]));
        let medium = bytes[21] == 0xf0 || bytes[21] >= 0xf8;
        let sizes =
            (512..=4096).contains(&sector) && sector.is_power_of_two() && per_cluster.is_power_of_two();
        if !known || !medium || !sizes || reserved == 0 || tables == 0 {
            return None;
        }
        let either = |short: u64, long: u64| if short == 0 { long } else { short };
        let short_table = u64::from(low16(bytes, 22));
        let table_length = either(short_table, low32(bytes, 36).into());
        let total = either(low16(bytes, 19).into(), low32(bytes, 32).into());
        let records = low16(bytes, 17);
        let root_sectors = (u64::from(records) * RECORD as u64).div_ceil(sector);
        let before = reserved + tables * table_length + root_sectors;
        let clusters = total.checked_sub(before)? / per_cluster;
        let kind = match clusters {
            _ if short_table == 0 => Kind::Fat32,
            count if count < FAT12_BELOW => Kind::Fat12,
            count if count < FAT16_BELOW => Kind::Fat16,
            _ => Kind::Fat32,
        };
        let root = match kind {
            Kind::Fat32 => Root::From(low32(bytes, 44).into()),
            _ => Root::At((reserved + tables * table_length) * sector, usize::from(records) * RECORD),
        };
        let label = if kind == Kind::Fat32 { 71 } else { 43 };
        Some(Self {
            kind,
            length: total * sector,
            table: reserved * sector,
            root,
            data: before * sector,
            cluster: per_cluster * sector,
            clusters,
            label: bytes[label..label + 11].try_into().ok()?,
        })
    }
}
