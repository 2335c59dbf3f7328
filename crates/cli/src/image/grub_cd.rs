//! GRUB for a CD, made by the GRUB of this machine, for when no official ISO is at hand.

use std::fs;
use std::path::Path;

use ichor_image::build as image;
use ichor_image::oci::FileTree;

use super::grub::Grub;
use super::program::{self, MissingTool, ProgramError};
use super::scratch::ScratchFolder;

/// The boot record of a disk that is a CD.
const RECORD: &str = "boot_hybrid.img";

/// Where GRUB looks for its menu, on what it was booted from.
const PREFIX: &str = "/boot/grub";

/// Everything that the menu of an ISO needs, so that no modules have to be on the CD; and what helps people at GRUB's own prompt.
const MODULES: [&str; 18] = [
    "biosdisk",
    "iso9660",
    "part_gpt",
    "part_msdos",
    "normal",
    "configfile",
    "linux",
    "boot",
    "all_video",
    "gzio",
    "xzio",
    "ls",
    "cat",
    "echo",
    "test",
    "help",
    "reboot",
    "halt",
];

/// GRUB of this machine, which can make one for a CD.
pub(crate) struct CdGrubBuilder(Grub);

impl CdGrubBuilder {
    /// The programs, or what of them is missing.
    pub(crate) fn find() -> Result<Self, MissingTool> {
        let missing = |missing: Vec<&str>| {
            MissingTool(format!(
                "GRUB for a BIOS is on an official ISO, and to make it here is missing: {}",
                missing.join(", ")
            ))
        };
        Grub::find().map(Self).map_err(missing)
    }

    /// GRUB for a CD. The same GRUB makes the same bytes.
    pub(crate) fn make(&self) -> Result<image::GrubCd, ProgramError> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |source| ProgramError::File { what, program: "grub-mkimage", source }
        };
        let folder = ScratchFolder::new().map_err(failed("GRUB for a CD"))?;
        let made = folder.path().join("image");
        program::run(&self.0.program, folder.path(), |command| {
            command
                .args(["--format", "i386-pc-eltorito", "--prefix", PREFIX, "--directory"])
                .arg(self.0.folder);
            command.arg("--output").arg(&made).args(MODULES);
        })?;
        let read = |path: &Path| fs::read(path).map_err(failed(&path.display().to_string()));
        let record = self.0.folder.join(RECORD);
        Ok(image::GrubCd {
            image: read(&made)?.into(),
            record: Some(read(&record)?.into()),
            files: FileTree::default(),
        })
    }
}
