//! CDs: ISO 9660 (ECMA-119), with long names by Rock Ridge and by Joliet.
//!
//! [`write()`] lays a volume out; `record` makes the entries of its folders, `descriptor` what says where they are, `rock_ridge`
//! what POSIX wants, and `name` the capital letters of old. `read` is the way back.

mod descriptor;
mod name;
mod number;
mod read;
mod record;
mod rock_ridge;
mod write;

pub(super) use read::{Names, list, open};
pub use write::write;

/// Everything on a CD starts at a multiple of this.
const SECTOR: usize = 2048;

/// The sector of the first descriptor. What is before it is for others.
const FIRST_DESCRIPTOR: usize = 16;
