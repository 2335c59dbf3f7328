//! Where blobs come from: a layout, an archive, a registry. Nothing that comes from there is believed: sizes and
//! digests are compared before anything is read.

use super::descriptor::Descriptor;
use super::digest::Digest;
use super::error::{Failure, ReadError};

/// No manifest or configuration is larger; registries refuse larger ones.
pub const LARGEST_DOCUMENT: u64 = 4 << 20;

/// No layer is larger as it is stored.
pub const LARGEST_LAYER: u64 = 1 << 30;

/// Somewhere with blobs.
pub trait Source {
    /// The document that everything begins with: the list of a layout, or what a registry has under a name. At most
    /// [`LARGEST_DOCUMENT`] bytes.
    fn top(&mut self) -> Result<Vec<u8>, Failure>;

    /// The bytes of a blob. It need not be verified, and no more than the size in the descriptor has to be read.
    fn blob(&mut self, descriptor: &Descriptor) -> Result<Vec<u8>, Failure>;
}

/// The top document of a source.
pub(super) fn top(source: &mut dyn Source) -> Result<Vec<u8>, ReadError> {
    let what = "the list of images";
    let bytes =
        source.top().map_err(|failure| ReadError::Source { what: what.to_owned(), source: failure })?;
    let size = bytes.len() as u64;
    if size > LARGEST_DOCUMENT {
        return Err(ReadError::Large { what: what.to_owned(), size, most: LARGEST_DOCUMENT });
    }
    Ok(bytes)
}

/// A blob, verified.
pub fn blob(source: &mut dyn Source, descriptor: &Descriptor, most: u64) -> Result<Vec<u8>, ReadError> {
    let what = || format!("blob {}", descriptor.digest);
    if descriptor.size > most {
        return Err(ReadError::Large { what: what(), size: descriptor.size, most });
    }
    let bytes =
        source.blob(descriptor).map_err(|failure| ReadError::Source { what: what(), source: failure })?;
    let got = bytes.len() as u64;
    if got != descriptor.size {
        return Err(ReadError::Size { what: what(), got, want: descriptor.size });
    }
    let got = Digest::of(&bytes);
    if got != descriptor.digest {
        return Err(ReadError::Digest { what: what(), got, want: descriptor.digest.clone() });
    }
    Ok(bytes)
}
