//! Small volumes with a machine's first configuration, and readers of existing volumes.
//!
//! A [`Volume`] is a label and some files. [`iso9660::write`] makes a CD of it, [`fat::write`] an image for a USB stick: the
//! same volume gives the same bytes, always. The inverse is [`FileSystem::open`]: it reads label and root folder of any
//! [`Image`], as a Linux kernel shows them, and reads it on demand. [`Qcow2`] is the disk inside an image of
//! QEMU, [`Partitions`] are those of a disk, and [`uki`] reads unified kernel images.
//!
//! Existing images may be truncated, corrupt or hostile: reading ends with the readable part or a [`ImageError`], and
//! needs no more memory than the longest item read at once.
//!
//! Not here: how Talos uses the files.

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
/// Talos probes for many kinds of file systems at once, and ignores a disk that is too short for one of
/// them: swap space with pages of 64 KiB ends there. This is twice as much, because other kinds may come.
pub const SMALLEST: usize = 128 * 1024;
