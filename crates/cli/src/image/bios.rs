//! BIOS boot support of a disk image: GRUB, and the boot partition that GRUB and Talos read.

use std::io;

use ichor_image::build::disk::{BOOT_LABEL, BOOT_LENGTH, BiosPartitions, CORE_SECTOR, boot_tree};
use ichor_image::build::{BootAssets, Profile};

use super::grub::{Grub, GrubError};
use super::program::{MissingTool, ProgramError};
use super::scratch::ScratchFolder;
use super::xfs::MkfsXfs;

/// The installed programs that build the BIOS partitions.
pub(crate) struct BiosTools {
    grub: Grub,
    xfs: MkfsXfs,
}

/// Errors of building the BIOS partitions.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BiosError {
    #[error("cannot create a temporary folder")]
    Folder(#[source] io::Error),
    #[error("cannot build GRUB's boot code and core image")]
    Grub(#[from] GrubError),
    #[error("cannot build the boot partition for GRUB")]
    Xfs(#[from] ProgramError),
}

impl BiosTools {
    /// Finds the programs; the error lists the missing ones.
    pub(crate) fn find() -> Result<Self, MissingTool> {
        match (Grub::find(), MkfsXfs::find()) {
            (Ok(grub), Ok(xfs)) => Ok(Self { grub, xfs }),
            (grub, xfs) => {
                let missing: Vec<&str> = grub.err().into_iter().flatten().chain(xfs.err()).collect();
                Err(MissingTool(format!(
                    "BIOS boot needs programs that are not installed: {}",
                    missing.join(", ")
                )))
            }
        }
    }

    /// Builds the boot sector and the two BIOS partitions of a profile's disk.
    pub(crate) fn make(&self, profile: &Profile, parts: &BootAssets) -> Result<BiosPartitions, BiosError> {
        // Readable by the owner only: the initramfs may contain a machine configuration.
        let folder = ScratchFolder::new().map_err(BiosError::Folder)?;
        let loader = self.grub.make(CORE_SECTOR, folder.path())?;
        let boot = self.xfs.make(&boot_tree(profile, parts), BOOT_LENGTH, BOOT_LABEL, folder.path())?;
        Ok(BiosPartitions { loader, boot })
    }
}
