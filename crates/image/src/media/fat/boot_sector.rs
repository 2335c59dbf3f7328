//! The boot sector: the kind of FAT and the positions of its parts.

use super::layout::{FatLayout, TABLES};
use super::name::ShortName;
use super::{FAT12_BELOW, FAT16_BELOW, FIRST, MEDIUM, RECORD, SECTOR};
use crate::media::FileSystemType;
use crate::media::image::{low16, low32};

/// The sector of FAT32 with the number of free clusters, and the sector from which on both first sectors are repeated.
const INFORMATION: usize = 1;
const COPY: usize = 6;

/// The fields of a boot sector. All positions are in bytes.
pub(super) struct BootSector {
    pub(super) kind: FileSystemType,
    /// The length of the file system.
    pub(super) length: u64,
    /// The offset of the first table.
    pub(super) table: u64,
    /// The root folder; FAT32 has it among the files.
    pub(super) root: RootFolder,
    /// The offset of the first cluster.
    pub(super) data: u64,
    pub(super) cluster: u64,
    pub(super) clusters: u64,
    pub(super) label: [u8; 11],
}

/// The location of a root folder.
#[derive(Clone, Copy)]
pub(super) enum RootFolder {
    /// At a place, and so long.
    At(u64, usize),
    /// From this cluster on.
    From(u64),
}

impl BootSector {
    /// Reads it; none if it is not FAT. It checks the same fields as Talos.
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
            _ if short_table == 0 => FileSystemType::Fat32,
            count if count < FAT12_BELOW => FileSystemType::Fat12,
            count if count < FAT16_BELOW => FileSystemType::Fat16,
            _ => FileSystemType::Fat32,
        };
        let root = match kind {
            FileSystemType::Fat32 => RootFolder::From(low32(bytes, 44).into()),
            _ => RootFolder::At((reserved + tables * table_length) * sector, usize::from(records) * RECORD),
        };
        let label = if kind == FileSystemType::Fat32 { 71 } else { 43 };
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

/// The sectors before the first table, up to the last one that is not empty. `used` is the number of clusters in use.
pub(super) fn reserved_sectors(layout: &FatLayout, label: ShortName, serial: [u8; 4], used: u64) -> Vec<u8> {
    let boot = boot(layout, label, serial);
    if layout.kind != FileSystemType::Fat32 {
        return boot;
    }
    let both = [boot, information(layout, used)].concat();
    let mut bytes = both.clone();
    bytes.resize(COPY * SECTOR, 0);
    bytes.extend(both);
    bytes
}

fn boot(layout: &FatLayout, label: ShortName, serial: [u8; 4]) -> Vec<u8> {
    let is_long = layout.kind == FileSystemType::Fat32;
    // FAT32 leaves the fields of two bytes empty and has longer ones.
    let either = |value: u64, is_long: bool| if is_long { (0, value) } else { (value, 0) };
    let (sectors, long_sectors) = either(layout.sectors, is_long || layout.sectors > u16::MAX.into());
    let (table, long_table) = either(layout.table, is_long);
    let records = layout.root * (SECTOR / RECORD) as u64;
    // A jump over the fields, and the name of the program that wrote them.
    let mut bytes = vec![0xeb, if is_long { 0x58 } else { 0x3c }, 0x90];
    bytes.extend(b"ichor   ");
    bytes.extend(numbers(&[(SECTOR as u64, 2), (layout.per_cluster, 1), (layout.reserved, 2), (TABLES, 1)]));
    bytes.extend(numbers(&[(records, 2), (sectors, 2), (MEDIUM.into(), 1), (table, 2)]));
    // Sectors of a track, heads, and sectors before the file system, which are not used any more.
    bytes.extend(numbers(&[(32, 2), (64, 2), (0, 4), (long_sectors, 4)]));
    if is_long {
        // Both tables are in use; version 0.
        bytes.extend(numbers(&[(long_table, 4), (0, 4), (FIRST.into(), 4)]));
        bytes.extend(numbers(&[(INFORMATION as u64, 2), (COPY as u64, 2)]));
        bytes.extend([0; 12]);
    }
    // A hard disk, and the mark of the three fields that follow: serial number, label, kind.
    bytes.extend([0x80, 0, 0x29]);
    bytes.extend(serial);
    bytes.extend(label);
    bytes.extend(if is_long { b"FAT32   " } else { b"FAT12   " });
    // A program that makes the firmware try the next disk.
    bytes.extend([0xcd, 0x18, 0xeb, 0xfe]);
    signed_sector(bytes)
}

fn information(layout: &FatLayout, used: u64) -> Vec<u8> {
    let mut bytes = b"RRaA".to_vec();
    bytes.resize(484, 0);
    bytes.extend(b"rrAa");
    // The number of free clusters, and the first of them.
    bytes.extend(numbers(&[(layout.clusters - used, 4), (u64::from(FIRST) + used, 4)]));
    signed_sector(bytes)
}

/// A full sector with the signature at its end.
fn signed_sector(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(SECTOR - 2, 0);
    bytes.extend([0x55, 0xaa]);
    bytes
}

/// Numbers of so many bytes each, the lowest byte first.
fn numbers(numbers: &[(u64, usize)]) -> Vec<u8> {
    numbers.iter().flat_map(|(number, length)| number.to_le_bytes().into_iter().take(*length)).collect()
}
