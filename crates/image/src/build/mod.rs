//! Images that machines boot: Talos' published assets, with extensions, kernel arguments and a configuration.
//!
//! An [`AssetCollector`] finds [`BootAssets`] in published files, [`compatibility`] checks that they match, and a [`Profile`] has the
//! parameters. Each [`Product`] is then a [`Content`]: nothing is copied until an image is written.
//!
//! Not here: where parts come from, files that are written, programs that are run (the command).

mod boot_assets;
pub mod compatibility;
mod compression;
pub mod conflict;
pub mod disk;
pub(crate) mod esp;
pub mod extension;
pub mod grub;
mod grub_cd;
pub mod initramfs;
pub mod installer;
pub mod iso;
pub mod kernel;
pub mod modules;
mod product;
pub mod uki;

use crate::media::Content;
use crate::oci::FileTree;
use ichor_talos::kernel_args::Line;
use ichor_talos::meta;
use ichor_values::Arch;
use ichor_values::TalosVersion;

pub(crate) use boot_assets::release;
pub use boot_assets::{AssetCollector, AssetError, AssetKind};
pub use compression::packed_disk;
pub use product::Product;

/// The parameters of an image.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The release that boots.
    pub talos: TalosVersion,
    /// The machines it is for.
    pub arch: Arch,
    /// The Talos platform: `metal`, `nocloud`, `gcp`.
    pub platform: String,
    /// The kernel arguments, without those of an ISO.
    pub line: Line,
    /// The values of the META partition.
    pub meta: Vec<meta::Value>,
    /// The configuration inside.
    pub embedded: Option<Content>,
}

/// The published assets of a release, for one architecture.
#[derive(Clone, Debug)]
pub struct BootAssets {
    /// The kernel.
    pub kernel: Content,
    /// The initramfs, perhaps with extensions already.
    pub initramfs: Content,
    /// The stub of a unified kernel image: systemd-stub.
    pub stub: Option<Content>,
    /// The UEFI boot loader: systemd-boot.
    pub loader: Option<Content>,
    /// GRUB for a BIOS that boots from a CD.
    pub grub: Option<GrubCd>,
}

/// GRUB on a CD, for machines with a BIOS.
#[derive(Clone, Debug)]
pub struct GrubCd {
    /// The image that El Torito starts: `cdboot.img` and a core image, whose boot information table is rewritten.
    pub image: Content,
    /// The boot code that a disk with the same contents starts with, if there is one.
    pub record: Option<Content>,
    /// The files beside it, by their path on the CD: modules and fonts.
    pub files: FileTree,
}
