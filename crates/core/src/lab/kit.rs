//! What the virtual machine of a lab boots: a kernel, and an initramfs with the modules a fabric needs.
//!
//! [`make`] takes it out of Debian's packages, unpacked. The initramfs puts the file system of the machine it runs on below one in memory:
//! everything there can be read and written, and what is written is gone with the virtual machine.

use std::collections::BTreeSet;
use std::io::{self, Read as _};

use ichor_image::media::Content;
use ichor_image::media::cpio;
use ichor_image::oci::{FileTree, TreeEntry, decompress};

/// The suite of Debian's that it is taken from.
pub const SUITE: &str = "trixie";

/// The package that depends on the newest kernel.
pub const KERNEL: &str = "linux-image-amd64";

/// The package with the one program of the initramfs.
pub const BUSYBOX: &str = "busybox-static";

/// What a fabric is built with, and what brings this machine's file system inside.
const MODULES: [&str; 9] =
    ["virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay", "vrf", "dummy", "veth", "bridge"];

/// Where modules are in a package, in a folder of their kernel.
const FOLDER: &str = "usr/lib/modules";

/// No module is longer.
const LONGEST: u64 = 64 << 20;

/// The first program. Its arguments are the command that then runs on the file system of the machine; the machine is reset when it ends,
/// which is the end of qemu, and never before: the shell takes in whoever lost its parent.
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
# What runs on the machine outside is not here.
$busybox mount -t tmpfs -o mode=755 run /machine/run
$busybox mkdir -p /machine/run/ichor/vm
$busybox mount --move /upper /machine/run/ichor/vm
$busybox ip link set lo up
$busybox hostname lab
exec $busybox switch_root /machine /bin/sh -c '"$@"; echo b >/proc/sysrq-trigger; sleep 60' first "$@"
"#;

/// Where the folder is, inside, with whatever was written there, under its own path.
pub const WRITTEN: &str = "/run/ichor/vm/files";

/// A kernel and its initramfs.
#[derive(Clone, Debug)]
pub struct VmImage {
    /// The kernel.
    pub kernel: Content,
    /// The initramfs.
    pub initramfs: Content,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum VmImageError {
    /// The packages are others.
    #[error("the packages {KERNEL} and {BUSYBOX} have no {0}")]
    Missing(String),
    /// A module is not what it should be.
    #[error("cannot unpack the kernel's module {name}")]
    Module {
        /// Its name.
        name: String,
        /// Why not.
        source: io::Error,
    },
    /// It cannot be packed.
    #[error("cannot pack the initramfs")]
    Pack(#[from] cpio::CpioWriteError),
}

/// Everything that a kit follows from, but for the packages: when this is another, the kit is.
pub fn recipe() -> String {
    [SUITE, KERNEL, BUSYBOX].into_iter().chain(MODULES).chain([INIT]).collect::<Vec<_>>().join("\n")
}

/// Makes it of packages that were unpacked.
pub fn make(packages: &FileTree) -> Result<VmImage, VmImageError> {
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
    for (nth, (name, bytes)) in KernelModules::of(packages)?.ordered()?.into_iter().enumerate() {
        root.put(&format!("modules/{nth:03}-{name}.ko"), TreeEntry::file(0o644, bytes));
    }
    Ok(VmImage { kernel, initramfs: cpio::write(&root)? })
}

/// The modules of a package.
struct KernelModules<'r> {
    packages: &'r FileTree,
    /// The folder of the kernel.
    folder: String,
    /// Those that are part of the kernel.
    built_in: BTreeSet<String>,
}

impl<'r> KernelModules<'r> {
    fn of(packages: &'r FileTree) -> Result<Self, VmImageError> {
        let list = packages.below(FOLDER).find(|(path, _)| path.ends_with("/modules.builtin"));
        let (list, entry) = list.ok_or_else(|| VmImageError::Missing("list of modules".to_owned()))?;
        let names = String::from_utf8_lossy(entry.memory().unwrap_or_default());
        let built_in = names.lines().filter_map(name).collect();
        let folder = list.trim_end_matches("/modules.builtin").to_owned();
        Ok(Self { packages, folder, built_in })
    }

    /// What must be loaded, each after those it needs.
    fn ordered(&self) -> Result<Vec<(String, Vec<u8>)>, VmImageError> {
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
        let file = self.packages.below(&self.folder).find(|(path, _)| name(path).as_deref() == Some(wanted));
        let (_, entry) = file.ok_or_else(|| VmImageError::Missing(format!("module {wanted}")))?;
        let mut bytes = Vec::new();
        let unpacked = decompress(entry.memory().unwrap_or_default())
            .and_then(|module| module.take(LONGEST).read_to_end(&mut bytes));
        unpacked.map_err(|source| VmImageError::Module { name: wanted.to_owned(), source })?;
        for needed in needs(&bytes) {
            self.add(&needed, seen, loaded)?;
        }
        loaded.push((wanted.to_owned(), bytes));
        Ok(())
    }
}

/// The name of a module, as the kernel says it, by its file: `kernel/net/9p/9p.ko.xz`.
fn name(path: &str) -> Option<String> {
    let (_, file) = path.rsplit_once('/')?;
    let (name, ending) = file.split_once(".ko")?;
    ["", ".xz", ".gz", ".zst"].contains(&ending).then(|| name.replace('-', "_"))
}

/// The modules that a module needs: its line `depends=` of those that the kernel's build puts into it, each with a zero behind it.
/// The list of all modules, `modules.dep`, is made where a package is installed, and not in it.
fn needs(module: &[u8]) -> Vec<String> {
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

    fn entries(kit: &VmImage) -> Vec<String> {
        let bytes = kit.initramfs.read().unwrap();
        let mut reader = CpioReader::new(&bytes[..]);
        std::iter::from_fn(|| reader.entry().unwrap()).map(|entry| entry.name).collect()
    }

    #[test]
    fn modules_come_after_those_they_need_and_what_is_built_in_does_not_come() {
        let kit = make(&packages()).unwrap();

        let modules: Vec<_> = entries(&kit)
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
    fn a_kernel_without_a_module_is_refused() {
        let mut packages = packages();
        packages.remove(&format!("{AT}/netfs.ko"));

        let refused = make(&packages).unwrap_err().to_string();

        assert_eq!(refused, "the packages linux-image-amd64 and busybox-static have no module netfs");
    }
}
