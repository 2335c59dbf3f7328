//! The compression of an archive or a file, detected by its signature.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read, Write};

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use lzma_rust2::XzReader;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// The chunk size.
const BUFFER: usize = 64 << 10;

/// The dictionary of xz may be so large, in KiB: twice that of `xz -9`.
const LARGEST_DICTIONARY: u32 = 128 << 10;

/// Decompresses a stream.
pub fn decompress<'r>(bytes: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    let mut bytes = BufReader::with_capacity(BUFFER, bytes);
    let mut head = Vec::new();
    bytes.by_ref().take(6).read_to_end(&mut head)?;
    let stream = Cursor::new(head.clone()).chain(bytes);
    Ok(match head.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(stream)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(ZstdFrames { rest: Some(stream), frame: None }),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            Box::new(XzReader::new_mem_limit(stream, true, LARGEST_DICTIONARY))
        }
        _ => Box::new(stream),
    })
}

/// The signature of a zstd frame, read already, and the rest.
type FrameStream<R> = Chain<Cursor<[u8; 4]>, R>;

/// Frames of zstd, of which several may be concatenated. At any time there is either a frame or the rest after it.
struct ZstdFrames<R: BufRead> {
    rest: Option<R>,
    frame: Option<StreamingDecoder<FrameStream<R>, FrameDecoder>>,
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                match frame.read(buffer)? {
                    0 if buffer.is_empty() => return Ok(0),
                    0 => self.rest = self.frame.take().map(|frame| frame.into_inner().into_inner().1),
                    read => return Ok(read),
                }
            }
            let Some(mut rest) = self.rest.take() else { return Ok(0) };
            let Some(mark) = next_mark(&mut rest)? else { return Ok(0) };
            let marked = Cursor::new(mark).chain(rest);
            self.frame = Some(StreamingDecoder::new(marked).map_err(io::Error::other)?);
        }
    }
}

/// The mark of the next frame that is not to be skipped: RFC 8878, 3.1.2. Images that are loaded piece by piece have their lists in those
/// that are.
fn next_mark(rest: &mut impl BufRead) -> io::Result<Option<[u8; 4]>> {
    let mut word = [0; 4];
    while !rest.fill_buf()?.is_empty() {
        rest.read_exact(&mut word)?;
        let [0x50..=0x5f, 0x2a, 0x4d, 0x18] = word else { return Ok(Some(word)) };
        rest.read_exact(&mut word)?;
        let length = u64::from(u32::from_le_bytes(word));
        if io::copy(&mut rest.take(length), &mut io::sink())? < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(None)
}

/// Compresses with gzip, always to the same bytes: without a name, a time and a system.
pub(super) fn gzip<W: Write>(out: W) -> GzEncoder<W> {
    // 255 is a system that is not known, RFC 1952, 2.3.1.
    GzBuilder::new().mtime(0).operating_system(255).write(out, Compression::new(6))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time, as a network may.
    struct ByteReader<'b>(&'b [u8]);

    impl Read for ByteReader<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(1);
            self.0.read(&mut buffer[..length])
        }
    }

    fn read(bytes: &[u8]) -> Option<Vec<u8>> {
        let all = |reader: Box<dyn Read + '_>| {
            let mut unpacked = Vec::new();
            decompress(reader).and_then(|mut reader| reader.read_to_end(&mut unpacked)).ok().map(|_| unpacked)
        };
        let stream = all(Box::new(bytes));
        assert_eq!(stream, all(Box::new(ByteReader(bytes))));
        stream
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = super::gzip(Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_compression_is_decompressed() {
        let text = b"many words ".repeat(5_000);
        let zstd = zstd::bulk::compress(&text, 3).unwrap();
        let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();

        assert_eq!(read(&text).as_ref(), Some(&text));
        assert_eq!(read(&gzip(&text)).as_ref(), Some(&text));
        assert_eq!(read(&[gzip(&text), gzip(&text)].concat()), Some(text.repeat(2)));
        assert_eq!(read(&zstd).as_ref(), Some(&text));
        assert_eq!(read(&[zstd.clone(), skipped.clone(), zstd.clone()].concat()), Some(text.repeat(2)));
        assert_eq!(read(&[&zstd, &skipped[..10]].concat()), None, "cut off in what is skipped");
        for packed in [gzip(&text), zstd] {
            assert_eq!(read(&packed[..packed.len() - 9]), None, "cut off");
        }
    }
}
