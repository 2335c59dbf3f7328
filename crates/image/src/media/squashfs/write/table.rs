//! A list of entries of equal length, found by an index of its blocks.

use std::io;

use super::super::METADATA;
use super::metadata::MetadataWriter;

/// The blocks of a list that starts at a position of the image, and their index.
pub(super) fn list(entries: &[u8], start: u64) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut metadata = MetadataWriter::new()?;
    let mut index = Vec::new();
    for block in entries.chunks(METADATA) {
        let at = start + u64::from(metadata.position()?.block);
        index.extend(at.to_le_bytes());
        metadata.push(block)?;
    }
    Ok((metadata.finish()?, index))
}
