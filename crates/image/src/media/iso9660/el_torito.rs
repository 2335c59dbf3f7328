//! El Torito 1.0: the boot catalog of a CD. Every image is started without emulation of a floppy or a disk.

use super::number::small;
use super::record::Extent;
use super::{FIRST_DESCRIPTOR, SECTOR, descriptor};
use crate::media::Content;
use crate::media::image::{ImageError, low16, low32, piece};

/// The platforms that boot an image.
const BIOS: u8 = 0;
const EFI: u8 = 0xef;

/// An image that can be booted, and that of the last section.
const BOOTABLE: u8 = 0x88;
const LAST_SECTION: u8 = 0x91;
/// The length of an entry of the catalog.
const ENTRY: usize = 32;

/// The sector in which firmware expects the descriptor.
const PLACE: usize = 17;
/// The identifier of the descriptor, and the offset of the catalog's location.
const NAME: &[u8] = b"EL TORITO SPECIFICATION";
const CATALOG: usize = 0x47;

/// How much of an image a BIOS loads: GRUB's `cdboot.img`, which loads the rest. In units of 512 bytes.
const LOADED: u16 = 4;
/// The unit of the boot image's size.
const UNIT: u64 = 512;

/// The boot information table, which gives a loader its location on the medium.
const TABLE: std::ops::Range<usize> = 8..64;
/// Where GRUB's `diskboot.img` has the location of the rest of GRUB. It follows `cdboot.img`, and starts GRUB from a disk.
const NEXT: std::ops::Range<usize> = 0x9f4..0x9fc;
/// The shortest and longest boot image of GRUB: real mode has space for half a megabyte.
const SHORTEST: u64 = 0xa00;
const LONGEST: u64 = 4 << 20;

/// The descriptor with the location of the catalog.
pub(super) fn record(catalog: u64) -> Vec<u8> {
    let mut bytes = descriptor::head(0);
    bytes.extend(NAME);
    bytes.resize(CATALOG, 0);
    bytes.extend(small(catalog).to_le_bytes());
    bytes.resize(SECTOR, 0);
    bytes
}

/// The catalog: the boot images for BIOS and UEFI.
pub(super) fn catalog(bios: Option<u64>, efi: Extent) -> Vec<u8> {
    let bios = bios.map(|sector| (BIOS, entry(sector, LOADED)));
    // If the number does not fit, firmware takes everything until the end of the medium.
    let units = u16::try_from(efi.length.div_ceil(UNIT)).unwrap_or(0);
    let efi = (EFI, entry(efi.sector, units));
    let mut bytes = Vec::new();
    for (nth, (platform, entry)) in bios.into_iter().chain([efi]).enumerate() {
        bytes.extend(if nth == 0 { validation(platform) } else { section(platform) });
        bytes.extend(entry);
    }
    bytes.resize(SECTOR, 0);
    bytes
}

/// The validation entry of the catalog. Its numbers add up to zero.
fn validation(platform: u8) -> [u8; ENTRY] {
    let mut bytes = [0; ENTRY];
    bytes[..2].copy_from_slice(&[1, platform]);
    bytes[30..].copy_from_slice(&[0x55, 0xaa]);
    let sum = bytes.chunks_exact(2).fold(0_u16, |sum, pair| sum.wrapping_add(low16(pair, 0)));
    bytes[28..30].copy_from_slice(&sum.wrapping_neg().to_le_bytes());
    bytes
}

/// The section header before a further entry.
fn section(platform: u8) -> [u8; ENTRY] {
    let mut bytes = [0; ENTRY];
    bytes[..4].copy_from_slice(&[LAST_SECTION, platform, 1, 0]);
    bytes
}

fn entry(sector: u64, units: u16) -> [u8; ENTRY] {
    let mut bytes = [0; ENTRY];
    bytes[0] = BOOTABLE;
    bytes[6..8].copy_from_slice(&units.to_le_bytes());
    bytes[8..12].copy_from_slice(&small(sector).to_le_bytes());
    bytes
}

/// Whether something is as long as a boot image of GRUB can be.
pub(super) fn may_be_grub(image: &Content) -> bool {
    (SHORTEST..=LONGEST).contains(&image.len())
}

/// Writes the location on the medium into a boot image of GRUB: in its boot information table for a start from a CD, and in
/// `diskboot.img` for a start from a disk.
pub(super) fn settle(mut image: Vec<u8>, sector: u64) -> Vec<u8> {
    image[NEXT].copy_from_slice(&(sector * (SECTOR as u64 / UNIT) + 5).to_le_bytes());
    let sum = image[TABLE.end..].chunks(4).fold(0_u32, |sum, chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        sum.wrapping_add(u32::from_le_bytes(word))
    });
    let length = small(image.len() as u64);
    let numbers = [small(FIRST_DESCRIPTOR as u64), small(sector), length, sum];
    image[TABLE].fill(0);
    image[TABLE.start..TABLE.start + 16].copy_from_slice(&numbers.map(u32::to_le_bytes).concat());
    image
}

/// The location of `diskboot.img` for a disk's boot record, in units of 512 bytes, with the image at a sector of the CD.
pub(super) fn disk_boot(sector: u64) -> u64 {
    sector * (SECTOR as u64 / UNIT) + 4
}

/// The boot image for a BIOS on a CD, and its sector; none if it is not GRUB with a boot information table.
pub(super) fn find_in(cd: &Content) -> Result<Option<(u64, Content)>, ImageError> {
    let Ok(descriptor) = piece(cd, (PLACE * SECTOR) as u64, SECTOR, "descriptors") else { return Ok(None) };
    if !descriptor.starts_with(&[&descriptor::head(0)[..], NAME].concat()) {
        return Ok(None);
    }
    let catalog = piece(cd, u64::from(low32(&descriptor, CATALOG)) * SECTOR as u64, SECTOR, "boot catalog")?;
    let (head, entry) = (&catalog[..ENTRY], &catalog[ENTRY..2 * ENTRY]);
    if head[..2] != [1, BIOS] || entry[..2] != [BOOTABLE, 0] {
        return Ok(None);
    }
    let sector = low32(entry, 8);
    let start = u64::from(sector) * SECTOR as u64;
    let table = piece(cd, start, TABLE.end, "boot image")?;
    if low32(&table, TABLE.start + 4) != sector {
        return Ok(None);
    }
    let image = cd.part(start, low32(&table, TABLE.start + 8).into());
    let image = image.ok_or(ImageError::Short("boot image"))?;
    Ok(Some((sector.into(), image)).filter(|(_, image)| may_be_grub(image)))
}
