//! How a tar archive is compressed, told by how it begins.

use std::io::{self, Read, Write as _};

use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};
use lzma_rust2::XzReader;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// What the bytes of an archive are once nothing compresses them.
pub(super) fn plain(bytes: &[u8]) -> Box<dyn Read + '_> {
    match bytes {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(bytes)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(Frames { rest: bytes, frame: None }),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Box::new(XzReader::new(bytes, true)),
        _ => Box::new(bytes),
    }
}

/// Frames of zstd, of which several may follow each other.
struct Frames<'b> {
    rest: &'b [u8],
    frame: Option<StreamingDecoder<&'b [u8], FrameDecoder>>,
}

impl Read for Frames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                match frame.read(buffer)? {
                    0 => self.rest = self.frame.take().map_or(&[][..], StreamingDecoder::into_inner),
                    read => return Ok(read),
                }
            }
            self.rest = without_skipped(self.rest);
            if self.rest.is_empty() || buffer.is_empty() {
                return Ok(0);
            }
            self.frame = Some(StreamingDecoder::new(self.rest).map_err(io::Error::other)?);
        }
    }
}

/// What follows frames that hold nothing to be unpacked: RFC 8878, 3.1.2. Images that are loaded piece by piece have their lists there.
fn without_skipped(mut bytes: &[u8]) -> &[u8] {
    while let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, rest @ ..] = bytes {
        let length = usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
        bytes = rest.get(length..).unwrap_or_default();
    }
    bytes
}

/// Compresses with gzip, always to the same bytes: without a name, a time and a system.
pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    // 255 is a system that is not known, RFC 1952, 2.3.1.
    let builder = GzBuilder::new().mtime(0).operating_system(255);
    let mut encoder = builder.write(Vec::new(), Compression::new(6));
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("memory takes every byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<Vec<u8>> {
        let mut unpacked = Vec::new();
        plain(bytes).read_to_end(&mut unpacked).ok().map(|_| unpacked)
    }

    #[test]
    fn every_compression_is_undone() {
        let text = b"many words ".repeat(50_000);
        let zstd = zstd::bulk::compress(&text, 3).unwrap();
        let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();

        assert_eq!(read(&text).as_ref(), Some(&text));
        assert_eq!(read(&gzip(&text)).as_ref(), Some(&text));
        assert_eq!(read(&[gzip(&text), gzip(&text)].concat()), Some(text.repeat(2)));
        assert_eq!(read(&zstd).as_ref(), Some(&text));
        assert_eq!(read(&[zstd.clone(), skipped, zstd.clone()].concat()), Some(text.repeat(2)));
        for packed in [gzip(&text), zstd] {
            assert_eq!(read(&packed[..packed.len() - 9]), None, "cut off");
        }
    }
}
