//! The modules of a kernel, from Talos and from all extensions: the inputs of their list.

use std::io::{self, Write};

use super::extension::{Extension, MODULES_FOLDER};
use super::initramfs::{BaseInitramfs, MissingSquashfs, ROOT};
use crate::media::squashfs::{self, Squashfs};
use crate::media::{Content, ImageError};
use crate::oci::EntryKind;

/// The folder of modules in a root file system, with a subfolder per kernel.
const FOLDER: &str = "usr/lib/modules";

/// No module is longer.
const LONGEST: u64 = 1 << 30;

/// Why modules cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum ModulesError {
    /// The root file system has modules of no kernel, or of several.
    #[error("the initramfs has modules for {count} kernels; want one")]
    Kernels {
        /// The number of kernels.
        count: usize,
    },
    /// A file system was not kept.
    #[error(transparent)]
    NotKept(#[from] MissingSquashfs),
    /// A file system could not be read.
    #[error("cannot read the modules of `{image}`")]
    Squashfs {
        /// Which one.
        image: String,
        /// Why not.
        source: ImageError,
    },
    /// A file could not be written.
    #[error("cannot unpack the modules")]
    Write(#[from] io::Error),
}

/// Modules of one kernel, wherever they are.
pub struct KernelModules<'m> {
    /// The version of the kernel.
    pub kernel: String,
    squashes: Vec<(&'m str, &'m Content)>,
    extensions: Vec<&'m Extension>,
}

/// An entry of a folder.
pub enum ModuleEntry<'i> {
    /// A folder.
    Folder,
    /// A file, which is written by this.
    File(&'i mut dyn FnMut(&mut dyn Write) -> Result<(), ModulesError>),
}

impl<'m> KernelModules<'m> {
    /// Collects the inputs of a list; none if no extension has modules, so that Talos' own list is enough.
    pub fn collect(
        extensions: &'m [Extension],
        base: &'m BaseInitramfs,
    ) -> Result<Option<Self>, ModulesError> {
        let with_modules: Vec<_> =
            extensions.iter().filter(|extension| !extension.kernels().is_empty()).collect();
        if with_modules.is_empty() {
            return Ok(None);
        }
        let images = [ROOT].into_iter().chain(base.layers.iter().map(|layer| layer.image.as_str()));
        let kept = |image: &'m str| Ok((image, base.squash(image)?));
        let squashes = images.map(kept).collect::<Result<Vec<_>, MissingSquashfs>>()?;
        let kernels = kernels(squashes[0].1).map_err(|source| failed(ROOT, source))?;
        match <[String; 1]>::try_from(kernels) {
            Ok([kernel]) => Ok(Some(Self { kernel, squashes, extensions: with_modules })),
            Err(kernels) => Err(ModulesError::Kernels { count: kernels.len() }),
        }
    }

    /// Shows every folder and file of the modules with its path below the root of a file system, in the order they hide each other.
    pub fn unpack(
        &self,
        put: &mut dyn FnMut(&str, ModuleEntry<'_>) -> Result<(), ModulesError>,
    ) -> Result<(), ModulesError> {
        let folder = format!("{FOLDER}/{}", self.kernel);
        put(&folder, ModuleEntry::Folder)?;
        for (image, content) in &self.squashes {
            unpack(image, content, &folder, put)?;
        }
        for extension in &self.extensions {
            let inside = format!("{MODULES_FOLDER}/{}", self.kernel);
            for (path, entry) in extension.root.below(&inside) {
                let path = &path["rootfs/".len()..];
                match &entry.kind {
                    EntryKind::Folder => put(path, ModuleEntry::Folder)?,
                    EntryKind::File(content) => {
                        put(path, ModuleEntry::File(&mut |out| Ok(content.copy_to(out)?)))?;
                    }
                    EntryKind::Link(_) | EntryKind::Special(_) => {}
                }
            }
        }
        Ok(())
    }
}

fn failed(image: &str, source: ImageError) -> ModulesError {
    ModulesError::Squashfs { image: image.to_owned(), source }
}

/// The kernels that a root file system has modules for.
pub(super) fn kernels(root: &Content) -> Result<Vec<String>, ImageError> {
    let squashfs = Squashfs::open(root)?;
    let Some(folder) = squashfs.find(FOLDER)? else { return Ok(Vec::new()) };
    Ok(squashfs.list(&folder)?.into_iter().map(|(name, _)| name).collect())
}

fn unpack(
    image: &str,
    content: &Content,
    folder: &str,
    put: &mut dyn FnMut(&str, ModuleEntry<'_>) -> Result<(), ModulesError>,
) -> Result<(), ModulesError> {
    let failed = |source| failed(image, source);
    let squashfs = Squashfs::open(content).map_err(failed)?;
    let Some(top) = squashfs.find(folder).map_err(failed)? else { return Ok(()) };
    let mut found = Vec::new();
    let walked = squashfs.walk(&top, &mut |path, node| {
        found.push((format!("{folder}/{path}"), node.clone()));
        Ok(())
    });
    walked.map_err(failed)?;
    for (path, node) in found {
        match node.kind {
            squashfs::NodeKind::Folder => put(&path, ModuleEntry::Folder)?,
            squashfs::NodeKind::File => {
                put(&path, ModuleEntry::File(&mut |out| squashfs.copy(&node, LONGEST, out).map_err(failed)))?;
            }
            squashfs::NodeKind::Link(_) | squashfs::NodeKind::Special(_) => {}
        }
    }
    Ok(())
}
