//! The boot image of a lab's virtual machine: a kernel, and an initramfs with the modules that a fabric needs.
//!
//! [`build_image`] takes it from unpacked Debian packages. The initramfs mounts the host's file system below a tmpfs overlay:
//! all files can be read and written, and writes are lost when the virtual machine ends.

use std::collections::BTreeSet;
use std::io::{self, Read as _};

use ichor_image::media::Content;
use ichor_image::media::cpio;
use ichor_image::oci::{FileTree, TreeEntry, decompress};

/// The Debian suite of the packages.
pub const SUITE: &str = "trixie";

/// The package that depends on the newest kernel.
pub const KERNEL: &str = "linux-image-amd64";

/// The package with the one program of the initramfs.
pub const BUSYBOX: &str = "busybox-static";

/// Modules for links of a fabric, and for mounting the host's file system.
const MODULES: [&str; 9] =
    ["virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay", "vrf", "dummy", "veth", "bridge"];

/// The folder of a package with the modules, in a subfolder per kernel release.
const FOLDER: &str = "usr/lib/modules";

/// The size limit of an unpacked module.
const MAX_MODULE_SIZE: u64 = 64 << 20;

/// The init program. Its arguments are the command to run on the host's file system. When the command ends, the machine is
/// reset, which ends qemu. The shell stays PID 1 and reaps orphans.
const INIT: &str = r#"#!/bin/busybox sh
busybox=/bin/busybox
for module in /modules/*; do
    $busybox insmod "$module"
done
$busybox mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=262144,cache=loose root /lower
$busybox mount -t tmpfs -o mode=755 upper /upper
$busybox mkdir /upper/files /upper/work
$busybox mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /machine
$busybox mount -t devtmpfs dev /machine/dev
$busybox mkdir /machine/dev/pts /machine/dev/shm
$busybox mount -t devpts -o gid=5,mode=620,ptmxmode=666 pts /machine/dev/pts
$busybox mount -t tmpfs -o mode=1777 shm /machine/dev/shm
for link in fd:fd fd/0:stdin fd/1:stdout fd/2:stderr; do
    $busybox ln -s "/proc/self/${link%:*}" "/machine/dev/${link#*:}"
done
$busybox mount -t proc proc /machine/proc
$busybox mount -t sysfs sysfs /machine/sys
# Hide the state of processes on the host.
$busybox mount -t tmpfs -o mode=755 run /machine/run
$busybox mkdir -p /machine/run/ichor/vm
$busybox mount --move /upper /machine/run/ichor/vm
$busybox ip link set lo up
$busybox hostname lab
exec $busybox switch_root /machine /bin/sh -c '"$@"; echo b >/proc/sysrq-trigger; sleep 60' first "$@"
"#;

/// The folder inside the machine with all written files, under their own paths.
pub const WRITTEN_FILES: &str = "/run/ichor/vm/files";

/// A kernel and its initramfs.
#[derive(Clone, Debug)]
pub struct VmImage {
    /// The kernel.
    pub kernel: Content,
    /// The initramfs.
    pub initramfs: Content,
}

/// Why the image cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum VmImageError {
    /// The packages lack a file.
    #[error("the packages {KERNEL} and {BUSYBOX} have no {0}")]
    Missing(String),
    /// A module cannot be unpacked.
    #[error("cannot unpack the kernel's module {name}")]
    Module {
        /// Its name.
        name: String,
        /// The cause.
        source: io::Error,
    },
    /// The initramfs cannot be packed.
    #[error("cannot pack the initramfs")]
    Pack(#[from] cpio::CpioWriteError),
}

/// All inputs of an image except the packages: if it changes, the image must be built again.
pub fn recipe() -> String {
    [SUITE, KERNEL, BUSYBOX].into_iter().chain(MODULES).chain([INIT]).collect::<Vec<_>>().join("\n")
}

/// Builds the image from unpacked packages.
pub fn build_image(packages: &FileTree) -> Result<VmImage, VmImageError> {
    let missing = |what: &str| VmImageError::Missing(what.to_owned());
    let kernel = packages.iter().find(|(path, _)| path.starts_with("boot/vmlinuz-"));
    let kernel = kernel.and_then(|(path, _)| packages.file(path)).ok_or_else(|| missing("kernel"))?.clone();
    let busybox = packages.read("usr/bin/busybox").ok_or_else(|| missing("busybox"))?;
    let mut root = FileTree::default();
    for folder in ["lower", "machine", "upper"] {
        root.put(folder, TreeEntry::folder());
    }
    root.put("bin/busybox", TreeEntry::file(0o755, busybox.to_vec()));
    root.put("init", TreeEntry::file(0o755, INIT.as_bytes()));
    for (nth, (name, bytes)) in KernelModules::find(packages)?.load_order()?.into_iter().enumerate() {
        root.put(&format!("modules/{nth:03}-{name}.ko"), TreeEntry::file(0o644, bytes));
    }
    Ok(VmImage { kernel, initramfs: cpio::write(&root)? })
}

/// The modules of a package.
struct KernelModules<'r> {
    packages: &'r FileTree,
    /// The folder of the kernel.
    folder: String,
    /// Modules that are built into the kernel.
    built_in: BTreeSet<String>,
}

impl<'r> KernelModules<'r> {
    fn find(packages: &'r FileTree) -> Result<Self, VmImageError> {
        let list = packages.below(FOLDER).find(|(path, _)| path.ends_with("/modules.builtin"));
        let (list, entry) = list.ok_or_else(|| VmImageError::Missing("list of modules".to_owned()))?;
        let names = String::from_utf8_lossy(entry.memory().unwrap_or_default());
        let built_in = names.lines().filter_map(module_name).collect();
        let folder = list.trim_end_matches("/modules.builtin").to_owned();
        Ok(Self { packages, folder, built_in })
    }

    /// The modules to load, each after its dependencies.
    fn load_order(&self) -> Result<Vec<(String, Vec<u8>)>, VmImageError> {
        let (mut seen, mut loaded) = (self.built_in.clone(), Vec::new());
        for wanted in MODULES {
            self.add(wanted, &mut seen, &mut loaded)?;
        }
        Ok(loaded)
    }

    fn add(
        &self,
        wanted: &str,
        seen: &mut BTreeSet<String>,
        loaded: &mut Vec<(String, Vec<u8>)>,
    ) -> Result<(), VmImageError> {
        if !seen.insert(wanted.to_owned()) {
            return Ok(());
        }
        let file =
            self.packages.below(&self.folder).find(|(path, _)| module_name(path).as_deref() == Some(wanted));
        let (_, entry) = file.ok_or_else(|| VmImageError::Missing(format!("module {wanted}")))?;
        let mut bytes = Vec::new();
        let unpacked = decompress(entry.memory().unwrap_or_default())
            .and_then(|module| module.take(MAX_MODULE_SIZE).read_to_end(&mut bytes));
        unpacked.map_err(|source| VmImageError::Module { name: wanted.to_owned(), source })?;
        for needed in dependencies(&bytes) {
            self.add(&needed, seen, loaded)?;
        }
        loaded.push((wanted.to_owned(), bytes));
        Ok(())
    }
}

/// The kernel's name of a module, from its file such as `kernel/net/9p/9p.ko.xz`.
fn module_name(path: &str) -> Option<String> {
    let (_, file) = path.rsplit_once('/')?;
    let (name, ending) = file.split_once(".ko")?;
    ["", ".xz", ".gz", ".zst"].contains(&ending).then(|| name.replace('-', "_"))
}

/// The dependencies of a module, from the zero-terminated entry `depends=` in its `.modinfo`. A package has no `modules.dep`,
/// which is generated on installation.
fn dependencies(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|bytes| bytes == KEY) else { return Vec::new() };
    let line = module[at + KEY.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(line).replace('-', "_");
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_image::media::cpio::CpioReader;

    const AT: &str = "usr/lib/modules/6.12/kernel";

    fn packages() -> FileTree {
        let mut root = FileTree::default();
        let mut put = |path: &str, bytes: &[u8]| root.put(path, TreeEntry::file(0o644, bytes.to_vec()));
        put("boot/vmlinuz-6.12", b"kernel");
        put("usr/bin/busybox", b"busybox");
        put(
            "usr/lib/modules/6.12/modules.builtin",
            b"kernel/drivers/virtio/virtio_pci.ko\nkernel/drivers/char/virtio_console.ko\n",
        );
        for module in ["9p/9pnet.ko", "overlay.ko", "dummy.ko", "veth.ko", "llc.ko"] {
            put(&format!("{AT}/{module}"), b"ELF\0license=GPL\0depends=\0");
        }
        put(&format!("{AT}/9p/9pnet_virtio.ko"), b"ELF\0depends=9pnet\0");
        put(&format!("{AT}/9p/9p.ko"), b"ELF\0depends=9pnet,netfs\0");
        put(&format!("{AT}/netfs.ko"), b"ELF");
        put(&format!("{AT}/vrf.ko"), &zstd::bulk::compress(b"ELF\0depends=\0", 1).unwrap());
        put(&format!("{AT}/bridge.ko"), b"ELF\0depends=s-tp,llc\0");
        put(&format!("{AT}/s-tp.ko"), b"ELF\0depends=llc\0");
        root
    }

    fn entries(image: &VmImage) -> Vec<String> {
        let bytes = image.initramfs.read().unwrap();
        let mut reader = CpioReader::new(&bytes[..]);
        std::iter::from_fn(|| reader.entry().unwrap()).map(|entry| entry.name).collect()
    }

    #[test]
    fn modules_follow_their_dependencies_and_built_in_ones_are_omitted() {
        let image = build_image(&packages()).unwrap();

        let modules: Vec<_> = entries(&image)
            .into_iter()
            .filter_map(|name| name.strip_prefix("modules/").map(str::to_owned))
            .collect();
        assert_eq!(
            modules,
            [
                "000-9pnet.ko",
                "001-9pnet_virtio.ko",
                "002-netfs.ko",
                "003-9p.ko",
                "004-overlay.ko",
                "005-vrf.ko",
                "006-dummy.ko",
                "007-veth.ko",
                "008-llc.ko",
                "009-s_tp.ko",
                "010-bridge.ko"
            ]
        );
    }

    #[test]
    fn a_kernel_without_a_module_is_rejected() {
        let mut packages = packages();
        packages.remove(&format!("{AT}/netfs.ko"));

        let error = build_image(&packages).unwrap_err().to_string();

        assert_eq!(error, "the packages linux-image-amd64 and busybox-static have no module netfs");
    }
}
