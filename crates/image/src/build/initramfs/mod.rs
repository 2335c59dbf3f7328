//! The first file system of a machine: what Talos publishes, and what comes behind it for extensions.
//!
//! [`files`] shows what is in one. [`BaseInitramfs::read`] says what is known of one that Talos or the Image Factory made; [`BaseInitramfs::plan`] decides how
//! extensions go behind it: a [`InitramfsPlan`] with a tree for each squashfs, and, once those are written, the segment that holds them.

mod base;
mod plan;
mod segments;

use std::io;

use crate::media;
use ichor_talos::extension::Remark;

pub(super) use base::CONFIG;
pub use base::{BaseInitramfs, INIT, MissingSquashfs, ROOT, SquashfsStore, embedded_config};
pub use plan::{AddedExtension, InitramfsPlan};
pub use segments::{FileVisitor, InitramfsFile, files, is_initramfs};

/// Why an initramfs cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InitramfsError {
    /// An archive in it is broken.
    #[error("the initramfs is corrupt")]
    Archive(#[source] media::ImageError),
    /// What is compressed cannot be unpacked.
    #[error("cannot decompress the initramfs segment at byte {at}: corrupt or truncated")]
    Segment {
        /// Where it begins.
        at: u64,
    },
    /// Compressed in a way that Talos' kernels do not know.
    #[error(
        "the initramfs segment at byte {at} is compressed with {compression}; Talos kernels support only zstd and xz"
    )]
    Compression {
        /// Where it begins.
        at: u64,
        /// How it is compressed.
        compression: &'static str,
    },
    /// Neither an archive nor compressed.
    #[error("byte {at} starts neither an archive nor a compressed segment; want an initramfs")]
    Unknown {
        /// Where it is.
        at: u64,
    },
    /// Far more than an initramfs has.
    #[error("the initramfs is too large: more than 8 GiB or 262144 files")]
    Large,
    /// Not one of Talos.
    #[error("not an initramfs of Talos: `{0}` is missing")]
    Missing(&'static str),
    /// Its list of extensions cannot be read.
    #[error("Talos cannot read the initramfs' list of extensions: {} {}", .0.file, .0.issue.message)]
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
