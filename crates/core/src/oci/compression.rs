//! How a tar archive is compressed, told by how it begins.

use std::io::{self, Read, Write as _};

use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};
use lzma_rust2::XzReader;

/// What the bytes of an archive are once nothing compresses them.
pub(super) fn plain(bytes: &[u8]) -> io::Result<Box<dyn Read + '_>> {
    Ok(match bytes {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(bytes)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::stream::read::Decoder::with_buffer(bytes)?),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Box::new(XzReader::new(bytes, true)),
        _ => Box::new(bytes),
    })
}

/// Compresses with gzip, always to the same bytes: without a name, a time and a system.
pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    // 255 is a system that is not known, RFC 1952, 2.3.1.
    let builder = GzBuilder::new().mtime(0).operating_system(255);
    let mut encoder = builder.write(Vec::new(), Compression::new(6));
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("memory takes every byte")
}
