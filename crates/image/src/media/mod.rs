//! Small volumes that carry a machine's first configuration, and what stands on volumes that others made.
//!
//! A [`Volume`] is a label and some files. [`iso9660::write`] makes a CD of it, [`fat::write`] an image for a USB stick: the
//! same volume gives the same bytes, always. The way back is [`FileSystem::open`]: it reads label and root folder of any
//! [`Image`], as a Linux kernel shows them, and never more of it than is asked for. [`Qcow2`] is the disk inside of an image of
//! QEMU, [`Partitions`] are those of a disk, and [`uki`] reads what a machine is booted with.
//!
//! What somebody made may be cut off, broken, or made to hurt: reading it ends, with what is there or with a [`ImageError`], and
//! needs no more memory than the longest thing that is read at once.
//!
//! Not here: what Talos makes of the files.

mod content;
pub mod cpio;
pub mod fat;
mod file;
mod file_system;
mod image;
pub mod iso9660;
mod partition;
pub mod qcow2;
pub mod sparse_tar;
pub mod squashfs;
pub mod uki;
mod volume;

pub use content::{Content, ContentExtent};
pub use file::FileImage;
pub use file_system::{DirectoryEntry, FileSystem, FileSystemType};
pub use image::{Image, ImageError, ImageWindow};
pub use partition::{
    Disk, DiskError, Guid, NewPartition, Partition, PartitionAttribute, PartitionScheme, Partitions,
};
pub use qcow2::Qcow2;
pub use volume::{Volume, VolumeError};

/// The smallest image that is written.
///
/// Talos looks for many kinds of file systems at once, and does not look at all into a disk that is too short for one of
/// them: swap space with pages of 64 KiB ends there. This is twice as much, because other kinds may come.
pub const SMALLEST: usize = 128 * 1024;
