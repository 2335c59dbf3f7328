//! Small volumes that carry a machine's first configuration, and what stands on volumes that others made.
//!
//! A [`Volume`] is a label and some files. [`iso9660::write`] makes a CD of it, [`fat::write`] an image for a USB stick: the
//! same volume gives the same bytes, always. The way back is [`FileSystem::open`]: it reads label and root folder of any
//! [`Image`], as a Linux kernel shows them, and never more of it than is asked for.
//!
//! Not here: partitions, and what Talos makes of the files.

pub mod fat;
mod file_system;
mod image;
pub mod iso9660;
mod volume;

pub use file_system::{Entry, FileSystem, Kind};
pub use image::{Image, ReadError};
pub use volume::{Volume, VolumeError};

/// The smallest image that is written.
///
/// Talos looks for many kinds of file systems at once, and does not look at all into a disk that is too short for one of
/// them: swap space with pages of 64 KiB ends there. This is twice as much, because other kinds may come.
pub const SMALLEST: usize = 128 * 1024;
