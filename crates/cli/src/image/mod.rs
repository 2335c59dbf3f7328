//! Images on disk: parts that are read, and products that are written whole or not at all.
//!
//! A [`Larder`] gathers the parts of a release, and a [`Ground`] is those that belong together: it puts extensions behind its initramfs. What ichor cannot
//! make itself is made by programs of this machine: [`bios`] is what a disk needs for a BIOS, [`grub_cd`] what a CD does, a [`Signer`] signs, and `depmod` lists kernel modules.
//! [`Drafts`] are files that get their names together.

pub(crate) mod bios;
mod depmod;
mod draft;
pub(crate) mod folder;
mod grub;
pub(crate) mod grub_cd;
mod initramfs;
mod input;
#[cfg(test)]
mod lab;
mod opened;
mod program;
pub(crate) mod scratch;
mod sign;
mod xfs;

pub(crate) use draft::Drafts;
pub(crate) use initramfs::{Ground, Initramfs};
pub(crate) use input::{Larder, installer_base, unpacked};
pub(crate) use opened::Opened;
pub(crate) use sign::{LIMITS, Signer};
