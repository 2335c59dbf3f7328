//! The version of a kernel, which modules have to be of.
//!
//! Kernels for x86 say it in their header. Those for arm64 have it only in the text that they boot with, and may be programs that unpack themselves.

use std::io::Read;

use super::compression::decompress;
use crate::media::{Content, Image as _};

/// The setup header of a kernel for a BIOS: its signature, the length of the setup code, and the offset of the version.
pub(super) const X86_MARK: (u64, &[u8]) = (0x202, b"HdrS");
const FIRST_PART: u64 = 0x1f1;
const VERSION_AT: u64 = 0x20e;
const SECTOR: u64 = 0x200;

/// The signatures of kernels for arm64: uncompressed, and packed in a program that decompresses them.
pub(super) const ARM64_MARK: (u64, &[u8]) = (0x38, b"ARM\x64");
pub(super) const ZBOOT_MARK: (u64, &[u8]) = (4, b"zimg");

/// Where such a program has the offset and length of the kernel.
const PAYLOAD: u64 = 8;

/// The text before the version in a kernel's banner, and the longest banner.
const BANNER: &[u8] = b"Linux version ";
const LONGEST_VERSION: usize = 256;

/// How much of a kernel is searched, and the chunk size.
const MOST: u64 = 256 << 20;
const BLOCK: u64 = 256 << 10;

/// The version of a kernel; none if it is unknown.
pub fn version(kernel: &Content) -> Option<String> {
    if is_at(kernel, X86_MARK) {
        written_version(kernel)
    } else if is_at(kernel, ARM64_MARK) {
        search(&mut kernel.reader())
    } else if is_at(kernel, ZBOOT_MARK) {
        search(&mut decompress(&payload(kernel)?)?)
    } else {
        None
    }
}

/// The version in the header of a kernel, which those for x86 have.
pub(crate) fn written_version(kernel: &Content) -> Option<String> {
    if !is_at(kernel, X86_MARK) {
        return None;
    }
    let first_part = u64::from(read(kernel, FIRST_PART, 1)?[0]) * SECTOR;
    let at = u64::from(u16::from_le_bytes(read(kernel, VERSION_AT, 2)?.try_into().ok()?));
    if at == 0 || at > first_part {
        return None;
    }
    let at = at + SECTOR;
    let text = read(kernel, at, (LONGEST_VERSION as u64).min(kernel.size().checked_sub(at)?))?;
    let text = text.split(|byte| *byte == 0).next()?;
    let version = str::from_utf8(text).ok()?.split(' ').next()?;
    (!version.is_empty()).then(|| version.to_owned())
}

/// Whether `content` has certain bytes at an offset.
pub(super) fn is_at(content: &Content, (at, mark): (u64, &[u8])) -> bool {
    read(content, at, mark.len() as u64).is_some_and(|bytes| bytes == mark)
}

fn read(content: &Content, at: u64, length: u64) -> Option<Vec<u8>> {
    content.part(at, length)?.read().ok()
}

/// The packed kernel in a program that unpacks it.
fn payload(program: &Content) -> Option<Content> {
    let number = |at: u64| Some(u32::from_le_bytes(read(program, at, 4)?.try_into().ok()?));
    program.part(number(PAYLOAD)?.into(), number(PAYLOAD + 4)?.into())
}

/// The version in the text that a kernel boots with.
fn search(kernel: &mut dyn Read) -> Option<String> {
    let mut kernel = kernel.take(MOST);
    let mut window = Vec::new();
    loop {
        let known = window.len();
        let read = kernel.by_ref().take(BLOCK).read_to_end(&mut window);
        if let Some(version) = banner(&window) {
            return Some(version);
        }
        if read.is_err() || window.len() == known {
            return None;
        }
        // The banner may continue in the next chunk.
        window.drain(..window.len().saturating_sub(BANNER.len() + LONGEST_VERSION));
    }
}

/// The version after the first banner that has one.
fn banner(bytes: &[u8]) -> Option<String> {
    let starts = bytes.windows(BANNER.len()).enumerate().filter(|(_, window)| *window == BANNER);
    let version = |(at, _)| {
        let text = &bytes[at + BANNER.len()..];
        let end = text.iter().take(LONGEST_VERSION).position(|byte| *byte == b' ')?;
        let version = str::from_utf8(&text[..end]).ok()?;
        let is_one = version.starts_with(|first: char| first.is_ascii_digit())
            && version.bytes().all(|byte| byte.is_ascii_graphic());
        is_one.then(|| version.to_owned())
    };
    starts.into_iter().find_map(version)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// A kernel's data: a format string that looks like a banner, and the banner, far behind.
    fn running(at: usize) -> Vec<u8> {
        let mut bytes = vec![0xd5; at];
        bytes[..2].copy_from_slice(b"MZ");
        bytes[0x38..0x3c].copy_from_slice(b"ARM\x64");
        bytes[0x100..0x11c].copy_from_slice(b"Linux version %s (%s@%s)\0\0\0\0");
        bytes.extend(b"Linux version 6.18.5-talos (talos@buildkitsandbox) (clang) #1 SMP\0");
        bytes.resize(at + 5000, 0);
        bytes
    }

    fn zboot(packed: &[u8]) -> Content {
        let mut bytes = vec![0; 0x1000];
        bytes[..8].copy_from_slice(b"MZ\0\0zimg");
        bytes[8..12].copy_from_slice(&0x1000_u32.to_le_bytes());
        bytes[12..16].copy_from_slice(&u32::try_from(packed.len()).unwrap().to_le_bytes());
        bytes.extend(packed);
        bytes.extend([0; 512]);
        bytes.into()
    }

    #[test]
    fn an_arm64_kernel_has_its_version_in_its_banner() {
        let block = usize::try_from(BLOCK).unwrap();
        for at in [0x200, block - 20, block - 3, block, 3 * block + 7] {
            assert_eq!(version(&running(at).into()).as_deref(), Some("6.18.5-talos"), "{at}");
        }
    }

    #[test]
    fn a_compressed_kernel_is_searched() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&running(70_000)).unwrap();
        let zstd = zstd::bulk::compress(&running(70_000), 1).unwrap();

        for packed in [gzip.finish().unwrap(), zstd] {
            assert_eq!(version(&zboot(&packed)).as_deref(), Some("6.18.5-talos"));
        }
    }

    #[test]
    fn a_file_without_a_banner_has_no_version() {
        let mut odd = zboot(b"");
        odd = odd.part(0, 14).unwrap();
        let silent = running(0x200)[..0x200].to_vec();
        let cut = running(0x200)[..0x200 + 20].to_vec();

        for kernel in [odd, zboot(b"neither"), zboot(b"\x28\xb5\x2f\xfd"), silent.into(), cut.into()] {
            assert_eq!(version(&kernel), None);
        }
    }
}
