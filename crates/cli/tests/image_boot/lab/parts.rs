//! The bootable files of a Talos release, with the simulator instead of Talos.
//!
//! Names and formats are those of Talos' releases: `initramfs-amd64.xz` is compressed with zstd, as in releases.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ichor_simulator::boot::Payload;

use super::{done, imager, kept};
use crate::common::target;
use ichor_testbed::lab::script_output;

/// The simulated release.
pub const TALOS: &str = "v1.13.9";

/// Kernel command line of Talos' imager for the platform metal.
const LINE: &str = "talos.platform=metal console=tty0 init_on_alloc=1 slab_nomerge pti=on consoleblank=0 \
    nvme_core.io_timeout=4294967295 printk.devkmsg=on selinux=1 module.sig_enforce=1 proc_mem.force_override=never";

/// The files of a release.
pub struct Parts {
    folder: PathBuf,
}

impl Parts {
    /// The files with the current simulator.
    pub fn made() -> Self {
        let program = target().join("debug/ichor-simulator");
        let program = fs::read(&program)
            .unwrap_or_else(|error| panic!("{}: {error}; make it with `make simulator`", program.display()));
        let lab = script_output("scripts/lab-simulator", "simulator");
        let stamp = fs::read(lab.join("stamp")).unwrap();
        let made_by = [&include_bytes!("parts.rs")[..], include_bytes!("imager.rs")].concat();
        let folder = kept("parts", &[&program, &stamp, &made_by], |folder| make(&program, &lab, folder));
        Self { folder }
    }

    /// Path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        assert!(path.exists(), "no {name} in {}", self.folder.display());
        path
    }
}

fn make(program: &[u8], lab: &Path, folder: &Path) {
    fs::copy(lab.join("kernel"), folder.join("vmlinuz-amd64")).unwrap();
    let efi = script_output("scripts/lab-efi", "efi");
    fs::copy(efi.join("linuxx64.efi.stub"), folder.join("systemd-stub.efi")).unwrap();
    fs::copy(efi.join("systemd-bootx64.efi"), folder.join("systemd-boot.efi")).unwrap();
    initramfs(program, lab, folder);
    let parts = Parts { folder: folder.to_owned() };
    let initramfs = folder.join("initramfs-amd64.xz");
    imager::uki(&parts, &initramfs, LINE, &folder.join("metal-amd64-uki.efi"));
    imager::iso(&parts, &initramfs, LINE, &folder.join("metal-amd64.iso"));
    installer_base(folder);
}

/// The base image of an installer: one layer with a placeholder program.
fn installer_base(folder: &Path) {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir_all(scratch.path().join("root/usr/bin")).unwrap();
    fs::write(scratch.path().join("root/usr/bin/installer"), "a simulator installs nothing\n").unwrap();
    done(scratch.path(), "tar", &["-C", "root", "-cf", "layer.tar", "--owner=0", "--group=0", "usr"]);
    let layer = scratch.path().join("layer.tar");
    let image = format!("installer-base:{TALOS}");
    let umoci = |words: &[&str]| done(folder, "umoci", words);
    umoci(&["init", "--layout", "installer-base"]);
    umoci(&["new", "--image", &image]);
    umoci(&["raw", "add-layer", "--image", &image, layer.to_str().unwrap()]);
    let (version, label) = (format!("VERSION={TALOS}"), format!("alpha.talos.dev/version={TALOS}"));
    let words = ["--config.entrypoint", "/bin/installer", "--config.env", &version, "--config.label", &label];
    umoci(&[&["config", "--image", &image, "--os", "linux", "--architecture", "amd64"][..], &words].concat());
    umoci(&["gc", "--layout", "installer-base"]);
}

/// `.`, `init` and `rootfs.sqsh`, in that order.
fn initramfs(program: &[u8], lab: &Path, folder: &Path) {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("root");
    done(folder, "cp", &["-a", lab.join("rootfs").to_str().unwrap(), root.to_str().unwrap()]);
    fs::write(root.join("usr/sbin/init"), program).unwrap();
    fs::set_permissions(root.join("usr/sbin/init"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(
        root.join("etc/os-release"),
        format!("NAME=\"Talos\"\nID=talos\nVERSION_ID={TALOS}\nPRETTY_NAME=\"Talos ({TALOS})\"\nVARIANT=\"simulator\"\n"),
    )
    .unwrap();
    let content = scratch.path().join("content");
    fs::create_dir(&content).unwrap();
    let files = fs::read(lab.join("early.tar")).unwrap();
    fs::write(content.join("init"), Payload { program, files: &files }.pack()).unwrap();
    fs::set_permissions(content.join("init"), fs::Permissions::from_mode(0o755)).unwrap();
    let line = "mksquashfs root content/rootfs.sqsh -all-root -noappend -no-progress -quiet -comp zstd -Xcompression-level 18 && \
        cd content && find . | sort | cpio --quiet -H newc --create --reproducible -R +0:+0 | zstd -q -c -T0 -18 >../initramfs";
    done(scratch.path(), "sh", &["-ec", line]);
    fs::copy(scratch.path().join("initramfs"), folder.join("initramfs-amd64.xz")).unwrap();
}
