//! Container images: written always to the same bytes, read without believing anything.
//!
//! A [`Source`] is where blobs come from: an [`Archive`] here, a layout on disk or a registry elsewhere. [`Image::find`] picks
//! the image for an architecture, [`Image::unpack`] lays its layers over each other to a [`Root`], and [`Layout::pack`] is the way back. What
//! is read is verified: sizes and digests of all blobs, and the sums of the unpacked layers.
//!
//! Layers may be longer than memory. They are read and written in one go, and what is long goes to a [`Spool`].
//!
//! Not here: talking to registries, and reading or writing files.

mod archive;
mod blob;
mod budget;
mod compression;
mod config;
mod descriptor;
mod digest;
mod document;
mod error;
mod image;
mod layer;
mod layout;
mod reference;
mod root;
mod source;
mod spool;
mod unpack;

pub use archive::{Archive, ArchiveError, Unpacked};
pub use blob::Blob;
pub use budget::MOST_UNPACKED;
pub use compression::plain;
pub use descriptor::{ACCEPTED, Descriptor};
pub use digest::Digest;
pub use document::{Document, Manifest};
pub use error::{Failure, LayerError, ReadError};
pub use image::{Image, Shipment};
pub use layer::pack;
pub use layer::{Layer, layer};
pub use layout::{LAYOUT, LIST, Layout, Packed};
pub use reference::{Reference, ReferenceError};
pub use root::{Entry, Kind, Root};
pub use source::{LARGEST_DOCUMENT, LARGEST_LAYER, Source, blob};
pub(crate) use spool::Lengths;
pub use spool::{Fill, Memory, Spool};
pub use unpack::Unpack;
