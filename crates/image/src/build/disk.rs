//! Disk images: disks with an installation of Talos, before the first boot.
//!
//! Sizes and order are those of Talos' own images from 1.11 on. For machines with a BIOS, the contents of
//! two partitions are an input, [`BiosPartitions`]; [`disk`] then composes the image. Talos makes STATE and EPHEMERAL at its first boot.

use std::io::{self, Write};

use flate2::{Compression, GzBuilder};

use super::grub::{self, GrubLoader};
use super::{BootAssets, Profile, esp};
use crate::media::fat::{self, FatError};
use crate::media::{Content, Disk, DiskError, Guid, NewPartition, PartitionAttribute, sparse_tar};
use crate::oci::{FileTree, TreeEntry};
use ichor_talos::{meta, meta_partition as adv};
use ichor_values::Arch;

const MIB: u64 = 1 << 20;

/// Sizes of partitions. The one that UEFI boots from is as long as all that GRUB needs together.
const BIOS: u64 = MIB;
const EFI: u64 = 100 * MIB + BIOS + BOOT_LENGTH;
const META: u64 = MIB;

/// The length of a disk without GRUB's partitions: the shortest, or the one that some clouds require.
const SHORT: u64 = 2246 * MIB;
const LONG: u64 = 9192 * MIB;

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// The configuration of systemd-boot.
const SETTINGS: &str = "timeout 10\n";

/// The META value of a disk that has both loaders.
const BOTH: &str = "dual-boot";

/// The seed of the disk's GUID.
const NAME: &str = "talos-image-disk";

/// The label of the boot partition, and of its file system.
pub const BOOT_LABEL: &str = "BOOT";

/// The sector at which GRUB's core image starts.
pub const CORE_SECTOR: u64 = (MIB + EFI) / SECTOR;

/// The length of the boot partition, which has an XFS file system.
pub const BOOT_LENGTH: u64 = 2000 * MIB;

/// The partitions for machines with a BIOS.
#[derive(Clone, Debug)]
pub struct BiosPartitions {
    /// GRUB, for [`CORE_SECTOR`].
    pub loader: GrubLoader,
    /// The boot partition: a file system of [`BOOT_LENGTH`] bytes with [`boot_tree`] in it.
    pub boot: Content,
}

/// Why a disk image cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum DiskImageError {
    /// systemd-boot is missing.
    #[error(
        "systemd-boot is missing, which UEFI needs to boot; add an ISO, an installer or the imager of the release"
    )]
    NoLoader,
    /// A BIOS is something of amd64.
    #[error("arm64 machines have no BIOS; build an image for UEFI only")]
    NoBios,
    /// The partition of UEFI cannot be made.
    #[error("cannot create the EFI system partition")]
    Efi(#[source] FatError),
    /// The META partition cannot be made.
    #[error("cannot create the META partition")]
    Meta(#[source] adv::WriteError),
    /// They do not fit.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// The files of the boot partition.
pub fn boot_tree(profile: &Profile, parts: &BootAssets) -> FileTree {
    let mut root = FileTree::default();
    root.put(grub::KERNEL, TreeEntry::file(0o644, parts.kernel.clone()));
    root.put(grub::INITRAMFS, TreeEntry::file(0o644, parts.initramfs.clone()));
    root.put(grub::CONFIG, TreeEntry::file(0o644, grub::config(profile).into_bytes()));
    root
}

/// The disk of a profile, with this kernel image. A BIOS can boot it if there is a `bios`.
pub fn disk(
    profile: &Profile,
    parts: &BootAssets,
    uki: &Content,
    bios: Option<&BiosPartitions>,
) -> Result<Content, DiskImageError> {
    if bios.is_some() && profile.arch == Arch::Arm64 {
        return Err(DiskImageError::NoBios);
    }
    let loader = parts.loader.as_ref().ok_or(DiskImageError::NoLoader)?;
    let tree = esp::tree(profile, loader, uki, SETTINGS);
    let efi = fat::tree(esp::LABEL, &tree, EFI).map_err(DiskImageError::Efi)?;
    let mut partitions = vec![partition(esp::LABEL, Guid::EFI, EFI, efi)];
    if let Some(bios) = bios {
        let core = partition("BIOS", Guid::BIOS, BIOS, bios.loader.core.clone().into());
        partitions.push(NewPartition { attribute: Some(PartitionAttribute::LegacyBoot), ..core });
        partitions.push(partition(BOOT_LABEL, Guid::LINUX, BOOT_LENGTH, bios.boot.clone()));
    }
    partitions.push(partition("META", Guid::LINUX, META, values(profile, bios.is_some())?));
    let boot_code = bios.map(|bios| bios.loader.code.clone());
    Ok(Disk { size: size(profile, bios.is_some()), guid: Guid::from_label(NAME), boot_code, partitions }
        .write()?)
}

/// The length of a disk.
fn size(profile: &Profile, both: bool) -> u64 {
    let own = if profile.platform == "gcp" { LONG } else { SHORT };
    own + if both { BIOS + BOOT_LENGTH } else { 0 }
}

fn partition(label: &'static str, kind: Guid, length: u64, content: Content) -> NewPartition {
    NewPartition { label, kind, guid: Guid::from_label(label), attribute: None, length, content }
}

/// The content of the META partition: empty if there are no values.
fn values(profile: &Profile, both: bool) -> Result<Content, DiskImageError> {
    let mut values = profile.meta.clone();
    if both {
        values.push(meta::Value { key: meta::LOADERS, value: BOTH.to_owned() });
    }
    if values.is_empty() {
        return Ok(Content::default());
    }
    Ok(adv::write(&values).map_err(DiskImageError::Meta)?.into())
}

/// Writes a disk in the form that Google's cloud takes: `disk.raw` in an archive. `seconds` is when it was made, since 1970.
pub fn google(disk: &Content, seconds: u32, out: &mut dyn Write) -> io::Result<()> {
    let mut packed = GzBuilder::new().mtime(0).write(out, Compression::default());
    sparse_tar::write("disk.raw", disk, seconds.into(), &mut packed)?;
    packed.finish()?.flush()
}
