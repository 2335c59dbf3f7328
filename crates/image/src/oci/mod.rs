//! Container images: written reproducibly, read without trust.
//!
//! A [`BlobSource`] provides blobs: an [`Archive`] here, a layout on disk or a registry elsewhere. [`OciImage::find`] picks
//! the image for an architecture, [`OciImage::unpack`] applies its layers to a [`FileTree`], and [`ImageLayout::pack`] is the inverse. All
//! input is verified: sizes and digests of all blobs, and of the unpacked layers.
//!
//! Layers may be longer than memory. They are read and written as a stream, and long contents go to a [`BlobStore`].
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
