//! Images that machines boot: what Talos publishes, with extensions, kernel arguments and a configuration of one's own.
//!
//! A [`AssetCollector`] finds [`BootAssets`] in what Talos publishes, [`compatibility`] says whether they belong together, and a [`Profile`] says what an image is to be.
//! Each [`Product`] is then a [`Content`]: nothing is copied until an image is written.
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

/// What an image is to be.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The release that boots.
    pub talos: TalosVersion,
    /// The machines it is for.
    pub arch: Arch,
    /// What they are: `metal`, `nocloud`, `gcp`.
    pub platform: String,
    /// What the kernel is told, without what an ISO adds.
    pub line: Line,
    /// What the META partition holds.
    pub meta: Vec<meta::Value>,
    /// The configuration inside.
    pub embedded: Option<Content>,
}

/// What Talos publishes of a release, for one architecture.
#[derive(Clone, Debug)]
pub struct BootAssets {
    /// The kernel.
    pub kernel: Content,
    /// The first file system, perhaps with extensions already.
    pub initramfs: Content,
    /// What a unified kernel image begins with: systemd-stub.
    pub stub: Option<Content>,
    /// What UEFI starts: systemd-boot.
    pub loader: Option<Content>,
    /// What a BIOS starts from a CD.
    pub grub: Option<GrubCd>,
}

/// GRUB on a CD, for machines with a BIOS.
#[derive(Clone, Debug)]
pub struct GrubCd {
    /// The image that El Torito starts: `cdboot.img` and a core image, whose table of boot information is written anew.
    pub image: Content,
    /// The boot code that a disk with the same contents starts with, if there is one.
    pub record: Option<Content>,
    /// What goes beside it, by its path on the CD: modules and fonts.
    pub files: FileTree,
}
