//! Why an image cannot be read.

use std::error::Error;
use std::io;

use super::budget::{MOST_ENTRIES, MOST_UNPACKED};
use super::digest::Digest;

/// An error of a source of blobs.
pub type SourceError = Box<dyn Error + Send + Sync>;

/// An image that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OciError {
    /// Its source does not give a blob.
    #[error("cannot get {what}")]
    Source {
        /// The requested blob.
        what: String,
        /// The error of the source.
        source: SourceError,
    },
    /// A blob does not match its digest.
    #[error("{what} is corrupt: its SHA-256 is {got}, expected {want}")]
    Digest {
        /// The blob.
        what: String,
        /// The sum it has.
        got: Digest,
        /// The sum it should have.
        want: Digest,
    },
    /// A blob of another size than in its descriptor.
    #[error("{what} has {got} bytes, expected {want}: it may be truncated")]
    Size {
        /// The blob.
        what: String,
        /// The size it has.
        got: u64,
        /// The size it should have.
        want: u64,
    },
    /// A blob that is too large to be read.
    #[error("{what} is too large: {size} bytes, at most {most}")]
    Large {
        /// The blob.
        what: String,
        /// The size its image gives.
        size: u64,
        /// The largest that is read.
        most: u64,
    },
    /// A document that cannot be understood.
    #[error("cannot parse {what}: {reason}")]
    Json {
        /// The document.
        what: String,
        /// The problem.
        reason: String,
    },
    /// The image has no variant for an architecture.
    #[error("no image for linux/{arch}; found {have}")]
    Architecture {
        /// The requested architecture.
        arch: String,
        /// The available ones.
        have: String,
    },
    /// The store has no space for a blob.
    #[error("cannot store {what}")]
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
        /// The problem.
        source: LayerError,
    },
}

impl OciError {
    pub(super) fn json(what: &str, reason: impl Into<String>) -> Self {
        Self::Json { what: what.to_owned(), reason: reason.into() }
    }
}

/// A layer that cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// It is not an archive, or ends too soon.
    #[error("truncated or corrupt tar archive")]
    Broken(#[from] io::Error),
    /// The store has no space for its content.
    #[error("cannot store `{name}`")]
    Keep {
        /// The file.
        name: String,
        /// Why not.
        source: io::Error,
    },
    /// A name that leads out of the root file system.
    #[error("path `{0}` escapes the root file system")]
    Outside(String),
    /// A name that is not text.
    #[error("path `{0}` is not UTF-8")]
    Name(String),
    /// A hard link to nothing.
    #[error("`{name}` is a hard link to `{target}`, which is not a file of the image")]
    HardLink {
        /// The link.
        name: String,
        /// Its target.
        target: String,
    },
    /// A link that leads to no name.
    #[error("`{0}` has an empty link target")]
    Target(String),
    /// An entry of a type that is not known.
    #[error("`{0}` is not a file, folder, link or device")]
    Type(String),
    /// A path through something that is not a folder.
    #[error("`{0}` has a path component that is not a folder")]
    Through(String),
    /// More than any image has.
    #[error("too large: more than {} GiB unpacked, or more than {MOST_ENTRIES} entries", MOST_UNPACKED >> 30)]
    Bomb,
    /// Its contents are not those its image names.
    #[error("its uncompressed SHA-256 is {got}, expected {want}")]
    DiffId {
        /// The sum it has.
        got: Digest,
        /// The sum it should have.
        want: Digest,
    },
}
