//! Kernel and initramfs of the virtual machine: built once and cached.
//!
//! They contain the current Debian kernel at the time of the build, and are rebuilt when their recipe changes or the
//! cache is deleted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ichor_core::lab::vm_image::{self, BUSYBOX, KERNEL, SUITE};
use ichor_image::extension::debian::{self, DebError};
use ichor_system::file::{self, ReplaceError, StagingFolder};
use ichor_system::lock::{LockError, LockFile};
use ichor_talos::digest;
use ichor_values::Arch;
use sha2::{Digest as _, Sha256};

use crate::apt::{Apt, AptError};
use crate::cache;
use crate::oci::{self, ImageOpenError};
use crate::progress::Progress;

/// Errors of providing the boot files.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BootFilesError {
    #[error("the virtual machine of a lab requires an amd64 host; run the lab as root on a kernel with VRFs")]
    OtherMachine,
    #[error(transparent)]
    NoHome(#[from] cache::NoHomeError),
    #[error("cannot build the boot files of the lab's virtual machine")]
    Unmade(#[source] BootFilesBuildError),
}

/// Errors of building the boot files.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BootFilesBuildError {
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} has been locked for an hour", .0.display())]
    Busy(PathBuf),
    #[error(transparent)]
    Replace(#[from] ReplaceError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Apt(#[from] AptError),
    #[error(transparent)]
    Package(#[from] ImageOpenError),
    #[error("cannot unpack Debian's packages")]
    Unpack(#[source] DebError),
    #[error(transparent)]
    Kit(#[from] vm_image::VmImageError),
}

impl BootFilesBuildError {
    fn write(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}

/// Hint for machines without apt.
const WITHOUT_APT: &str = "run the lab as root on a kernel with VRFs";

/// Time limit for a build by another process: packages may come over a slow link.
const LOCK_TIMEOUT: Duration = Duration::from_hours(1);

/// Size limit of a package.
const MAX_PACKAGE: u64 = 1 << 30;

/// Paths of the boot files.
#[derive(Clone, Debug)]
pub(super) struct VmBootFiles {
    pub kernel: PathBuf,
    pub initramfs: PathBuf,
}

impl VmBootFiles {
    fn in_folder(folder: &Path) -> Self {
        Self { kernel: folder.join("kernel"), initramfs: folder.join("initramfs") }
    }

    /// Returns the boot files, and builds them if they are missing.
    pub(super) fn ensure() -> Result<Self, BootFilesError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(BootFilesError::OtherMachine);
        }
        let name = digest::hex(&Sha256::digest(vm_image::recipe()));
        let cache = cache::user_cache()?.join("lab");
        let folder = cache.join(format!("kernel-{}", &name[..16]));
        if !folder.is_dir() {
            build(&cache, &folder).map_err(BootFilesError::Unmade)?;
        }
        Ok(Self::in_folder(&folder))
    }
}

/// Builds the files in a staging folder. A concurrent build waits and then uses them.
fn build(cache: &Path, folder: &Path) -> Result<(), BootFilesBuildError> {
    fs::create_dir_all(cache).map_err(BootFilesBuildError::write(cache))?;
    let lock = LockFile::wait(&cache.join("lock"), LOCK_TIMEOUT)?;
    let _lock = lock.ok_or_else(|| BootFilesBuildError::Busy(cache.to_owned()))?;
    if folder.is_dir() {
        return Ok(());
    }
    let staging = StagingFolder::at(&cache.join("new"))?;
    build_in(&staging)?;
    Ok(staging.place("kit", folder)?)
}

fn build_in(staging: &StagingFolder) -> Result<(), BootFilesBuildError> {
    let packages = {
        let _progress = Progress::start("downloading Debian's kernel for the lab's virtual machine");
        let folder = staging.make("packages")?;
        let apt = Apt::open(&folder, SUITE, Arch::Amd64, WITHOUT_APT)?;
        let kernel = apt.first_dependency(KERNEL)?;
        apt.download(&[&kernel, BUSYBOX])?
    };
    let _progress = Progress::start("building the boot files of the lab's virtual machine");
    let packages: Vec<_> =
        packages.iter().map(|path| oci::read(path, MAX_PACKAGE)).collect::<Result<_, _>>()?;
    let root = debian::unpack(packages.iter().map(Vec::as_slice), Arch::Amd64)
        .map_err(|(_, error)| BootFilesBuildError::Unpack(error))?;
    let made = vm_image::build_image(&root)?;
    let kit = VmBootFiles::in_folder(&staging.make("kit")?);
    for (path, content) in [(&kit.kernel, &made.kernel), (&kit.initramfs, &made.initramfs)] {
        file::replace_by(path, 0o644, |file| content.copy_to(file))?;
    }
    Ok(())
}
