//! The cluster file as typed: texts in, [`File`] or [`Problem`]s out.
//!
//! [`load()`] reads the file and what it includes into trees ([`tree`]), joins them, and reads the result into the
//! records of [`section`]. Every value remembers its [`Place`]. Nothing is derived and nothing is judged here.

mod full;
pub mod key;
pub mod load;
pub mod nearest;
mod plain;
pub mod print;
pub mod problem;
pub mod read;
pub(crate) mod record;
pub mod schema;
pub mod section;
pub mod source;
pub mod table;
pub mod tree;
pub mod value;

pub use load::{Files, Loaded, load};
pub use problem::Problem;
pub use section::File;
pub use source::{Place, Source, Sources};
