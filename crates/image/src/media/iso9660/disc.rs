//! A CD with folders, from which machines boot.

use super::descriptor::Labels;
use super::layout::{Layout, Order};
use super::letters::Letters;
use super::record::Extent;
use super::tree::{Tree, TreeError};
use super::{SECTOR, el_torito, hybrid};
use crate::media::{Content, ReadError};
use crate::oci::Root;

/// Where the EFI system partition starts: at a multiple of this many sectors, one MiB, as on disks.
const ALIGNMENT: u64 = 512;

/// The longest labels of a volume and of a set of volumes.
const LONGEST_LABEL: usize = 32;
const LONGEST_SET: usize = 128;
/// The longest EFI system partition.
const LONGEST_EFI: u64 = 1 << 40;

/// A CD that machines boot: as a CD, and as a disk with the same contents, such as a stick.
#[derive(Clone, Copy, Debug)]
pub struct Disc<'a> {
    /// What it is called.
    pub label: &'a str,
    /// What the set of volumes is called that it belongs to.
    pub set: &'a str,
    /// What is on it.
    pub tree: &'a Root,
    /// What a BIOS boots, if it boots anything.
    pub bios: Option<Bios<'a>>,
    /// What UEFI boots: the EFI system partition, which stands behind the tree.
    pub efi: &'a Content,
}

/// GRUB for a BIOS.
#[derive(Clone, Copy, Debug)]
pub struct Bios<'a> {
    /// The path of its boot image in the tree. It is told there where it is.
    pub image: &'a str,
    /// The boot record by which it is started from a disk: GRUB's `boot_hybrid.img`.
    pub record: Option<&'a Content>,
}

/// Why there is no such CD.
#[derive(Debug, thiserror::Error)]
pub enum DiscError {
    /// It does not fit.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A label is none.
    #[error("`{0}` is no label of a CD; want 1 to {LONGEST_LABEL} of A-Z, 0-9 and `_`")]
    Label(String),
    /// The label of a set is none.
    #[error("`{0}` is no label of a set of CDs; want at most {LONGEST_SET} printable letters of ASCII")]
    Set(String),
    /// What a BIOS should boot is not GRUB.
    #[error("`{0}` is no boot image of GRUB; want one for `i386-pc-eltorito`")]
    Image(String),
    /// What starts GRUB from a disk is something else.
    #[error(
        "{0} bytes are no boot record of GRUB; want its `boot_hybrid.img`, or the first 440 bytes of a disk"
    )]
    Record(u64),
    /// The EFI system partition is too long.
    #[error("an EFI system partition of {0} bytes is too long for a CD; want at most 1 TiB")]
    Efi(u64),
    /// What should go on it could not be read.
    #[error("cannot read what a BIOS boots")]
    Read(#[source] std::io::Error),
}

impl Disc<'_> {
    /// The CD. Nothing of what goes on it is read but what a BIOS boots.
    pub fn write(&self) -> Result<Content, DiscError> {
        self.check()?;
        let tree = Tree::of_root(self.tree)?;
        let layout = Layout::new(&tree, &Order { letters: &[Letters::Plain], boots: true });
        let mut bios = self.bios.map(|bios| Settled::new(&bios, &tree, &layout)).transpose()?;
        let efi = Extent { sector: layout.end.next_multiple_of(ALIGNMENT), length: self.efi.len() };
        let sectors = hybrid::sectors_of(efi);
        let (mut cd, tail) = hybrid::tables(bios.as_mut().and_then(|bios| bios.program.take()), efi);
        let catalog = el_torito::catalog(bios.as_ref().map(|bios| bios.sector), efi);
        cd.push(layout.head(Labels { volume: self.label, set: self.set }, sectors, &catalog));
        for (node, file) in tree.files() {
            let settled = bios.as_ref().filter(|bios| bios.node == node);
            layout.put(&mut cd, node, settled.map_or_else(|| file.clone(), |bios| bios.image.clone()));
        }
        cd.pad_to(efi.start());
        cd.push(self.efi.clone());
        cd.pad_to(sectors * SECTOR as u64 - tail.len());
        cd.push(tail);
        Ok(cd)
    }

    fn check(&self) -> Result<(), DiscError> {
        let fits = |letter: u8| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == b'_';
        if !(1..=LONGEST_LABEL).contains(&self.label.len()) || !self.label.bytes().all(fits) {
            return Err(DiscError::Label(self.label.to_owned()));
        }
        let is_printable = |letter: u8| letter.is_ascii_graphic() || letter == b' ';
        if self.set.len() > LONGEST_SET || !self.set.bytes().all(is_printable) {
            return Err(DiscError::Set(self.set.to_owned()));
        }
        if self.efi.len() > LONGEST_EFI { Err(DiscError::Efi(self.efi.len())) } else { Ok(()) }
    }
}

/// What a BIOS boots from a CD that somebody made: GRUB's boot image, and the boot record that starts it from a disk.
#[derive(Clone, Debug)]
pub struct BootImage {
    /// The image.
    pub image: Content,
    /// The record, where the CD can be a disk as well.
    pub record: Option<Content>,
}

impl BootImage {
    /// What a BIOS boots from a CD; none where it is not GRUB.
    pub fn find_in(cd: &Content) -> Result<Option<Self>, ReadError> {
        let Some((sector, image)) = el_torito::find_in(cd)? else { return Ok(None) };
        Ok(Some(Self { image, record: hybrid::find_in(cd, sector)? }))
    }
}

/// What a BIOS boots, told where it is.
struct Settled {
    node: usize,
    sector: u64,
    image: Content,
    program: Option<Vec<u8>>,
}

impl Settled {
    fn new(bios: &Bios<'_>, tree: &Tree, layout: &Layout<'_>) -> Result<Self, DiscError> {
        let found = tree.file(bios.image).filter(|(_, image)| el_torito::may_be_grub(image));
        let (node, image) = found.ok_or_else(|| DiscError::Image(bios.image.to_owned()))?;
        let sector = layout.place(node).sector;
        let image = el_torito::settle(image.read().map_err(DiscError::Read)?, sector);
        let program = bios.record.map(|record| hybrid::settle(record, sector)).transpose()?;
        Ok(Self { node, sector, image: image.into(), program })
    }
}
