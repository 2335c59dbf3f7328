//! The initramfs of a machine: the one that Talos publishes, and segments with extensions appended to it.
//!
//! [`files`] visits the files of one. [`BaseInitramfs::read`] reads one that Talos or the Image Factory made;
//! [`BaseInitramfs::plan`] decides how extensions are appended: an [`InitramfsPlan`] with a tree for each squashfs, and, once those
//! are written, the segment that contains them.

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
    /// A compressed segment cannot be decompressed.
    #[error("cannot decompress the initramfs segment at byte {at}: corrupt or truncated")]
    Segment {
        /// Its offset.
        at: u64,
    },
    /// A compression that Talos' kernels do not support.
    #[error(
        "the initramfs segment at byte {at} is compressed with {compression}; Talos kernels support only zstd and xz"
    )]
    Compression {
        /// Its offset.
        at: u64,
        /// Its compression.
        compression: &'static str,
    },
    /// Neither an archive nor compressed.
    #[error("byte {at} starts neither an archive nor a compressed segment; want an initramfs")]
    Unknown {
        /// Its offset.
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
        /// Its kind.
        path: String,
        /// Its length.
        length: u64,
        /// The limit.
        most: u64,
    },
    /// The bytes could not be had, or not be kept.
    #[error("cannot read the initramfs")]
    Read(#[from] io::Error),
}
