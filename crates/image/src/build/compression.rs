//! Decompression of files, detected by their signature.

use std::io::{self, BufReader, Read};

use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

use super::kernel::is_at;
use crate::media::Content;

/// The signature of a CD.
pub(super) const CD_MARK: (u64, &[u8]) = (0x8001, b"CD001");

/// The signatures of compressed files and archives.
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const XZ: &[u8] = b"\xfd7zXZ\0";
const GZIP: &[u8] = b"\x1f\x8b";
const CPIO: &[u8] = b"07070";

/// The signature of a tar archive in its first block, and the disk's name in one for Google Cloud.
const TAR_MARK: (u64, &[u8]) = (257, b"ustar");
const DISK_IN_TAR: &[u8] = b"disk.raw";

/// The signature at the end of the first sector of every boot disk, and how many bytes are read to detect it.
const DISK_MARK: (u64, &[u8]) = (510, b"\x55\xaa");
const HEAD: u64 = 0x9000;

/// The chunk size, and the memory limit of decompression.
const BUFFER: usize = 256 << 10;
const MOST_MEMORY: u32 = 128 << 20;

/// Whether it is a cpio archive, compressed or not. A disk may be compressed in the same way.
pub(super) fn is_initramfs(content: &Content) -> bool {
    if is_at(content, (0, CPIO)) {
        return true;
    }
    let mut start = [0; CPIO.len()];
    decompress(content).is_some_and(|mut unpacked| unpacked.read_exact(&mut start).is_ok()) && start == CPIO
}

/// Decompresses a disk image with `unpack`: zstd, xz or gzip, or the archive for Google Cloud. None if it is not compressed, or not
/// a disk; then only its beginning is decompressed.
pub fn packed_disk(
    content: &Content,
    unpack: &mut dyn FnMut(&mut dyn Read) -> io::Result<Content>,
) -> Option<io::Result<Content>> {
    let mut packed = decompress(content).filter(|_| !is_initramfs(content))?;
    let head = match read_head(&mut packed) {
        Ok(head) => head,
        Err(error) => return Some(Err(error)),
    };
    if is_at(&head, TAR_MARK) {
        Some(archived_disk(head.reader().chain(packed), unpack))
    } else {
        is_disk(&head).then(|| unpack(&mut head.reader().chain(packed)))
    }
}

/// The first bytes of a reader.
fn read_head(reader: &mut dyn Read) -> io::Result<Content> {
    let mut head = Vec::new();
    reader.take(HEAD).read_to_end(&mut head)?;
    Ok(head.into())
}

/// Whether something begins as a disk or a CD does.
fn is_disk(head: &Content) -> bool {
    is_at(head, DISK_MARK) || is_at(head, CD_MARK)
}

fn archived_disk(
    archive: impl Read,
    unpack: &mut dyn FnMut(&mut dyn Read) -> io::Result<Content>,
) -> io::Result<Content> {
    // Google Cloud accepts an archive with this file only: later entries are ignored.
    if let Some(entry) = tar::Archive::new(archive).entries()?.next() {
        let mut entry = entry?;
        if entry.path_bytes().ends_with(DISK_IN_TAR) {
            let head = read_head(&mut entry)?;
            if is_disk(&head) {
                return unpack(&mut head.reader().chain(entry));
            }
        }
    }
    Err(io::Error::other("the archive does not begin with a disk.raw; want one that Google's cloud takes"))
}

/// The decompressed content; none if it is not compressed.
pub(super) fn decompress(content: &Content) -> Option<Box<dyn Read + '_>> {
    let reader = BufReader::with_capacity(BUFFER, content.reader());
    if is_at(content, (0, ZSTD)) {
        Some(Box::new(StreamingDecoder::new_with_max_window_size(reader, MOST_MEMORY.into()).ok()?))
    } else if is_at(content, (0, XZ)) {
        Some(Box::new(XzReader::new_mem_limit(reader, false, MOST_MEMORY >> 10)))
    } else if is_at(content, (0, GZIP)) {
        Some(Box::new(GzDecoder::new(reader)))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content, decompressed as a disk image.
    fn disk_in(packed: &[u8]) -> Option<io::Result<Vec<u8>>> {
        let unpack = &mut |disk: &mut dyn Read| {
            let mut bytes = Vec::new();
            disk.read_to_end(&mut bytes)?;
            Ok(bytes.into())
        };
        Some(packed_disk(&packed.to_vec().into(), unpack)?.and_then(|disk| disk.read()))
    }

    fn tar_of(name: &str, bytes: &[u8]) -> Vec<u8> {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        let mut tar = tar::Builder::new(Vec::new());
        tar.append_data(&mut header, name, bytes).unwrap();
        tar.into_inner().unwrap()
    }

    #[test]
    fn only_disk_images_are_decompressed() {
        let mut disk = vec![7; 100_000];
        disk[510..512].copy_from_slice(b"\x55\xaa");
        let mut cd = vec![0; 100_000];
        cd[0x8001..0x8006].copy_from_slice(b"CD001");
        let zstd = |bytes: &[u8]| zstd::bulk::compress(bytes, 1).unwrap();

        for whole in [&disk, &cd] {
            assert_eq!(disk_in(&zstd(whole)).unwrap().unwrap(), *whole);
            assert_eq!(disk_in(&zstd(&tar_of("disk.raw", whole))).unwrap().unwrap(), *whole);
        }
        // Long texts, file systems, and doubly compressed files.
        for other in [vec![0; 100_000], b"hsqs".repeat(9000), zstd(&disk), b"short".to_vec(), Vec::new()] {
            assert!(disk_in(&zstd(&other)).is_none());
            assert!(disk_in(&zstd(&tar_of("disk.raw", &other))).unwrap().is_err());
        }
        assert!(disk_in(&zstd(&tar_of("other", &disk))).unwrap().is_err());
        assert!(disk_in(&disk).is_none());
    }
}
