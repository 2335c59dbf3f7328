//! Parts of a release, found in anything official.
//!
//! An [`AssetCollector`] is given inputs in any order: kernels, initramfs, unified kernel images, ISOs, disks, trees of container
//! images. It detects each by its content and takes the assets it does not have yet, so that inputs complete each other.
//! [`AssetCollector::missing`] lists the missing assets of a product, with their sources, and [`AssetCollector::parts`] returns all.
//!
//! Not here: whether kernel and initramfs belong together ([`fit`](super::compatibility)), and where files come from (the command).

use super::compression::{CD_MARK, is_initramfs};
use super::kernel::{ARM64_MARK, X86_MARK, ZBOOT_MARK, is_at};
use super::{BootAssets, GrubCd, Product};
use crate::media::uki::{self, Uki, name as section};
use crate::media::{Content, DirectoryEntry, FileSystem, FileSystemType, ImageError, Partitions};
use crate::oci::FileTree;
use ichor_values::Arch;
use ichor_values::TalosVersion;

/// The signature of qcow2 images.
const QCOW2_MARK: (u64, &[u8]) = (0, b"QFI\xfb");

/// The program of UEFI.
const PROGRAM_MARK: (u64, &[u8]) = (0, b"MZ");

/// The longest release text and version that is read.
const LONGEST_TEXT: u64 = 64 << 10;

/// The folder of boot files in Talos' container images.
const INSTALL: &str = "usr/install";

/// The assets collected until now.
#[derive(Clone, Debug)]
pub struct AssetCollector {
    arch: Arch,
    kernel: Option<AssetFrom<Content>>,
    initramfs: Option<AssetFrom<Content>>,
    stub: Option<AssetFrom<Content>>,
    loader: Option<AssetFrom<Content>>,
    grub: Option<AssetFrom<GrubCd>>,
    releases: Vec<AssetFrom<TalosVersion>>,
}

/// An asset and the name of its source.
#[derive(Clone, Debug)]
struct AssetFrom<T> {
    it: T,
    from: String,
}

/// Why an input is not a boot asset, or does not match the others.
#[derive(Debug, thiserror::Error)]
pub enum AssetError {
    /// It is not a boot asset.
    #[error(
        "{from} is not a Talos boot asset; want a kernel, an initramfs, a unified kernel image, an ISO, a raw disk image, or a \
         container image such as ghcr.io/siderolabs/imager"
    )]
    Unknown {
        /// The name of the input.
        from: String,
    },
    /// It has to be unpacked first.
    #[error("{from} is a qcow2 image; convert it with `qemu-img convert -O raw`")]
    Qcow2 {
        /// The name of the input.
        from: String,
    },
    /// It is for other machines.
    #[error("{from} is for {is}, not {want}")]
    Arch {
        /// The name of the input.
        from: String,
        /// Its architecture.
        is: &'static str,
        /// The requested architecture.
        want: &'static str,
    },
    /// It is of another release.
    #[error("{from} is from Talos {is}, not {want}; use assets of one release")]
    Release {
        /// The name of the input.
        from: String,
        /// Its release.
        is: String,
        /// The requested release.
        want: String,
    },
    /// The release cannot be detected.
    #[error("cannot detect the Talos release of the assets; set --talos, such as --talos v1.13.9")]
    NoRelease,
    /// A container image has none.
    #[error(
        "{from} has no files in {INSTALL}/{arch}; want ghcr.io/siderolabs/imager, or an installer with a kernel"
    )]
    Empty {
        /// The name of the input.
        from: String,
        /// For which machines.
        arch: &'static str,
    },
    /// It could not be read.
    #[error("cannot read {from}")]
    Read {
        /// The name of the input.
        from: String,
        /// Why.
        #[source]
        source: ImageError,
    },
    /// A unified kernel image without a usable stub.
    #[error("cannot extract the stub of {from}")]
    Stub {
        /// The name of the input.
        from: String,
        /// Why.
        #[source]
        source: uki::StubError,
    },
}

/// A part that a product needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AssetKind {
    /// The kernel.
    Kernel,
    /// The first file system.
    Initramfs,
    /// The stub of a unified kernel image.
    Stub,
    /// The UEFI boot loader.
    Loader,
}

impl AssetKind {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "the kernel",
            Self::Initramfs => "the initramfs",
            Self::Stub => "systemd-stub",
            Self::Loader => "systemd-boot",
        }
    }

    /// The artifact of a release that has it.
    pub fn is_in(self, talos: &TalosVersion, arch: Arch) -> String {
        let imager = format!("ghcr.io/siderolabs/imager:{talos}");
        match self {
            Self::Kernel => format!("vmlinuz-{arch}, metal-{arch}-uki.efi, metal-{arch}.iso or {imager}"),
            Self::Initramfs => {
                format!("initramfs-{arch}.xz, metal-{arch}-uki.efi, metal-{arch}.iso or {imager}")
            }
            Self::Stub => format!("metal-{arch}-uki.efi, metal-{arch}.iso or {imager}"),
            Self::Loader => format!("metal-{arch}.iso, metal-{arch}.raw.zst or {imager}"),
        }
    }

    /// The assets of a product.
    fn required_for(product: Product) -> &'static [AssetKind] {
        match product {
            Product::Netboot => &[AssetKind::Kernel, AssetKind::Initramfs],
            Product::Uki => &[AssetKind::Kernel, AssetKind::Initramfs, AssetKind::Stub],
            Product::Iso
            | Product::Disk
            | Product::Qcow2
            | Product::Gcp
            | Product::Installer
            | Product::Layout => {
                &[AssetKind::Kernel, AssetKind::Initramfs, AssetKind::Stub, AssetKind::Loader]
            }
        }
    }
}

impl AssetCollector {
    /// An empty collector, for an architecture.
    pub fn new(arch: Arch) -> Self {
        Self {
            arch,
            kernel: None,
            initramfs: None,
            stub: None,
            loader: None,
            grub: None,
            releases: Vec::new(),
        }
    }

    /// Adds the assets in a file. `from` is its name in errors.
    pub fn add(&mut self, from: &str, content: &Content) -> Result<(), AssetError> {
        if is_at(content, CD_MARK) {
            self.add_cd(from, content)
        } else if is_at(content, QCOW2_MARK) {
            Err(AssetError::Qcow2 { from: from.to_owned() })
        } else if self.add_part(from, content)? {
            Ok(())
        } else {
            self.add_disk(from, content)
        }
    }

    /// Adds a file that is an asset itself, and returns whether it is one.
    fn add_part(&mut self, from: &str, content: &Content) -> Result<bool, AssetError> {
        if is_at(content, X86_MARK) {
            self.suits(from, Arch::Amd64)?;
            keep_first(&mut self.kernel, from, content.clone());
        } else if is_at(content, ARM64_MARK) {
            self.suits(from, Arch::Arm64)?;
            keep_first(&mut self.kernel, from, content.clone());
        } else if is_at(content, PROGRAM_MARK) {
            self.add_program(from, content)?;
        } else if is_initramfs(content) {
            keep_first(&mut self.initramfs, from, content.clone());
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Adds the assets of a container image.
    pub fn add_root(&mut self, from: &str, root: &FileTree) -> Result<(), AssetError> {
        let folder = format!("{INSTALL}/{}", self.arch);
        let mut files = root.below(&folder).filter_map(|(path, _)| Some((path, root.file(path)?))).peekable();
        if files.peek().is_none() {
            return Err(AssetError::Empty { from: from.to_owned(), arch: self.arch.word() });
        }
        files.try_for_each(|(path, content)| self.add(&format!("{from}: {path}"), content))
    }

    /// Records the release of an input.
    pub(crate) fn add_release(&mut self, from: &str, talos: TalosVersion) {
        self.releases.push(AssetFrom { it: talos, from: from.to_owned() });
    }

    /// A program for UEFI.
    fn add_program(&mut self, from: &str, content: &Content) -> Result<(), AssetError> {
        let failed = |source| AssetError::Read { from: from.to_owned(), source };
        let program = uki::PeIdentity::find_in(content).map_err(failed)?;
        let Some(program) = program else { return Err(AssetError::Unknown { from: from.to_owned() }) };
        if let Some(arch) = program.arch {
            self.suits(from, arch)?;
        }
        if let Some(uki) = Uki::find_in(content).map_err(failed)? {
            return self.add_uki(from, &uki);
        }
        let place = match program.info.as_deref() {
            Some(info) if info.contains("systemd-stub") => &mut self.stub,
            Some(info) if info.contains("systemd-boot") => &mut self.loader,
            _ if is_at(content, ZBOOT_MARK) => &mut self.kernel,
            _ => return Err(AssetError::Unknown { from: from.to_owned() }),
        };
        keep_first(place, from, content.clone());
        Ok(())
    }

    fn add_uki(&mut self, from: &str, uki: &Uki) -> Result<(), AssetError> {
        if let Some(kernel) = uki.first(section::KERNEL) {
            keep_first(&mut self.kernel, from, kernel.clone());
        }
        if let Some(initramfs) = uki.first(section::INITRAMFS) {
            keep_first(&mut self.initramfs, from, initramfs.clone());
        }
        if self.stub.is_none() {
            let stub = uki.stub().map_err(|source| AssetError::Stub { from: from.to_owned(), source })?;
            keep_first(&mut self.stub, from, stub);
        }
        if let Some(talos) = uki.first(section::RELEASE).and_then(|text| release(&read_text(text)?)) {
            self.add_release(from, talos);
        }
        Ok(())
    }

    fn add_cd(&mut self, from: &str, content: &Content) -> Result<(), AssetError> {
        let failed = |source| AssetError::Read { from: from.to_owned(), source };
        let cd = FileSystem::open(content).map_err(failed)?;
        for path in ["boot/vmlinuz", "boot/initramfs.xz"] {
            if let Some(file) = cd.find_path(content, path).map_err(failed)? {
                self.add_part(&format!("{from}: {path}"), &cd.content(content, &file).map_err(failed)?)?;
            }
        }
        if let Some(grub) = GrubCd::find_in(content).map_err(failed)? {
            keep_first(&mut self.grub, from, grub);
        }
        self.add_boot_folder(from, &cd, content)?;
        // UEFI boot files may be in a partition of their own only.
        self.add_partitions(from, content)
    }

    fn add_disk(&mut self, from: &str, content: &Content) -> Result<(), AssetError> {
        let failed = |source| AssetError::Read { from: from.to_owned(), source };
        if let Some(volume) = FileSystem::find_in(content).map_err(failed)? {
            return self.add_boot_folder(from, &volume, content);
        }
        if Partitions::find_in(content).map_err(failed)?.is_none() {
            return Err(AssetError::Unknown { from: from.to_owned() });
        }
        self.add_partitions(from, content)
    }

    fn add_partitions(&mut self, from: &str, content: &Content) -> Result<(), AssetError> {
        let failed = |source| AssetError::Read { from: from.to_owned(), source };
        let partitions = Partitions::find_in(content).map_err(failed)?;
        for partition in partitions.iter().flat_map(|partitions| &partitions.list) {
            let Some(part) = partition.content(content) else { continue };
            if let Ok(Some(volume)) = FileSystem::find_in(&part)
                && volume.kind != FileSystemType::Iso9660
            {
                self.add_boot_folder(from, &volume, &part)?;
            }
        }
        Ok(())
    }

    /// Adds UEFI boot files: systemd-boot and kernel images.
    fn add_boot_folder(
        &mut self,
        from: &str,
        volume: &FileSystem,
        image: &Content,
    ) -> Result<(), AssetError> {
        let failed = |source| AssetError::Read { from: from.to_owned(), source };
        for folder in ["EFI/BOOT", "EFI/Linux"] {
            let Some(entry) = volume.find_path(image, folder).map_err(failed)? else { continue };
            let is_program =
                |entry: &DirectoryEntry| !entry.folder && entry.name.to_lowercase().ends_with(".efi");
            for file in volume.list(image, &entry).map_err(failed)?.iter().filter(|entry| is_program(entry)) {
                let program = volume.content(image, file).map_err(failed)?;
                let name = format!("{from}: {folder}/{}", file.name);
                match self.add_program(&name, &program) {
                    // GRUB and shim may be beside the loader.
                    Ok(()) | Err(AssetError::Unknown { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn suits(&self, from: &str, is: Arch) -> Result<(), AssetError> {
        let (is, want) = (is.word(), self.arch.word());
        if is == want { Ok(()) } else { Err(AssetError::Arch { from: from.to_owned(), is, want }) }
    }

    /// The missing assets of a product.
    pub fn missing(&self, product: Product) -> Vec<AssetKind> {
        let has = |part: AssetKind| match part {
            AssetKind::Kernel => self.kernel.is_some(),
            AssetKind::Initramfs => self.initramfs.is_some(),
            AssetKind::Stub => self.stub.is_some(),
            AssetKind::Loader => self.loader.is_some(),
        };
        AssetKind::required_for(product).iter().copied().filter(|part| !has(*part)).collect()
    }

    /// Whether nothing more can be found: GRUB is for machines that may have a BIOS.
    pub fn is_complete(&self) -> bool {
        let grub = self.grub.is_some() || self.arch != Arch::Amd64;
        grub && self.missing(Product::Iso).is_empty()
    }

    /// The release that everything is of, which must be the wanted one where one is.
    pub fn release(&self, want: Option<&TalosVersion>) -> Result<TalosVersion, AssetError> {
        let want = match (want, self.releases.first()) {
            (Some(want), _) => want,
            (None, Some(first)) => &first.it,
            (None, None) => return Err(AssetError::NoRelease),
        };
        match self.releases.iter().find(|found| found.it != *want) {
            None => Ok(want.clone()),
            Some(AssetFrom { it, from }) => {
                Err(AssetError::Release { from: from.clone(), is: it.to_string(), want: want.to_string() })
            }
        }
    }

    /// All parts; none without a kernel or an initramfs, of which nothing is made.
    pub fn parts(&self) -> Option<BootAssets> {
        let it = |found: &Option<AssetFrom<Content>>| found.as_ref().map(|found| found.it.clone());
        Some(BootAssets {
            kernel: it(&self.kernel)?,
            initramfs: it(&self.initramfs)?,
            stub: it(&self.stub),
            loader: it(&self.loader),
            grub: self.grub.as_ref().map(|found| found.it.clone()),
        })
    }

    /// The sources of kernel and initramfs, for errors.
    pub fn sources(&self) -> Option<(&str, &str)> {
        Some((&self.kernel.as_ref()?.from, &self.initramfs.as_ref()?.from))
    }
}

/// Keeps the first.
fn keep_first<T>(place: &mut Option<AssetFrom<T>>, from: &str, it: T) {
    place.get_or_insert(AssetFrom { it, from: from.to_owned() });
}

/// The release that a text such as `/etc/os-release` names.
pub fn release(text: &str) -> Option<TalosVersion> {
    let value = text.lines().find_map(|line| line.trim().strip_prefix("VERSION_ID="))?;
    TalosVersion::parse(value.trim_matches(['"', '\'', '\0'])).ok()
}

/// A short text.
fn read_text(content: &Content) -> Option<String> {
    let bytes = content.part(0, content.len().min(LONGEST_TEXT))?.read().ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> Content {
        let mut bytes = vec![0; 0x400];
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes.into()
    }

    fn version(text: &str) -> TalosVersion {
        TalosVersion::parse(text).unwrap()
    }

    #[test]
    fn the_first_asset_of_each_kind_wins_and_missing_ones_are_listed() {
        let mut heap = AssetCollector::new(Arch::Amd64);
        heap.add("vmlinuz", &kernel()).unwrap();
        heap.add("other", &kernel()).unwrap();
        heap.add("initramfs", &Content::from(b"0707010000")).unwrap();

        assert_eq!(heap.missing(Product::Netboot), []);
        assert_eq!(heap.missing(Product::Iso), [AssetKind::Stub, AssetKind::Loader]);
        assert!(!heap.is_complete() && heap.parts().is_some());
        assert_eq!(heap.kernel.as_ref().unwrap().from, "vmlinuz");
        assert!(AssetKind::Loader.is_in(&version("v1.13.9"), Arch::Amd64).contains("metal-amd64.iso"));
    }

    #[test]
    fn assets_of_other_architectures_and_unknown_files_are_rejected() {
        let mut heap = AssetCollector::new(Arch::Arm64);

        let error = heap.add("vmlinuz", &kernel()).unwrap_err().to_string();
        assert_eq!(error, "vmlinuz is for amd64, not arm64");
        for nothing in [b"".to_vec(), b"MZ".to_vec(), b"QFI\xfb".to_vec(), b"text".to_vec(), vec![0; 70_000]]
        {
            assert!(heap.add("x", &nothing.into()).is_err());
        }
    }

    #[test]
    fn assets_must_be_of_one_release() {
        let mut heap = AssetCollector::new(Arch::Amd64);
        assert!(matches!(heap.release(None), Err(AssetError::NoRelease)));
        heap.add_release("a", version("v1.13.9"));

        assert_eq!(heap.release(None).unwrap(), version("v1.13.9"));
        assert!(heap.release(Some(&version("v1.13.8"))).is_err());
        heap.add_release("b", version("v1.13.8"));
        let error = heap.release(Some(&version("v1.13.9"))).unwrap_err().to_string();
        assert!(error.starts_with("b is from Talos v1.13.8"), "{error}");
        assert_eq!(release("ID=talos\nVERSION_ID=\"v1.14.0-rc.1\"\n"), Some(version("v1.14.0-rc.1")));
    }
}
