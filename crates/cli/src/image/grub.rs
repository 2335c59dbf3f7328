//! GRUB's boot code and core image, for machines with a BIOS.

use std::fs;
use std::path::{Path, PathBuf};

use ichor_image::build::grub::{GrubLoader, GrubLoaderError, MODULES, PREFIX};

use super::program::{self, ProgramError};

/// Folders where distributions install GRUB's files.
const FOLDERS: [&str; 3] = ["/usr/lib/grub/i386-pc", "/usr/lib/grub2/i386-pc", "/usr/share/grub2/i386-pc"];

/// The installed GRUB.
pub(super) struct Grub {
    pub(super) program: PathBuf,
    pub(super) folder: &'static Path,
}

/// Errors of building a boot loader.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GrubError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Loader(#[from] GrubLoaderError),
}

impl Grub {
    /// Finds GRUB; the error lists the missing parts.
    pub(super) fn find() -> Result<Self, Vec<&'static str>> {
        let program = program::find(&["grub-mkimage", "grub2-mkimage"]);
        let folder = FOLDERS.into_iter().map(Path::new).find(|folder| folder.join("boot.img").is_file());
        match (program, folder) {
            (Some(program), Some(folder)) => Ok(Self { program, folder }),
            (program, folder) => {
                let program = program.is_none().then_some("grub-mkimage of grub-common");
                let folder = folder.is_none().then_some("GRUB's i386-pc files of grub-pc-bin");
                Err(program.into_iter().chain(folder).collect())
            }
        }
    }

    /// Builds the loader of a disk whose core image starts at `sector`; `folder` is for temporary files.
    pub(super) fn make(&self, sector: u64, folder: &Path) -> Result<GrubLoader, GrubError> {
        let core = folder.join("core.img");
        program::run(&self.program, folder, |command| {
            command.args(["--format", "i386-pc", "--prefix", PREFIX, "--directory"]).arg(self.folder);
            command.arg("--output").arg(&core).args(MODULES);
        })?;
        let read = |path: &Path| {
            fs::read(path).map_err(|source| ProgramError::File {
                what: path.display().to_string(),
                program: "grub-mkimage",
                source,
            })
        };
        Ok(GrubLoader::for_sector(sector, read(&self.folder.join("boot.img"))?, read(&core)?)?)
    }
}
