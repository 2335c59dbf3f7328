//! The cluster file as typed: texts in, [`File`] or [`FileIssue`](ichor_values::FileIssue)s out.
//!
//! [`load()`] reads the file and its includes into trees ([`ichor_values::tree`]), merges them, and reads the result into the
//! records of [`section`]. Every value has its [`Location`](ichor_values::Location). Defaults, derived values and checks are in
//! later stages.

pub mod load;
pub mod section;
mod table;

pub use load::{FileError, Files, LoadResult, load};
pub use section::File;
