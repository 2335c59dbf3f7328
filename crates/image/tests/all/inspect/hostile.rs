//! Images that are broken, cut off, or made to hurt: read or refused, and soon.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use ichor_image::inspect::{BootMedia, inspect};
use ichor_image::media::{Image, Volume, iso9660};
use ichor_image::oci::MemoryStore;
use proptest::prelude::*;

use crate::inspect::disk;
use crate::inspect::images::{WORKER, machine};

/// An image that counts the bytes read.
struct CountingImage<'b> {
    bytes: &'b [u8],
    read: AtomicU64,
}

impl Image for CountingImage<'_> {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.bytes.read_at(offset, buffer)
    }
}

/// Inspects an image; how many bytes were read for it.
fn bytes_read(bytes: &[u8]) -> u64 {
    let image = CountingImage { bytes, read: AtomicU64::new(0) };
    if let Ok(media) = BootMedia::of_image(&image, &mut MemoryStore::default()) {
        let _ = inspect(&media, &machine("v1.13.9"));
    }
    image.read.load(Ordering::Relaxed)
}

/// An offset and a length.
type Span = (usize, usize);

/// Images of every kind, each with the places that matter most.
fn images() -> Vec<(Vec<u8>, Vec<Span>)> {
    let disk = disk::talos("talos.platform=metal", &[(10, "addresses: []")], b"XFSB");
    let files = vec![("user-data", WORKER.as_bytes()), ("network-config", &b"version: 2\n"[..])];
    let cd = iso9660::write(&Volume::new("cidata", files).unwrap());
    let boot = 40 * disk::SECTOR;
    let data = boot + 35 * disk::SECTOR;
    let places = vec![(0, 34 * disk::SECTOR), (boot, 600), (boot + 33 * disk::SECTOR, 64), (data, 6000)];
    let qcow2 = disk::qcow2(&disk);
    vec![(qcow2, vec![(0, 112), (4096, 16), (8192, 4096)]), (disk, places), (cd, vec![(32 << 10, 30 << 10)])]
}

#[test]
fn reading_a_truncated_image_ends() {
    for (image, _) in images() {
        for length in (0..image.len()).step_by(7919) {
            bytes_read(&image[..length]);
        }
    }
}

#[test]
fn table_loops_end() {
    let disk = disk::talos("talos.platform=metal", &[], b"");
    let mut image = disk::qcow2(&disk);
    // Every entry of both tables leads to the second table itself.
    for at in (4096..12288).step_by(8) {
        image[at..at + 8].copy_from_slice(&8192_u64.to_be_bytes());
    }
    bytes_read(&image);
    // A folder that is inside of itself, and a kernel image whose chain bites its tail.
    let mut image = disk;
    let data = (40 + 35) * disk::SECTOR;
    image[data + 26] = 2;
    bytes_read(&image);
    let table = 41 * disk::SECTOR;
    image[table + 20..table + 22].copy_from_slice(&10_u16.to_le_bytes());
    bytes_read(&image);
}

#[test]
fn excessive_sizes_are_rejected() {
    let small = disk::qcow2(&disk::gpt(&[]));
    for (at, bytes) in [
        (24, (1_u64 << 63).to_be_bytes()),
        (24, u64::MAX.to_be_bytes()),
        (40, (1_u64 << 63).to_be_bytes()),
        (40, u64::MAX.to_be_bytes()),
        (36, [0xff; 8]),
        (20, [0, 0, 0, 63, 0, 0, 0, 0]),
    ] {
        let mut image = small.clone();
        image[at..at + 8].copy_from_slice(&bytes);
        assert!(BootMedia::of_image(&image, &mut MemoryStore::default()).is_err(), "{at}");
    }
    let mut disk = disk::gpt(&[("META", disk::meta(&[]))]);
    disk[446 + 4] = 0x0c;
    disk[446 + 8..446 + 16].fill(0xff);
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk[512] = 0;
    assert!(BootMedia::of_image(&disk, &mut MemoryStore::default()).is_err(), "a partition beyond the end");
}

#[test]
fn nested_compression_is_limited() {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&vec![b'#'; 1 << 20]).unwrap();
    // Compressed streams may be concatenated.
    let bomb = packer.finish().unwrap().repeat(1000);
    let volume = Volume::new("cidata", vec![("user-data", &bomb)]).unwrap();

    let media = BootMedia::of_image(&iso9660::write(&volume), &mut MemoryStore::default()).unwrap();
    let found = inspect(&media, &machine("v1.13.9")).unwrap();

    assert!(
        found.mistakes[0].issue.message.contains("larger than 16 MiB when decompressed"),
        "{:?}",
        found.mistakes
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn an_image_with_changed_bytes_is_read_or_rejected(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..24),
    ) {
        for (image, places) in images() {
            let mut changed = image.clone();
            for (place, index, byte) in &changes {
                let (start, length) = places[place.index(places.len())];
                changed[start + index.index(length)] = *byte;
            }
            // No more is read than some times what there is.
            prop_assert!(bytes_read(&changed) < 64 << 20);
        }
    }

    #[test]
    fn arbitrary_bytes_are_read_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..2048), start in 0..4_usize) {
        let magic: &[u8] = [&b"QFI\xfb\0\0\0\x03"[..], b"MZ", b"", b"\xeb\x3c\x90mkfs.fat"][start];
        bytes_read(&[magic, &bytes].concat());
    }
}
