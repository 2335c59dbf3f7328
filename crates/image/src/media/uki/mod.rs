//! Unified kernel images: programs for UEFI with a kernel, its initramfs and its command line in sections.
//!
//! `pe` reads the sections of such a file, and [`Uki::find_in`] its contents. [`write()`] appends sections to a stub, systemd's, which starts
//! the kernel in them; [`Uki::stub`] extracts that stub again, so that an image alone is enough to make another one.

mod pe;
mod read;
mod write;

pub use read::{PeIdentity, Uki, UkiProfile, command_line, section};
pub use write::{StubError, write};

use super::Content;

/// Names of sections.
pub mod name {
    /// Its identity, in the format of `/etc/os-release`.
    pub(crate) const RELEASE: &str = ".osrel";
    /// The kernel arguments.
    pub(crate) const COMMAND_LINE: &str = ".cmdline";
    /// The version of the kernel.
    pub const VERSION: &str = ".uname";
    /// The kernel.
    pub(crate) const KERNEL: &str = ".linux";
    /// The first file system.
    pub(crate) const INITRAMFS: &str = ".initrd";
    /// The identity of systemd's own programs.
    pub(crate) const MAGIC: &str = ".sdmagic";
    /// The start of one entry of the menu.
    pub(crate) const PROFILE: &str = ".profile";
}

/// A section: its name and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name, at most eight letters.
    pub name: String,
    /// Its content.
    pub content: Content,
}

impl Section {
    /// A section.
    pub fn new(name: &str, content: impl Into<Content>) -> Self {
        Self { name: name.to_owned(), content: content.into() }
    }
}
