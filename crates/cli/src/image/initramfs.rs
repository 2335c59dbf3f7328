//! The initramfs of an image: the published one with extensions appended.

use std::fs::File;
use std::io::{self, BufWriter};

use ichor_image::build::compatibility::CompatibilityError;
use ichor_image::build::conflict::{ConflictError, find_conflicts};
use ichor_image::build::extension::Extension;
use ichor_image::build::initramfs::{AddedExtension, BaseInitramfs, InitramfsError, ROOT};
use ichor_image::build::modules::{KernelModules, ModulesError};
use ichor_image::build::{BootAssets, compatibility};
use ichor_image::media::{Content, cpio, squashfs};
use ichor_image::oci::BlobStore as _;
use ichor_talos::extension::ExtensionMetadata;
use ichor_values::Arch;
use ichor_values::TalosVersion;

use super::FileImage;
use super::depmod::{self, DepmodError};
use super::program::MissingTool;
use crate::compress::compress_blocks;
use crate::oci::{TempFileError, TempFileStore, explain_full_disk};
use crate::progress::Progress;

/// Errors of adding extensions to a release.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BaseReleaseError {
    #[error(transparent)]
    Spool(#[from] TempFileError),
    #[error("cannot use the initramfs")]
    Unusable(#[source] InitramfsError),
    #[error("the initramfs has no root file system")]
    NoRoot,
    #[error(transparent)]
    Misfit(#[from] CompatibilityError),
    #[error(transparent)]
    Conflict(#[from] ConflictError),
    #[error(transparent)]
    Modules(#[from] ModulesError),
    #[error("no extension has kernel modules")]
    NoModules,
    #[error(transparent)]
    Absent(#[from] MissingTool),
    #[error(transparent)]
    Depmod(#[from] DepmodError),
    #[error("cannot pack the extensions")]
    Pack(#[source] io::Error),
    #[error(transparent)]
    Initramfs(#[from] cpio::CpioWriteError),
    #[error("cannot pack the extension {name}")]
    Squash { name: String, source: SquashError },
    #[error(transparent)]
    Opened(#[from] io::Error),
}

/// Errors of building the file system of an extension.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SquashError {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Write(#[from] squashfs::SquashfsWriteError),
}

/// The checked boot assets of a release.
pub(crate) struct BaseRelease {
    pub parts: BootAssets,
    talos: TalosVersion,
    /// The kernel version, if known.
    kernel: Option<String>,
    base: BaseInitramfs,
}

/// An initramfs with extensions, and the size of each part.
pub(crate) struct Initramfs {
    pub content: Content,
    pub sizes: Vec<(String, u64)>,
    /// Names and versions of all its extensions, the lowest layer first.
    pub extensions: Vec<(String, String)>,
}

impl BaseRelease {
    /// Checks that the assets of a release belong together, and reads which extensions they have already.
    pub(crate) fn open(
        parts: BootAssets,
        talos: &TalosVersion,
        arch: Arch,
    ) -> Result<Self, BaseReleaseError> {
        let _progress = Progress::start("reading the initramfs");
        let mut spool = TempFileStore::new()?;
        let base = BaseInitramfs::read(&parts.initramfs, &mut |_, bytes| spool.keep(bytes).map(Some));
        let base = base.map_err(BaseReleaseError::Unusable)?;
        let root = base.kept.get(ROOT).ok_or(BaseReleaseError::NoRoot)?;
        let kernel = compatibility::check(&parts.kernel, root, talos, arch)?;
        Ok(Self { parts, talos: talos.clone(), kernel, base })
    }

    /// Conflicts of extensions in one image, and whether each is fatal.
    pub(crate) fn conflicts(
        &self,
        extensions: &[Extension],
    ) -> Result<Vec<(String, bool)>, BaseReleaseError> {
        let conflicts = find_conflicts(extensions, &self.base, &self.talos, self.kernel.as_deref())?;
        let mut found: Vec<_> = conflicts.iter().map(|it| (it.to_string(), it.is_fatal())).collect();
        if let Some(extension) = extensions.iter().find(|extension| !extension.kernels().is_empty()) {
            found.extend(depmod::find_depmod(extension).err().map(|error| (error.to_string(), true)));
        }
        Ok(found)
    }

    /// Adds an extension with the module lists of all; none if they have no modules.
    fn with_modules(&self, extensions: &[Extension]) -> Result<Option<Vec<Extension>>, BaseReleaseError> {
        let Some(modules) = KernelModules::collect(extensions, &self.base)? else { return Ok(None) };
        let _progress = Progress::start("listing kernel modules");
        let first = extensions.iter().find(|extension| !extension.kernels().is_empty());
        let program = depmod::find_depmod(first.ok_or(BaseReleaseError::NoModules)?)?;
        let list = depmod::build_list_extension(&program, &modules)?;
        Ok(Some(extensions.iter().cloned().chain([list]).collect()))
    }

    /// Appends extensions, which must have no conflicts.
    pub(crate) fn add_extensions(&self, extensions: &[Extension]) -> Result<Initramfs, BaseReleaseError> {
        let base = &self.parts.initramfs;
        let mut sizes = vec![("published initramfs".to_owned(), base.len())];
        if extensions.is_empty() {
            let extensions = self.base.layers.iter().map(|layer| named(&layer.metadata)).collect();
            return Ok(Initramfs { content: base.clone(), sizes, extensions });
        }
        let listed = self.with_modules(extensions)?;
        let extensions = listed.as_deref().unwrap_or(extensions);
        let plan = self.base.plan(extensions);
        let squashes = plan.additions.iter().map(build_squashfs).collect::<Result<Vec<_>, _>>()?;
        let mut spool = TempFileStore::new()?;
        let tail = spool.write(Box::new(|out| plan.write_tail(&squashes, out)));
        let content = plan.initramfs(tail.map_err(BaseReleaseError::Pack)?)?;
        for (addition, squash) in plan.additions.iter().zip(&squashes) {
            sizes.push((format!("extension {}", addition.layer.metadata.name), squash.len()));
        }
        let extensions = plan.layers().iter().map(|layer| named(&layer.metadata)).collect();
        Ok(Initramfs { content, sizes, extensions })
    }
}

fn named(metadata: &ExtensionMetadata) -> (String, String) {
    (metadata.name.clone(), metadata.version.clone())
}

/// Builds the file system of an extension in an unnamed file.
fn build_squashfs(addition: &AddedExtension) -> Result<Content, BaseReleaseError> {
    let name = &addition.layer.metadata.name;
    let _progress = Progress::start("packing extensions");
    let attempt = || -> Result<File, SquashError> {
        let mut out = BufWriter::new(tempfile::tempfile()?);
        squashfs::write(&addition.tree, "rootfs", &mut out, &compress_blocks).map_err(
            |error| match error {
                squashfs::SquashfsWriteError::Write(error) => {
                    squashfs::SquashfsWriteError::Write(explain_full_disk(error))
                }
                other => other,
            },
        )?;
        Ok(out.into_inner().map_err(|error| explain_full_disk(error.into_error()))?)
    };
    let file = attempt().map_err(|source| BaseReleaseError::Squash { name: name.clone(), source })?;
    Ok(FileImage::content(file)?)
}
