//! CDs: ISO 9660 (ECMA-119), with long names by Rock Ridge and by Joliet.
//!
//! [`write()`] makes a small CD of a volume, and a [`BootableIso`] is one with folders from which machines boot. Both are a `tree`, whose parts get
//! their locations from `layout`: `hierarchy` makes the folders by one set of names, `record` the entries of a folder, `descriptor` the
//! descriptors, `rock_ridge` POSIX attributes, and `name` the upper-case names of ISO 9660. `el_torito` is the boot catalog, `hybrid` the
//! boot record to boot the same image from a disk. `read` is the inverse.

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

/// The sector of the first descriptor. The system area before it is for other uses.
const FIRST_DESCRIPTOR: usize = 16;
