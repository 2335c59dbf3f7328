//! Where the daemon of an extension is taken from.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use ichor_image::extension::{Recipe, debian};
use ichor_image::oci::{Image, MOST_UNPACKED, Memory, Root};
use ichor_values::Arch;

use super::RegistryAccess;
use crate::apt::Apt;
use crate::oci::{self, Place};
use crate::progress::Progress;

/// What to do without apt.
const WITHOUT_APT: &str = "give them with --packages, or an image with --from";

/// Where the daemon is taken from, as it is written
#[derive(Debug, clap::Args)]
pub(super) struct Given {
    /// Image the daemon is taken from: in a registry, an OCI layout or an OCI archive; quay.io/frrouting/frr:10.5.1 for FRR when left
    /// out
    #[arg(long, value_name = "IMAGE", group = "input")]
    from: Option<String>,
    /// Take the daemon from the packages of this Debian suite, fetched with apt
    #[arg(long, value_name = "SUITE", group = "input")]
    debian: Option<String>,
    /// Take the daemon from these Debian packages: files, or folders of them
    #[arg(long, value_name = "PATH", num_args = 1.., group = "input")]
    packages: Vec<PathBuf>,
    #[command(flatten)]
    registry: RegistryAccess,
}

/// A root file system, and where it is from.
pub(super) struct Input {
    pub root: Root,
    pub origin: String,
}

impl Given {
    /// The root file system for machines of an architecture.
    pub(super) fn read(&self, recipe: &Recipe, arch: Arch) -> anyhow::Result<Input> {
        if let Some(suite) = &self.debian {
            let folder = tempfile::tempdir().context("cannot make a folder for packages")?;
            let files = {
                let _progress = Progress::start("fetching packages");
                let apt = Apt::open(folder.path(), suite, arch, WITHOUT_APT)?;
                apt.fetch_with_needs(recipe.package)?
            };
            return unpack(&files, arch, format!("Debian {suite}"));
        }
        if !self.packages.is_empty() {
            return unpack(&files(&self.packages)?, arch, "the packages that were given".to_owned());
        }
        let Some(from) = self.from.as_deref().or(recipe.image) else {
            bail!(
                "nothing says where {} is to be taken from; give an image with --from, or a suite with --debian",
                recipe.product
            );
        };
        self.pull(from, arch).with_context(|| format!("cannot read the image {from}"))
    }

    fn pull(&self, from: &str, arch: Arch) -> anyhow::Result<Input> {
        let place = Place::parse(from)?;
        let mut source = place.open(self.registry.insecure)?;
        let image = Image::find(&mut *source, arch)?;
        let progress = Progress::count("reading layers", image.layers());
        // Programs are looked into, and are in memory for that.
        let root = image.unpack(&mut *source, &mut Memory::default(), &|| progress.step())?;
        Ok(Input { root, origin: place.origin(&image.digest) })
    }
}

/// The packages among files and in folders.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
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
            bail!("there is no .deb in {}", path.display());
        }
    }
    // What lies in two packages comes from the same one everywhere.
    files.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    Ok(files)
}

fn unpack(files: &[PathBuf], arch: Arch, origin: String) -> anyhow::Result<Input> {
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
    Ok(Input { root, origin })
}
