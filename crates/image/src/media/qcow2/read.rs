//! The disk inside an existing qcow2 image.

use std::cell::RefCell;
use std::io::{self, Read};

use flate2::read::DeflateDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::{HEADERS, MAGIC};
use crate::media::image::{Image, ImageError, high32, high64, piece};

/// The most entries of the first table: of clusters of 64 KiB, a disk of two petabytes.
const MOST_ENTRIES: u32 = 1 << 22;

/// The feature bits that a reader must support.
const DIRTY: u64 = 1;
const CORRUPT: u64 = 1 << 1;
const EXTERNAL: u64 = 1 << 2;
const COMPRESSION: u64 = 1 << 3;

/// Bits of an entry: where it leads to, that it leads to packed bytes, and that there are zeros.
const PLACE: u64 = 0x00ff_ffff_ffff_fe00;
const PACKED: u64 = 1 << 62;
const ZEROS: u64 = 1;

/// The disk inside of an image.
///
/// Only its first table, the last used second table and the last decompressed cluster are in memory.
pub struct Qcow2<'i> {
    image: &'i dyn Image,
    size: u64,
    cluster_bits: u32,
    packing: ClusterCompression,
    first: Vec<u8>,
    second: RefCell<CachedBlock>,
    unpacked: RefCell<CachedBlock>,
}

/// A cached block, with its offset.
#[derive(Default)]
struct CachedBlock {
    from: Option<u64>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ClusterCompression {
    Zlib,
    Zstd,
}

impl<'i> Qcow2<'i> {
    /// The disk inside of an image; none if it is not qcow2.
    pub fn find_in(image: &'i dyn Image) -> Result<Option<Self>, ImageError> {
        let Ok(head) = piece(image, 0, HEADERS[0], "header") else { return Ok(None) };
        if !head.starts_with(MAGIC) {
            return Ok(None);
        }
        let version = high32(&head, 4);
        let refused = |why: &str| Err(ImageError::Qcow2(why.to_owned()));
        if !(2..=3).contains(&version) {
            return Err(ImageError::Qcow2(format!("version {version}; want 2 or 3")));
        }
        if high64(&head, 8) != 0 {
            return refused("it has a backing file; convert it with `qemu-img convert`");
        }
        if high32(&head, 32) != 0 {
            return refused("it is encrypted; decrypt it with `qemu-img convert`");
        }
        let packing = if version == 2 { ClusterCompression::Zlib } else { features(image)? };
        let (cluster_bits, size) = (high32(&head, 20), high64(&head, 24));
        if !(9..=21).contains(&cluster_bits) {
            return Err(ImageError::Broken("cluster size"));
        }
        let entries = high32(&head, 36);
        // Each entry of the first table refers to a table that fills a cluster.
        let reach = 1_u64 << (2 * cluster_bits - 3);
        if entries > MOST_ENTRIES || u64::from(entries).saturating_mul(reach) < size {
            return Err(ImageError::Broken("L1 table"));
        }
        let first = piece(image, high64(&head, 40), entries as usize * 8, "L1 table")?;
        let (second, unpacked) = Default::default();
        Ok(Some(Self { image, size, cluster_bits, packing, first, second, unpacked }))
    }

    fn cluster(&self) -> u64 {
        1 << self.cluster_bits
    }

    /// The entry of the cluster that `offset` is in.
    fn entry(&self, offset: u64) -> io::Result<u64> {
        let per_table = self.cluster() / 8;
        let cluster = offset >> self.cluster_bits;
        let (nth, within) = (index(cluster / per_table)?, index(cluster % per_table)?);
        let table = self.first.get(nth * 8..nth * 8 + 8).ok_or_else(broken)?;
        let place = high64(table, 0) & PLACE;
        if place == 0 {
            return Ok(0);
        }
        let mut kept = self.second.borrow_mut();
        if kept.from != Some(place) {
            kept.from = None;
            kept.bytes.resize(index(self.cluster())?, 0);
            if place.saturating_add(self.cluster()) > self.image.size() {
                return Err(cut_off());
            }
            self.image.read_at(place, &mut kept.bytes)?;
            kept.from = Some(place);
        }
        Ok(high64(&kept.bytes, within * 8))
    }

    /// A part of one cluster.
    fn read_within(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let entry = self.entry(offset)?;
        let within = offset & (self.cluster() - 1);
        if entry & PACKED != 0 {
            return self.unpack(entry, index(within)?, buffer);
        }
        let place = entry & PLACE;
        if place == 0 || entry & ZEROS != 0 {
            buffer.fill(0);
            return Ok(());
        }
        // The last cluster may be incomplete: the missing bytes are zeros.
        let there = self.image.size().checked_sub(place).filter(|there| *there > 0).ok_or_else(cut_off)?;
        let there = index(there.saturating_sub(within).min(buffer.len() as u64))?;
        buffer[there..].fill(0);
        self.image.read_at(place + within, &mut buffer[..there])
    }

    fn unpack(&self, entry: u64, within: usize, buffer: &mut [u8]) -> io::Result<()> {
        let mut kept = self.unpacked.borrow_mut();
        if kept.from != Some(entry) {
            kept.from = None;
            kept.bytes.clear();
            let packed = self.decompress_cluster(entry)?;
            let (mut from, cluster) = (packed.as_slice(), self.cluster());
            let read = match self.packing {
                ClusterCompression::Zlib => {
                    DeflateDecoder::new(from).take(cluster).read_to_end(&mut kept.bytes)
                }
                ClusterCompression::Zstd => {
                    let decoder = StreamingDecoder::new(&mut from).map_err(|_| broken())?;
                    decoder.take(cluster).read_to_end(&mut kept.bytes)
                }
            };
            if read.is_err() || kept.bytes.len() as u64 != cluster {
                return Err(broken());
            }
            kept.from = Some(entry);
        }
        let end = within + buffer.len();
        buffer.copy_from_slice(kept.bytes.get(within..end).ok_or_else(broken)?);
        Ok(())
    }

    /// The packed bytes of an entry: they start anywhere, and end with a sector of 512 bytes or with the image.
    fn decompress_cluster(&self, entry: u64) -> io::Result<Vec<u8>> {
        let bits = 62 - (self.cluster_bits - 8);
        let place = entry & ((1 << bits) - 1);
        let sectors = (entry & (PACKED - 1)) >> bits;
        let end = ((place / 512 + sectors + 1) * 512).min(self.image.size());
        let length = end.checked_sub(place).filter(|length| *length > 0).ok_or_else(cut_off)?;
        let mut bytes = vec![0; index(length)?];
        self.image.read_at(place, &mut bytes)?;
        Ok(bytes)
    }
}

impl Image for Qcow2<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while !buffer.is_empty() {
            let left = self.cluster() - (offset & (self.cluster() - 1));
            let length = index(left.min(buffer.len() as u64))?;
            let (now, later) = buffer.split_at_mut(length);
            self.read_within(offset, now)?;
            offset += length as u64;
            buffer = later;
        }
        Ok(())
    }
}

/// The compression of clusters, if every feature of the image is supported.
fn features(image: &dyn Image) -> Result<ClusterCompression, ImageError> {
    let head = piece(image, 0, HEADERS[1], "header")?;
    let (features, length) = (high64(&head, 72), high32(&head, 100));
    if features & CORRUPT != 0 {
        return Err(ImageError::Qcow2(
            "it is marked as corrupt; repair it with `qemu-img check -r all`".to_owned(),
        ));
    }
    if features & EXTERNAL != 0 {
        return Err(ImageError::Qcow2("its data is in an external file; use that file".to_owned()));
    }
    if features & !(DIRTY | COMPRESSION) != 0 {
        let why = "it has unknown features; convert it with `qemu-img convert`";
        return Err(ImageError::Qcow2(why.to_owned()));
    }
    if features & COMPRESSION == 0 || length as usize <= HEADERS[1] {
        return Ok(ClusterCompression::Zlib);
    }
    match piece(image, HEADERS[1] as u64, 1, "header")?[0] {
        0 => Ok(ClusterCompression::Zlib),
        1 => Ok(ClusterCompression::Zstd),
        _ => Err(ImageError::Qcow2("its compression is unknown".to_owned())),
    }
}

fn index(number: u64) -> io::Result<usize> {
    usize::try_from(number).map_err(|_| broken())
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the qcow2 image is corrupt")
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the qcow2 image is truncated")
}
