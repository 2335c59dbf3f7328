//! Why an image cannot be read.

use std::error::Error;
use std::io;

use super::digest::Digest;
use super::unpack::LayerError;

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
