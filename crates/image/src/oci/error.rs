//! Why an image cannot be read.

use std::error::Error;
use std::io;

use super::budget::{MOST_ENTRIES, MOST_UNPACKED};
use super::digest::Digest;

/// What a source of blobs says when it has none.
pub type Failure = Box<dyn Error + Send + Sync>;

/// An image that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Its source does not give a blob.
    #[error("cannot get {what}")]
    Source {
        /// What was asked for.
        what: String,
        /// What the source says.
        source: Failure,
    },
    /// A blob that is not what it is called.
    #[error("{what} is not what it is called: its SHA-256 is {got}, and it should be {want}")]
    Digest {
        /// The blob.
        what: String,
        /// The sum it has.
        got: Digest,
        /// The sum it should have.
        want: Digest,
    },
    /// A blob of another size than its descriptor says.
    #[error("{what} has {got} bytes, and its image says {want}; it may have been cut off")]
    Size {
        /// The blob.
        what: String,
        /// The size it has.
        got: u64,
        /// The size it should have.
        want: u64,
    },
    /// A blob that is too large to be read.
    #[error("{what} has {size} bytes; more than {most} are not read")]
    Large {
        /// The blob.
        what: String,
        /// The size its image gives.
        size: u64,
        /// The largest that is read.
        most: u64,
    },
    /// A document that cannot be understood.
    #[error("{what} cannot be understood: {reason}")]
    Json {
        /// The document.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no image for an architecture.
    #[error("there is no image for linux/{arch} in it; it has {have}")]
    Architecture {
        /// What was asked for.
        arch: String,
        /// What there is.
        have: String,
    },
    /// There is no room for a blob.
    #[error("cannot keep {what}")]
    Keep {
        /// The blob.
        what: String,
        /// Why not.
        source: io::Error,
    },
    /// A layer that cannot be unpacked.
    #[error("cannot unpack layer {digest}")]
    Layer {
        /// The layer.
        digest: Digest,
        /// What is wrong with it.
        source: LayerError,
    },
}

impl ReadError {
    pub(super) fn json(what: &str, reason: impl Into<String>) -> Self {
        Self::Json { what: what.to_owned(), reason: reason.into() }
    }
}

/// A layer that cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// It is not an archive, or ends too soon.
    #[error("not a whole tar archive")]
    Broken(#[from] io::Error),
    /// There is no room for what it holds.
    #[error("cannot keep `{name}`")]
    Keep {
        /// The file.
        name: String,
        /// Why not.
        source: io::Error,
    },
    /// A name that leads out of the root file system.
    #[error("`{0}` leads out of the root file system; such an archive is not unpacked")]
    Outside(String),
    /// A name that is not text.
    #[error("`{0}` is not UTF-8; such an archive is not unpacked")]
    Name(String),
    /// A hard link to nothing.
    #[error("`{name}` is a hard link to `{target}`, which is no file of it")]
    HardLink {
        /// The link.
        name: String,
        /// Where it should lead.
        target: String,
    },
    /// A link that leads to no name.
    #[error("`{0}` is a link to no name")]
    Target(String),
    /// An entry of a type that is not known.
    #[error("`{0}` is neither a file, a folder, a link nor a device")]
    Type(String),
    /// A path through something that is no folder.
    #[error("`{0}` goes through something that is no folder")]
    Through(String),
    /// More than any image has.
    #[error("more than {} GiB when unpacked, or more than {MOST_ENTRIES} entries: no image is that large", MOST_UNPACKED >> 30)]
    Bomb,
    /// Its contents are not those its image names.
    #[error("its unpacked SHA-256 is {got}, and its image says {want}")]
    DiffId {
        /// The sum it has.
        got: Digest,
        /// The sum it should have.
        want: Digest,
    },
}
