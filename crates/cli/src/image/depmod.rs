//! Kernel module lists of an image, written by the installed depmod.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use ichor_image::build::extension::Extension;
use ichor_image::build::modules::{KernelModules, ModuleEntry, ModulesError};
use ichor_image::media::Content;

use super::program::{self, MissingTool, ProgramError};
use super::scratch::ScratchFolder;

/// Errors of listing kernel modules.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DepmodError {
    #[error("cannot create a temporary folder for kernel modules")]
    Scratch(#[source] io::Error),
    #[error(transparent)]
    Modules(#[from] ModulesError),
    #[error("cannot write the configuration of depmod")]
    Order(#[source] io::Error),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("cannot read the output of depmod in {}", folder.display())]
    Read { folder: PathBuf, source: io::Error },
}

/// Search order for modules of the same name, as in Talos' imager: those of extensions before Talos' own.
const ORDER: &str = "search extras built-in\n";

/// Finds depmod before any file is written; `extension` needs it.
pub(crate) fn find_depmod(extension: &Extension) -> Result<PathBuf, MissingTool> {
    program::find(&["depmod"]).ok_or_else(|| {
        MissingTool(format!(
            "{} has kernel modules, and depmod, which lists them, is not installed; install it with `apt-get install \
             kmod`, or set --base to an Image Factory image that has the extension",
            extension.metadata.name
        ))
    })
}

/// Builds the extension with the lists of all modules.
pub(crate) fn build_list_extension(
    depmod: &Path,
    modules: &KernelModules<'_>,
) -> Result<Extension, DepmodError> {
    let folder = ScratchFolder::new().map_err(DepmodError::Scratch)?;
    unpack(modules, folder.path())?;
    let order = folder.path().join("order.conf");
    fs::write(&order, ORDER).map_err(DepmodError::Order)?;
    program::run(depmod, folder.path(), |command| {
        // depmod of Debian 12 crashes on a relative path to its configuration.
        command.args(["--all", "--basedir", "usr", "--config"]).arg(&order).arg(&modules.kernel);
    })?;
    read_module_lists(&folder.path().join("usr/lib/modules").join(&modules.kernel), &modules.kernel)
}

fn unpack(modules: &KernelModules<'_>, folder: &Path) -> Result<(), ModulesError> {
    modules.unpack(&mut |path, item| {
        let at = folder.join(path);
        match item {
            ModuleEntry::Folder => Ok(fs::create_dir_all(&at)?),
            ModuleEntry::File(write) => {
                let mut out = BufWriter::new(File::create(&at)?);
                write(&mut out)?;
                Ok(out.flush()?)
            }
        }
    })
}

/// Reads the lists that depmod wrote next to the modules.
fn read_module_lists(folder: &Path, kernel: &str) -> Result<Extension, DepmodError> {
    let failed = |source| DepmodError::Read { folder: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().into_string().unwrap_or_default();
        if name.starts_with("modules.") && entry.path().is_file() {
            files.push((name, Content::from(fs::read(entry.path()).map_err(failed)?)));
        }
    }
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(Extension::modules(kernel, &files))
}
