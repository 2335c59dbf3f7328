//! A CD with folders, from which machines boot.

use super::descriptor::VolumeLabels;
use super::encoding::NameEncoding;
use super::layout::{IsoLayout, LayoutOptions};
use super::record::Extent;
use super::tree::{IsoTree, IsoTreeError};
use super::{SECTOR, el_torito, hybrid};
use crate::media::{Content, ImageError};
use crate::oci::FileTree;

/// The alignment of the EFI system partition in sectors: one MiB, as on disks.
const ALIGNMENT: u64 = 512;

/// The longest labels of a volume and of a set of volumes.
const LONGEST_LABEL: usize = 32;
const LONGEST_SET: usize = 128;
/// The longest EFI system partition.
const LONGEST_EFI: u64 = 1 << 40;

/// A CD that machines boot: as a CD, and as a disk with the same contents, such as a stick.
#[derive(Clone, Copy, Debug)]
pub struct BootableIso<'a> {
    /// Its label.
    pub label: &'a str,
    /// The label of its volume set.
    pub set: &'a str,
    /// Its files.
    pub tree: &'a FileTree,
    /// The boot files for a BIOS, if any.
    pub bios: Option<BiosBoot<'a>>,
    /// The EFI system partition, which follows the tree.
    pub efi: &'a Content,
}

/// GRUB for a BIOS.
#[derive(Clone, Copy, Debug)]
pub struct BiosBoot<'a> {
    /// The path of its boot image in the tree. Its location is written into it.
    pub image: &'a str,
    /// The boot record by which it is started from a disk: GRUB's `boot_hybrid.img`.
    pub record: Option<&'a Content>,
}

/// Why an ISO cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BootableIsoError {
    /// It does not fit.
    #[error(transparent)]
    Tree(#[from] IsoTreeError),
    /// The label is invalid.
    #[error("`{0}` is not a valid ISO label; want 1 to {LONGEST_LABEL} of A-Z, 0-9 and `_`")]
    Label(String),
    /// The label of the volume set is invalid.
    #[error("`{0}` is not a valid volume set label; want at most {LONGEST_SET} printable ASCII characters")]
    Set(String),
    /// The boot image for a BIOS is not GRUB.
    #[error("`{0}` is not a GRUB boot image; want one for `i386-pc-eltorito`")]
    Image(String),
    /// The boot record is not GRUB's.
    #[error(
        "{0} bytes are not a GRUB boot record; want its `boot_hybrid.img`, or the first 440 bytes of a disk"
    )]
    Record(u64),
    /// The EFI system partition is too long.
    #[error("an EFI system partition of {0} bytes is too large for an ISO; want at most 1 TiB")]
    Efi(u64),
    /// A part could not be read.
    #[error("cannot read the BIOS boot image")]
    Read(#[source] std::io::Error),
}

impl BootableIso<'_> {
    /// The ISO. Only the boot image for a BIOS is read.
    pub fn write(&self) -> Result<Content, BootableIsoError> {
        self.check()?;
        let tree = IsoTree::of_root(self.tree)?;
        let layout = IsoLayout::new(&tree, &LayoutOptions { letters: &[NameEncoding::Plain], boots: true });
        let mut bios = self.bios.map(|bios| PatchedBootImage::new(&bios, &tree, &layout)).transpose()?;
        let efi = Extent { sector: layout.end.next_multiple_of(ALIGNMENT), length: self.efi.len() };
        let sectors = hybrid::sectors_of(efi);
        let (mut cd, tail) = hybrid::tables(bios.as_mut().and_then(|bios| bios.program.take()), efi);
        let catalog = el_torito::catalog(bios.as_ref().map(|bios| bios.sector), efi);
        cd.push(layout.head(VolumeLabels { volume: self.label, set: self.set }, sectors, &catalog));
        for (node, file) in tree.files() {
            let settled = bios.as_ref().filter(|bios| bios.node == node);
            layout.append(&mut cd, node, settled.map_or_else(|| file.clone(), |bios| bios.image.clone()));
        }
        cd.pad_to(efi.start());
        cd.push(self.efi.clone());
        cd.pad_to(sectors * SECTOR as u64 - tail.len());
        cd.push(tail);
        Ok(cd)
    }

    fn check(&self) -> Result<(), BootableIsoError> {
        let fits = |letter: u8| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == b'_';
        if !(1..=LONGEST_LABEL).contains(&self.label.len()) || !self.label.bytes().all(fits) {
            return Err(BootableIsoError::Label(self.label.to_owned()));
        }
        let is_printable = |letter: u8| letter.is_ascii_graphic() || letter == b' ';
        if self.set.len() > LONGEST_SET || !self.set.bytes().all(is_printable) {
            return Err(BootableIsoError::Set(self.set.to_owned()));
        }
        if self.efi.len() > LONGEST_EFI { Err(BootableIsoError::Efi(self.efi.len())) } else { Ok(()) }
    }
}

/// The boot files for a BIOS of an existing ISO: GRUB's boot image, and the boot record that starts it from a disk.
#[derive(Clone, Debug)]
pub struct BiosBootImage {
    /// The image.
    pub image: Content,
    /// The record, where the CD can be a disk as well.
    pub record: Option<Content>,
}

impl BiosBootImage {
    /// Finds the boot files for a BIOS on a CD; none if they are not GRUB.
    pub fn find_in(cd: &Content) -> Result<Option<Self>, ImageError> {
        let Some((sector, image)) = el_torito::find_in(cd)? else { return Ok(None) };
        Ok(Some(Self { image, record: hybrid::find_in(cd, sector)? }))
    }
}

/// A boot image for a BIOS with its location written into it.
struct PatchedBootImage {
    node: usize,
    sector: u64,
    image: Content,
    program: Option<Vec<u8>>,
}

impl PatchedBootImage {
    fn new(bios: &BiosBoot<'_>, tree: &IsoTree, layout: &IsoLayout<'_>) -> Result<Self, BootableIsoError> {
        let found = tree.file(bios.image).filter(|(_, image)| el_torito::may_be_grub(image));
        let (node, image) = found.ok_or_else(|| BootableIsoError::Image(bios.image.to_owned()))?;
        let sector = layout.place(node).sector;
        let image = el_torito::settle(image.read().map_err(BootableIsoError::Read)?, sector);
        let program = bios.record.map(|record| hybrid::settle(record, sector)).transpose()?;
        Ok(Self { node, sector, image: image.into(), program })
    }
}
