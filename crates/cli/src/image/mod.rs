//! Images on disk: parts that are read, and products that are written whole or not at all.
//!
//! A [`ArtifactCache`] gathers the parts of a release, and a [`BaseRelease`] is those that belong together: it puts extensions behind its initramfs. What ichor cannot
//! make itself is made by programs of this machine: [`bios`] is what a disk needs for a BIOS, [`grub_cd`] what a CD does, a [`Signer`] signs, and `depmod` lists kernel modules.
//! [`StagedFiles`] are files that get their names together.

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
