//! The first file system of a machine: what Talos publishes, and what comes behind it for extensions.
//!
//! [`files`] shows what is in one. [`Base::read`] says what is known of one that Talos or the Image Factory made; [`Base::plan`] decides how
//! extensions go behind it: a [`Plan`] with a tree for each squashfs, and, once those are written, the segment that holds them.

mod base;
mod plan;
mod segments;

use std::io;

use crate::media;
use ichor_talos::extension::Remark;

pub(super) use base::CONFIG;
pub use base::{Base, INIT, Keep, NotKept, ROOT, embedded_config};
pub use plan::{Addition, Plan};
pub use segments::{File, Show, files, is_one};

/// Why an initramfs cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// An archive in it is broken.
    #[error("the initramfs is broken")]
    Archive(#[source] media::ReadError),
    /// What is compressed cannot be unpacked.
    #[error("the segment of the initramfs at byte {at} cannot be unpacked: is some of it missing?")]
    Segment {
        /// Where it begins.
        at: u64,
    },
    /// Compressed in a way that Talos' kernels do not know.
    #[error(
        "the segment of the initramfs at byte {at} is compressed with {compression}, and kernels of Talos unpack zstd and xz alone"
    )]
    Compression {
        /// Where it begins.
        at: u64,
        /// How it is compressed.
        compression: &'static str,
    },
    /// Neither an archive nor compressed.
    #[error("what stands at byte {at} is nothing that a kernel unpacks; want an initramfs")]
    Unknown {
        /// Where it is.
        at: u64,
    },
    /// Far more than an initramfs has.
    #[error("the initramfs is too large: more than 8 GiB, or a quarter of a million files")]
    Large,
    /// Not one of Talos.
    #[error("no initramfs of Talos: there is no `{0}` in it")]
    Missing(&'static str),
    /// Its list of extensions cannot be read.
    #[error("the initramfs has a list of extensions that Talos cannot read: {} {}", .0.file, .0.issue.message)]
    Layers(Remark),
    /// A file in it is longer than it can be.
    #[error("`{path}` of the initramfs has {length} bytes; want at most {most}")]
    Long {
        /// What it is.
        path: String,
        /// How long it is.
        length: u64,
        /// How long it may be.
        most: u64,
    },
    /// The bytes could not be had, or not be kept.
    #[error("cannot read the initramfs")]
    Read(#[from] io::Error),
}
