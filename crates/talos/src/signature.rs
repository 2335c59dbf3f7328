//! Checks downloaded assets by their first bytes and their length.
//!
//! An error page that comes with status 200, or a file cut short by a full disk, must not become a boot disk.
//!
//! Not here: sums ([`digest`](crate::digest)).

use super::asset::Asset;

/// How many bytes from the start [`check`] needs: the signature of an ISO comes late.
pub const HEAD: usize = 0x8006;

/// No image is shorter.
const SHORTEST: u64 = 64 << 10;

/// Why bytes are not the asset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MagicError {
    /// It is a page for people.
    #[error("it is a web page, not {0}")]
    Page(&'static str),
    /// It is far too short.
    #[error("it is {length} bytes long, too short for {want}")]
    Short {
        /// Its length.
        length: u64,
        /// The expected kind of file.
        want: &'static str,
    },
    /// It has another signature.
    #[error("it does not start like {0}")]
    Other(&'static str),
}

/// Compares the first [`HEAD`] bytes and the length with those of the asset.
pub fn check(asset: &Asset, head: &[u8], length: u64) -> Result<(), MagicError> {
    let want = name(asset);
    let start = head.trim_ascii_start();
    if start.starts_with(b"<") {
        return Err(MagicError::Page(want));
    }
    if *asset == Asset::Cmdline {
        let text = !head.is_empty() && head.iter().all(|byte| matches!(byte, b'\n' | b' '..=b'~'));
        return if text { Ok(()) } else { Err(MagicError::Other(want)) };
    }
    if length < SHORTEST {
        return Err(MagicError::Short { length, want });
    }
    if matches(asset, head) { Ok(()) } else { Err(MagicError::Other(want)) }
}

fn name(asset: &Asset) -> &'static str {
    match asset {
        Asset::Kernel => "a kernel",
        Asset::Initramfs => "an initramfs",
        Asset::Cmdline => "a kernel command line",
        Asset::Iso => "an ISO image",
        Asset::Uki => "an EFI program",
        Asset::Disk(_) => "a disk image",
        Asset::Installer => "an archive",
    }
}

const GZIP: &[u8] = b"\x1f\x8b";
const XZ: &[u8] = b"\xfd7zXZ\0";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

fn matches(asset: &Asset, head: &[u8]) -> bool {
    let at = |from: usize, mark: &[u8]| head.get(from..).is_some_and(|rest| rest.starts_with(mark));
    match asset {
        // x86 has it in its boot header, arm64 in its own; either may be wrapped as an EFI program.
        Asset::Kernel => at(0x202, b"HdrS") || at(0x38, b"ARM\x64") || at(0, b"MZ"),
        Asset::Initramfs => at(0, ZSTD) || at(0, XZ) || at(0, GZIP) || at(0, b"070701"),
        Asset::Iso => at(0x8001, b"CD001"),
        Asset::Uki => at(0, b"MZ"),
        Asset::Installer => at(257, b"ustar"),
        Asset::Disk(format) => match format.rsplit('.').next().unwrap_or_default() {
            "zst" => at(0, ZSTD),
            "xz" => at(0, XZ),
            "gz" => at(0, GZIP),
            "qcow2" => at(0, b"QFI\xfb"),
            "ova" => at(257, b"ustar"),
            "vhd" => at(0, b"conectix") || at(510, b"\x55\xaa"),
            _ => at(510, b"\x55\xaa") || at(512, b"EFI PART"),
        },
        Asset::Cmdline => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(from: usize, mark: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEAD];
        bytes[from..from + mark.len()].copy_from_slice(mark);
        bytes
    }

    #[test]
    fn every_asset_is_detected_by_its_signature() {
        for (asset, from, mark) in [
            (Asset::Kernel, 0x202, &b"HdrS"[..]),
            (Asset::Kernel, 0x38, b"ARM\x64"),
            (Asset::Initramfs, 0, ZSTD),
            (Asset::Iso, 0x8001, b"CD001"),
            (Asset::Uki, 0, b"MZ"),
            (Asset::disk_of("metal"), 0, ZSTD),
            (Asset::disk_of("gcp"), 0, GZIP),
            (Asset::disk("qcow2").unwrap(), 0, b"QFI\xfb"),
            (Asset::Installer, 257, b"ustar"),
        ] {
            assert_eq!(check(&asset, &head(from, mark), 1 << 20), Ok(()), "{asset:?}");
            assert!(check(&asset, &vec![0; HEAD], 1 << 20).is_err(), "{asset:?}");
        }
    }

    #[test]
    fn web_pages_and_fragments_are_rejected() {
        let page = b"\n<!DOCTYPE html><html>";

        assert_eq!(check(&Asset::Iso, page, 1 << 20), Err(MagicError::Page("an ISO image")));
        let scrap = check(&Asset::Initramfs, b"\x28\xb5\x2f\xfd12345", 9);
        assert_eq!(scrap, Err(MagicError::Short { length: 9, want: "an initramfs" }));
        assert_eq!(check(&Asset::Cmdline, b"console=tty0 init_on_alloc=1", 28), Ok(()));
        assert!(check(&Asset::Cmdline, page, 20).is_err());
    }
}
