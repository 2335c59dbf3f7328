//! Container images: written always to the same bytes, read without believing anything.
//!
//! A [`BlobSource`] is where blobs come from: an [`Archive`] here, a layout on disk or a registry elsewhere. [`OciImage::find`] picks
//! the image for an architecture, [`OciImage::unpack`] lays its layers over each other to a [`FileTree`], and [`ImageLayout::pack`] is the way back. What
//! is read is verified: sizes and digests of all blobs, and the sums of the unpacked layers.
//!
//! Layers may be longer than memory. They are read and written in one go, and what is long goes to a [`BlobStore`].
//!
//! Not here: talking to registries, and reading or writing files.

mod archive;
mod blob;
mod blob_store;
mod budget;
mod compression;
mod config;
mod descriptor;
mod digest;
mod document;
mod error;
mod file_tree;
mod image;
mod layer;
mod layout;
mod reference;
mod source;
mod unpack;

pub use archive::{Archive, ArchiveError, ArchivedLayout};
pub use blob::Blob;
pub(crate) use blob_store::LengthStore;
pub use blob_store::{BlobStore, BlobWriter, MemoryStore};
pub use budget::MOST_UNPACKED;
pub use compression::decompress;
pub use descriptor::{ACCEPTED, Descriptor};
pub use digest::Digest;
pub use document::{Document, Manifest};
pub use error::{LayerError, OciError, SourceError};
pub use file_tree::{EntryKind, FileTree, TreeEntry};
pub use image::{ImageUpload, OciImage};
pub use layer::pack;
pub use layer::{Layer, layer};
pub use layout::{ImageLayout, LAYOUT, LIST, NewImage};
pub use reference::{Reference, ReferenceError};
pub use source::{BlobSource, LARGEST_DOCUMENT, LARGEST_LAYER, blob};
pub use unpack::LayerUnpacker;
