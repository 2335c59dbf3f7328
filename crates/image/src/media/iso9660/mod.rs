//! CDs: ISO 9660 (ECMA-119), with long names by Rock Ridge and by Joliet.
//!
//! [`write()`] makes a small CD of a volume, and a [`BootableIso`] is one with folders from which machines boot. Both are a `tree`, whose parts get
//! their places from `layout`: `hierarchy` makes the folders by one set of names, `record` the entries of a folder, `descriptor` what says where
//! they are, `rock_ridge` what POSIX wants, and `name` the capital letters of old. `el_torito` is what firmware boots from a CD, `hybrid` what
//! it boots from a disk with the same contents. `read` is the way back.

mod bootable;
mod descriptor;
mod el_torito;
mod encoding;
mod hierarchy;
mod hybrid;
mod layout;
mod name;
mod number;
mod read;
mod record;
mod rock_ridge;
mod tree;
mod write;

pub use bootable::{BiosBoot, BiosBootImage, BootableIso, BootableIsoError};
pub(super) use read::{NameSource, list, open};
pub use tree::IsoTreeError;
pub use write::write;

/// Everything on a CD starts at a multiple of this.
const SECTOR: usize = 2048;

/// The sector of the first descriptor. What is before it is for others.
const FIRST_DESCRIPTOR: usize = 16;
