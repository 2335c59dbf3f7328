//! The source of the BGP daemon of an extension: an image, or Debian packages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use ichor_image::extension::{DaemonRecipe, debian};
use ichor_image::oci::{FileTree, MOST_UNPACKED, MemoryStore, OciImage};
use ichor_values::Arch;

use super::RegistryAccess;
use crate::apt::Apt;
use crate::oci::{self, ImageLocation};
use crate::progress::Progress;

/// The hint if apt is missing.
const WITHOUT_APT: &str = "pass packages with --packages, or an image with --from";

/// The source of the BGP daemon
#[derive(Debug, clap::Args)]
pub(super) struct DaemonSource {
    /// Take the daemon from this image: a reference, OCI layout or OCI archive
    ///
    /// [default: quay.io/frrouting/frr:10.5.1 for FRR]
    #[arg(long, value_name = "IMAGE", group = "input")]
    from: Option<String>,
    /// Take the daemon from packages of this Debian suite, downloaded with apt
    #[arg(long, value_name = "SUITE", group = "input")]
    debian: Option<String>,
    /// Take the daemon from these Debian packages or folders of packages
    #[arg(long, value_name = "PATH", num_args = 1.., group = "input")]
    packages: Vec<PathBuf>,
    #[command(flatten)]
    registry: RegistryAccess,
}

/// The root file system with the daemon, and its origin.
pub(super) struct DaemonRoot {
    pub root: FileTree,
    pub origin: String,
}

impl DaemonSource {
    /// Reads the root file system for an architecture.
    pub(super) fn read(&self, recipe: &DaemonRecipe, arch: Arch) -> anyhow::Result<DaemonRoot> {
        if let Some(suite) = &self.debian {
            let folder = tempfile::tempdir().context("cannot create a folder for packages")?;
            let files = {
                let _progress = Progress::start("downloading packages");
                let apt = Apt::open(folder.path(), suite, arch, WITHOUT_APT)?;
                apt.download_with_dependencies(recipe.package)?
            };
            return unpack(&files, arch, format!("Debian {suite}"));
        }
        if !self.packages.is_empty() {
            return unpack(&package_files(&self.packages)?, arch, "the given packages".to_owned());
        }
        let Some(from) = self.from.as_deref().or(recipe.image) else {
            bail!(
                "no source of {}; pass an image with --from, or a Debian suite with --debian",
                recipe.product
            );
        };
        self.pull(from, arch).with_context(|| format!("cannot read the image {from}"))
    }

    fn pull(&self, from: &str, arch: Arch) -> anyhow::Result<DaemonRoot> {
        let place = ImageLocation::parse(from)?;
        let mut source = place.open(self.registry.insecure)?;
        let image = OciImage::find(&mut *source, arch)?;
        let progress = Progress::count("reading layers", image.layers());
        // In memory, because the programs are parsed for their libraries.
        let root = image.unpack(&mut *source, &mut MemoryStore::default(), &|| progress.step())?;
        Ok(DaemonRoot { root, origin: place.source_ref(&image.digest) })
    }
}

/// The packages in a list of files and folders.
fn package_files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let failed = || format!("cannot read {}", path.display());
        let count = files.len();
        for entry in fs::read_dir(path).with_context(failed)? {
            let entry = entry.with_context(failed)?.path();
            if entry.extension().is_some_and(|ending| ending == "deb") {
                files.push(entry);
            }
        }
        if files.len() == count {
            bail!("no .deb files in {}", path.display());
        }
    }
    // Sorted, so that a file in two packages always comes from the same one.
    files.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    Ok(files)
}

fn unpack(files: &[PathBuf], arch: Arch, origin: String) -> anyhow::Result<DaemonRoot> {
    let _progress = Progress::start("unpacking packages");
    let mut left = MOST_UNPACKED;
    let mut read = |path: &PathBuf| -> anyhow::Result<Vec<u8>> {
        let bytes = oci::read(path, left)?;
        left -= bytes.len() as u64;
        Ok(bytes)
    };
    let packages: Vec<_> = files.iter().map(&mut read).collect::<anyhow::Result<_>>()?;
    let root = debian::unpack(packages.iter().map(Vec::as_slice), arch);
    let root = root.map_err(|(nth, error)| {
        let name = files.get(nth).map_or(Path::new("a package"), PathBuf::as_path);
        anyhow!(error).context(format!("cannot use {}", name.display()))
    })?;
    Ok(DaemonRoot { root, origin })
}
