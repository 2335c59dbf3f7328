//! The cluster file as typed: texts in, [`File`] or [`FileIssue`](ichor_values::FileIssue)s out.
//!
//! [`load()`] reads the file and what it includes into trees ([`ichor_values::tree`]), joins them, and reads the result into the
//! records of [`section`]. Every value remembers its [`Location`](ichor_values::Place). Nothing is derived and nothing is judged here.

pub mod load;
pub mod section;
mod table;

pub use load::{FileError, Files, LoadResult, load};
pub use section::File;
