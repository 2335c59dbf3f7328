//! Sources of blobs: a layout, an archive, a registry. Sources are not trusted: sizes and
//! digests are verified while a blob is read, and before any of it is used.

use std::io::Read;

use super::blob::Blob;
use super::descriptor::Descriptor;
use super::error::{OciError, SourceError};

/// No manifest or configuration is larger; registries refuse larger ones.
pub const LARGEST_DOCUMENT: u64 = 4 << 20;

/// The largest stored layer.
pub const LARGEST_LAYER: u64 = 2 << 30;

/// Somewhere with blobs.
pub trait BlobSource {
    /// The top document: the index of a layout, or the manifest of a tag in a registry. At most
    /// [`LARGEST_DOCUMENT`] bytes.
    fn top(&mut self) -> Result<Vec<u8>, SourceError>;

    /// The bytes of a blob. They need not be verified, and no more than the size in the descriptor has to be there.
    fn blob(&mut self, descriptor: &Descriptor) -> Result<Box<dyn Read + '_>, SourceError>;
}

/// The top document of a source.
pub(super) fn top(source: &mut dyn BlobSource) -> Result<Vec<u8>, OciError> {
    let what = "the image index";
    let bytes =
        source.top().map_err(|failure| OciError::Source { what: what.to_owned(), source: failure })?;
    let size = bytes.len() as u64;
    if size > LARGEST_DOCUMENT {
        return Err(OciError::Large { what: what.to_owned(), size, most: LARGEST_DOCUMENT });
    }
    Ok(bytes)
}

/// A manifest, a list of them or a configuration, verified.
pub(super) fn document(source: &mut dyn BlobSource, descriptor: &Descriptor) -> Result<Vec<u8>, OciError> {
    let mut blob = open(source, descriptor, LARGEST_DOCUMENT)?;
    let mut bytes = Vec::new();
    // Errors are reported at the end.
    let _ = blob.read_to_end(&mut bytes);
    blob.finish()?;
    Ok(bytes)
}

/// A blob, which is verified while it is read.
pub fn blob<'s>(source: &'s mut dyn BlobSource, descriptor: &Descriptor) -> Result<Blob<'s>, OciError> {
    open(source, descriptor, LARGEST_LAYER)
}

fn open<'s>(
    source: &'s mut dyn BlobSource,
    descriptor: &Descriptor,
    most: u64,
) -> Result<Blob<'s>, OciError> {
    let what = || format!("blob {}", descriptor.digest);
    if descriptor.size > most {
        return Err(OciError::Large { what: what(), size: descriptor.size, most });
    }
    let bytes =
        source.blob(descriptor).map_err(|failure| OciError::Source { what: what(), source: failure })?;
    Ok(Blob::new(bytes, descriptor))
}
