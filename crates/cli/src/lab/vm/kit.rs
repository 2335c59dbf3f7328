//! The kernel and the initramfs of the virtual machine: made once, and kept in the user's cache.
//!
//! They are of Debian's newest kernel when they are made, and stay until what they are made of is another in this program, or until
//! somebody removes them.

use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use ichor_core::lab::kit::{self, BUSYBOX, KERNEL, SUITE};
use ichor_image::extension::debian::{self, DebError};
use ichor_values::Arch;
use ichor_values::digest;
use sha2::{Digest as _, Sha256};

use crate::apt::Apt;
use crate::progress::Progress;
use crate::{cache, oci};

/// Why there is nothing for a lab's virtual machine to boot.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KitError {
    #[error(
        "the virtual machine of a lab has a kernel for amd64, and this machine is another; bring the lab up as root, on a kernel \
         with VRFs"
    )]
    OtherMachine,
    #[error(transparent)]
    NoHome(#[from] cache::NoHome),
    #[error("cannot make what the lab's virtual machine boots")]
    Unmade(#[source] MakeError),
}

/// Why what a virtual machine boots cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MakeError {
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// Packages cannot be fetched or read.
    #[error(transparent)]
    Packages(Box<dyn Error + Send + Sync>),
    #[error("cannot unpack Debian's packages")]
    Unpack(#[source] DebError),
    #[error(transparent)]
    Kit(#[from] kit::KitError),
}

impl MakeError {
    fn write(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Write { path: path.to_owned(), source }
    }

    fn packages(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Packages(error.into())
    }
}

/// What to do without apt.
const WITHOUT_APT: &str = "bring the lab up as root, on a kernel with VRFs";

/// No package is larger.
const LARGEST: u64 = 1 << 30;

/// Where they are.
#[derive(Clone, Debug)]
pub(super) struct Kit {
    pub kernel: PathBuf,
    pub initramfs: PathBuf,
}

impl Kit {
    fn at(folder: &Path) -> Self {
        Self { kernel: folder.join("kernel"), initramfs: folder.join("initramfs") }
    }

    /// The kit, made if it is not there.
    pub(super) fn ready() -> Result<Self, KitError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(KitError::OtherMachine);
        }
        let name = digest::hex(&Sha256::digest(kit::recipe()));
        let cache = cache::user()?.join("lab");
        let folder = cache.join(format!("kernel-{}", &name[..16]));
        if !folder.is_dir() {
            make(&cache, &folder).map_err(KitError::Unmade)?;
        }
        Ok(Self::at(&folder))
    }
}

/// Makes it in a folder beside its own. Whoever comes second waits, and finds it.
fn make(cache: &Path, folder: &Path) -> Result<(), MakeError> {
    let failed = MakeError::write(cache);
    fs::create_dir_all(cache).map_err(failed)?;
    let lock = File::create(cache.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    if folder.is_dir() {
        return Ok(());
    }
    // What is left of one that was interrupted is there under that name too.
    let new = cache.join("new");
    if new.exists() {
        fs::remove_dir_all(&new).map_err(failed)?;
    }
    fs::create_dir(&new).map_err(failed)?;
    let made = fill(&new).and_then(|()| fs::rename(new.join("kit"), folder).map_err(failed));
    let _ = fs::remove_dir_all(&new);
    made
}

fn fill(new: &Path) -> Result<(), MakeError> {
    let packages = {
        let _progress = Progress::start("fetching Debian's kernel for the lab's virtual machine");
        let apt = Apt::open(new, SUITE, Arch::Amd64, WITHOUT_APT).map_err(MakeError::packages)?;
        let kernel = apt.first_need(KERNEL).map_err(MakeError::packages)?;
        apt.fetch(&[&kernel, BUSYBOX]).map_err(MakeError::packages)?
    };
    let _progress = Progress::start("making what the lab's virtual machine boots");
    let read = |path| oci::read(path, LARGEST).map_err(MakeError::packages);
    let packages: Vec<_> = packages.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let root = debian::unpack(packages.iter().map(Vec::as_slice), Arch::Amd64)
        .map_err(|(_, error)| MakeError::Unpack(error))?;
    let made = kit::make(&root)?;
    let folder = new.join("kit");
    fs::create_dir(&folder).map_err(MakeError::write(&folder))?;
    let kit = Kit::at(&folder);
    for (path, content) in [(&kit.kernel, &made.kernel), (&kit.initramfs, &made.initramfs)] {
        let written = File::create(path).and_then(|mut file| {
            content.copy_to(&mut file)?;
            file.sync_all()
        });
        written.map_err(MakeError::write(path))?;
    }
    Ok(())
}
