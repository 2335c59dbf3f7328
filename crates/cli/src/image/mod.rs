//! Builds images on disk: reads boot assets, and writes products atomically.
//!
//! An [`ArtifactCache`] gathers the boot assets of a release. A [`BaseRelease`] checks that they belong together and
//! appends extensions to its initramfs. Installed programs do the rest: [`bios`] and [`grub_cd`] build GRUB for a disk
//! and for a CD, a [`Signer`] signs, and `depmod` lists kernel modules. [`StagedFiles`] are renamed to their final
//! names together.

pub(crate) mod bios;
mod depmod;
mod file_image;
pub(crate) mod folder;
mod grub;
pub(crate) mod grub_cd;
mod initramfs;
#[cfg(test)]
mod lab;
mod program;
mod release_source;
pub(crate) mod scratch;
mod sign;
mod staged_files;
mod xfs;

pub(crate) use file_image::FileImage;
pub(crate) use initramfs::{BaseRelease, Initramfs};
pub(crate) use release_source::{ArtifactCache, installer_base, unpack_if_packed};
pub(crate) use sign::{LIMITS, Signer};
pub(crate) use staged_files::StagedFiles;
