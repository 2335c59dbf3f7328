//! Hybrid ISOs: a boot record and partition tables before the first descriptor and at the end, so that it boots from a disk.
//!
//! UEFI finds the EFI system partition by the table where the CD is a disk, and a BIOS starts the record.

use super::bootable::BootableIsoError;
use super::number::sectors;
use super::record::Extent;
use super::{FIRST_DESCRIPTOR, SECTOR, el_torito};
use crate::media::image::{ImageError, low64, piece};
use crate::media::partition::table::{self, GptTable, Slot};
use crate::media::{Content, Guid};

/// The length of the program in a boot record, and where GRUB's has the location of `diskboot.img`.
const PROGRAM: usize = 440;
const DISK_BOOT: std::ops::Range<usize> = 0x1b0..0x1b8;

/// The size of the system area before the first descriptor, in bytes.
const SYSTEM_AREA: u64 = (FIRST_DESCRIPTOR * SECTOR) as u64;

/// The seed of the disk's GUID.
const NAME: &str = "talos-iso";

/// That a partition belongs to the platform and is only read.
const FIXED: u64 = 1 << 60 | 1;

/// The number of sectors of a CD up to the EFI system partition.
pub(super) fn sectors_of(efi: Extent) -> u64 {
    efi.sector + sectors(efi.length) + sectors(table::TAIL)
}

/// The system area before the first descriptor, and the end of the image.
///
/// The partitions have the names that they have on Talos' own CDs. One named `EFI` would be taken for that of an installed Talos.
pub(super) fn tables(program: Option<Vec<u8>>, efi: Extent) -> (Content, Content) {
    let data = Slot {
        label: "ISO9660",
        kind: Guid::DATA,
        guid: Guid::from_label("ISO9660"),
        attributes: FIXED,
        start: SYSTEM_AREA,
        length: efi.start() - SYSTEM_AREA,
    };
    let efi_system = Slot {
        label: "Appended2",
        kind: Guid::EFI,
        guid: Guid::from_label("Appended2"),
        attributes: 0,
        start: efi.start(),
        length: efi.length,
    };
    let table = GptTable {
        size: sectors_of(efi) * SECTOR as u64,
        guid: Guid::from_label(NAME),
        boot_code: program,
        // As on Talos' own: UEFI (5.2.3) requires it, and no other partition could be active.
        is_active: false,
        usable: SYSTEM_AREA,
        slots: vec![data, efi_system],
    };
    let mut head = Content::from(table.head());
    head.pad_to(SYSTEM_AREA);
    (head, table.tail().into())
}

/// GRUB's boot record with the location of GRUB's boot image.
pub(super) fn settle(record: &Content, sector: u64) -> Result<Vec<u8>, BootableIsoError> {
    let program = record.part(0, PROGRAM as u64).ok_or(BootableIsoError::Record(record.len()))?;
    let mut program = program.read().map_err(BootableIsoError::Read)?;
    program[DISK_BOOT].copy_from_slice(&el_torito::disk_boot(sector).to_le_bytes());
    Ok(program)
}

/// The boot record of a CD whose boot image is at a sector; none if it does not start that.
pub(super) fn find_in(cd: &Content, sector: u64) -> Result<Option<Content>, ImageError> {
    let record = cd.part(0, PROGRAM as u64).ok_or(ImageError::Short("boot record"))?;
    let place = piece(cd, DISK_BOOT.start as u64, DISK_BOOT.len(), "boot record")?;
    Ok(Some(record).filter(|_| low64(&place, 0) == el_torito::disk_boot(sector)))
}
