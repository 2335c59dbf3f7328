//! GRUB for a CD, built by the installed GRUB if no official ISO is available.

use std::fs;
use std::path::Path;

use ichor_image::build as image;
use ichor_image::oci::FileTree;

use super::grub::Grub;
use super::program::{self, MissingTool, ProgramError};
use super::scratch::ScratchFolder;

/// The boot record of a hybrid CD and disk image.
const RECORD: &str = "boot_hybrid.img";

/// Folder of GRUB's menu on the boot medium.
const PREFIX: &str = "/boot/grub";

/// Modules for the menu of an ISO, so that the CD needs no module files, and commands for GRUB's prompt.
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

/// Builds GRUB for a CD with the installed GRUB.
pub(crate) struct CdGrubBuilder(Grub);

impl CdGrubBuilder {
    /// Finds GRUB; the error lists the missing parts.
    pub(crate) fn find() -> Result<Self, MissingTool> {
        let missing = |missing: Vec<&str>| {
            MissingTool(format!(
                "GRUB for BIOS boot comes from an official ISO, or is built with programs that are not installed: {}",
                missing.join(", ")
            ))
        };
        Grub::find().map(Self).map_err(missing)
    }

    /// Builds GRUB for a CD. The output is reproducible.
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
