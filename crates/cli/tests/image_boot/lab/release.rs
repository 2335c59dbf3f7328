//! The bootable files of a real Talos release, which `scripts/lab-parts` builds.
//!
//! Names and formats are those of Talos' releases: `initramfs-amd64.xz` is compressed with zstd, as in releases. ISO and UKI are
//! made by [`imager`].

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{imager, kept};
use ichor_testbed::lab::script_output;
use ichor_testbed::parts;

/// Kernel command line of Talos' imager for the platform metal.
const LINE: &str = "talos.platform=metal console=tty0 init_on_alloc=1 slab_nomerge pti=on consoleblank=0 \
    nvme_core.io_timeout=4294967295 printk.devkmsg=on selinux=1 module.sig_enforce=1 proc_mem.force_override=never";

/// Talos 1.13, with which most images are built.
pub const TALOS_1_13: TalosRelease = TalosRelease { version: "v1.13.9", part: "talos-1.13" };

/// The newest Talos.
pub const TALOS_1_14: TalosRelease = TalosRelease { version: "v1.14.1", part: "talos-1.14" };

/// A release and its part.
#[derive(Clone, Copy, Debug)]
pub struct TalosRelease {
    pub version: &'static str,
    part: &'static str,
}

impl TalosRelease {
    /// The folder with its files; created once.
    pub fn files(self) -> ReleaseFiles {
        let part = parts::path(self.part);
        let made_by = [&include_bytes!("release.rs")[..], include_bytes!("imager.rs")].concat();
        let folder = kept(self.part, &[part.to_str().unwrap().as_bytes(), &made_by], |folder| {
            make(self.version, &part, folder);
        });
        ReleaseFiles { folder }
    }
}

/// The files of a release.
pub struct ReleaseFiles {
    folder: PathBuf,
}

impl ReleaseFiles {
    /// Path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        assert!(path.exists(), "no {name} in {}", self.folder.display());
        path
    }
}

fn make(version: &str, part: &Path, folder: &Path) {
    let link = |from: PathBuf, name: &str| symlink(from, folder.join(name)).unwrap();
    link(part.join("vmlinuz"), "vmlinuz-amd64");
    link(part.join("initramfs.xz"), "initramfs-amd64.xz");
    link(part.join("installer-base"), "installer-base");
    let efi = script_output("scripts/lab-efi", "efi");
    fs::copy(efi.join("linuxx64.efi.stub"), folder.join("systemd-stub.efi")).unwrap();
    fs::copy(efi.join("systemd-bootx64.efi"), folder.join("systemd-boot.efi")).unwrap();
    let files = ReleaseFiles { folder: folder.to_owned() };
    let initramfs = files.path("initramfs-amd64.xz");
    imager::uki(&files, version, &initramfs, LINE, &folder.join("metal-amd64-uki.efi"));
    imager::iso(&files, version, &initramfs, LINE, &folder.join("metal-amd64.iso"));
}
