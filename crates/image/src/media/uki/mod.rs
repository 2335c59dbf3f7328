//! Unified kernel images: programs for UEFI with a kernel, its initramfs and its command line in sections.
//!
//! `program` is what such a file is made of, and [`Uki::find_in`] looks into one. [`write()`] puts sections behind a stub, systemd's, which starts
//! the kernel in them; [`Uki::stub`] takes that stub out again, so that an image alone is enough to make another one.

mod pe;
mod read;
mod write;

pub use read::{PeIdentity, Uki, UkiProfile, command_line, section};
pub use write::{StubError, write};

use super::Content;

/// Names of sections.
pub mod name {
    /// What it is, in the words of `/etc/os-release`.
    pub(crate) const RELEASE: &str = ".osrel";
    /// What the kernel is told.
    pub(crate) const COMMAND_LINE: &str = ".cmdline";
    /// The version of the kernel.
    pub const VERSION: &str = ".uname";
    /// The kernel.
    pub(crate) const KERNEL: &str = ".linux";
    /// The first file system.
    pub(crate) const INITRAMFS: &str = ".initrd";
    /// What systemd's own programs say they are.
    pub(crate) const MAGIC: &str = ".sdmagic";
    /// The start of one entry of the menu.
    pub(crate) const PROFILE: &str = ".profile";
}

/// A section: its name and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name, at most eight letters.
    pub name: String,
    /// What it holds.
    pub content: Content,
}

impl Section {
    /// A section.
    pub fn new(name: &str, content: impl Into<Content>) -> Self {
        Self { name: name.to_owned(), content: content.into() }
    }
}
