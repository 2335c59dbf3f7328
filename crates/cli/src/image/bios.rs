//! What a disk needs for machines with a BIOS: GRUB, and a partition that it and Talos read.

use std::io;

use ichor_image::build::disk::{BOOT_LABEL, BOOT_LENGTH, BiosPartitions, CORE_SECTOR, boot_tree};
use ichor_image::build::{BootAssets, Profile};

use super::grub::{Grub, GrubError};
use super::program::{MissingTool, ProgramError};
use super::scratch::ScratchFolder;
use super::xfs::MkfsXfs;

/// The programs that make it, which are all installed here.
pub(crate) struct BiosTools {
    grub: Grub,
    xfs: MkfsXfs,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BiosError {
    #[error("cannot make a folder for what is only for a moment")]
    Folder(#[source] io::Error),
    #[error("cannot make GRUB's boot code and core image")]
    Grub(#[from] GrubError),
    #[error("cannot make the partition that GRUB reads")]
    Xfs(#[from] ProgramError),
}

impl BiosTools {
    /// The programs, or which of them are missing.
    pub(crate) fn find() -> Result<Self, MissingTool> {
        match (Grub::find(), MkfsXfs::find()) {
            (Ok(grub), Ok(xfs)) => Ok(Self { grub, xfs }),
            (grub, xfs) => {
                let missing: Vec<&str> = grub.err().into_iter().flatten().chain(xfs.err()).collect();
                Err(MissingTool(format!("a BIOS needs what is not installed here: {}", missing.join(", "))))
            }
        }
    }

    /// What goes into the first sector and two partitions of a profile's disk.
    pub(crate) fn make(&self, profile: &Profile, parts: &BootAssets) -> Result<BiosPartitions, BiosError> {
        // For the owner alone: a configuration may be in the initramfs.
        let folder = ScratchFolder::new().map_err(BiosError::Folder)?;
        let loader = self.grub.make(CORE_SECTOR, folder.path())?;
        let boot = self.xfs.make(&boot_tree(profile, parts), BOOT_LENGTH, BOOT_LABEL, folder.path())?;
        Ok(BiosPartitions { loader, boot })
    }
}
