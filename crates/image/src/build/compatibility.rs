//! Whether kernel and initramfs belong together: modules of that kernel, machines of that architecture, and the release that is wanted.

use super::boot_assets::release;
use super::kernel::version;
use super::modules::kernels;
use crate::media::squashfs::{Squashfs, SquashfsNode};
use crate::media::{Content, ImageError};
use ichor_values::Arch;
use ichor_values::TalosVersion;

/// The paths of a root file system's `os-release`.
const RELEASE: [&str; 2] = ["etc/os-release", "usr/lib/os-release"];
const LONGEST_RELEASE: u64 = 64 << 10;

/// Programs that every release has, and the offset of the machine type.
const PROGRAMS: [&str; 3] = ["usr/bin/init", "sbin/init", "usr/bin/containerd"];
const LONGEST_PROGRAM: u64 = 1 << 30;
const ELF: &[u8] = b"\x7fELF";
const MACHINE: usize = 18;

/// Why they do not.
#[derive(Debug, thiserror::Error)]
pub enum CompatibilityError {
    /// The modules are of another kernel.
    #[error(
        "the kernel is {kernel}, but the initramfs has modules for {}; use a kernel and an initramfs of the same release",
        modules.join(", ")
    )]
    Kernel {
        /// The version of the kernel.
        kernel: String,
        /// The kernels that the initramfs has modules for.
        modules: Vec<String>,
    },
    /// Another release.
    #[error("the initramfs is from Talos {is}, not {want}; use assets of one release")]
    Release {
        /// Its release.
        is: String,
        /// The requested release.
        want: String,
    },
    /// Other machines.
    #[error("the initramfs is for {is}, not {want}")]
    Arch {
        /// Its architecture.
        is: &'static str,
        /// The requested architecture.
        want: &'static str,
    },
    /// The root file system could not be read.
    #[error("cannot read the root file system of the initramfs")]
    Read(#[from] ImageError),
}

/// Checks that a kernel matches the root file system of an initramfs, and that one the request. A missing version is accepted.
///
/// Returns the version of the kernel, or that of its modules if the kernel has none; none if neither has one.
pub fn check(
    kernel: &Content,
    root: &Content,
    talos: &TalosVersion,
    arch: Arch,
) -> Result<Option<String>, CompatibilityError> {
    let modules = kernels(root)?;
    let root = Squashfs::open(root)?;
    if let Some(is) = written_release(&root)?.filter(|is| is != talos) {
        return Err(CompatibilityError::Release { is: is.to_string(), want: talos.to_string() });
    }
    if let Some(is) = machine(&root)?.filter(|is| *is != arch) {
        return Err(CompatibilityError::Arch { is: is.word(), want: arch.word() });
    }
    match version(kernel) {
        Some(kernel) if !modules.is_empty() && !modules.contains(&kernel) => {
            Err(CompatibilityError::Kernel { kernel, modules })
        }
        Some(kernel) => Ok(Some(kernel)),
        None => Ok(<[String; 1]>::try_from(modules).ok().map(|[kernel]| kernel)),
    }
}

fn written_release(root: &Squashfs<'_>) -> Result<Option<TalosVersion>, ImageError> {
    for path in RELEASE {
        if let Some(file) = root.find(path)?.filter(SquashfsNode::is_file) {
            let text = root.read(&file, LONGEST_RELEASE)?;
            if let Some(talos) = release(&String::from_utf8_lossy(&text)) {
                return Ok(Some(talos));
            }
        }
    }
    Ok(None)
}

/// The architecture of its programs.
fn machine(root: &Squashfs<'_>) -> Result<Option<Arch>, ImageError> {
    for path in PROGRAMS {
        let Some(file) = root.find(path)?.filter(SquashfsNode::is_file) else { continue };
        let mut head = HeadBuffer::default();
        // Copying a program stops after its header.
        if root.copy(&file, LONGEST_PROGRAM, &mut head).is_err() && head.0.len() < MACHINE + 2 {
            continue;
        }
        if head.0.starts_with(ELF) && head.0.len() >= MACHINE + 2 {
            return Ok(match u16::from_le_bytes([head.0[MACHINE], head.0[MACHINE + 1]]) {
                62 => Some(Arch::Amd64),
                183 => Some(Arch::Arm64),
                _ => None,
            });
        }
    }
    Ok(None)
}

/// The first bytes of a file; it is full after them.
#[derive(Default)]
struct HeadBuffer(Vec<u8>);

impl std::io::Write for HeadBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() > MACHINE + 2 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.0.extend_from_slice(&bytes[..bytes.len().min(64)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
