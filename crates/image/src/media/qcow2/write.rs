//! Writes a disk as a qcow2 image, without empty clusters.
//!
//! After header and first table come clusters and second tables in the order they are needed, and then the reference counts.

use std::io::{self, Seek, SeekFrom, Write};

use super::{HEADERS, MAGIC};
use crate::media::{Content, Image as _};

const CLUSTER_BITS: u32 = 16;
const CLUSTER: usize = 1 << CLUSTER_BITS;

/// How many entries of eight bytes a cluster has, and how many reference counts of two.
const ENTRIES: usize = CLUSTER / 8;
const COUNTS: usize = CLUSTER / 2;

/// That a cluster is counted once, and may be written to.
const COPIED: u64 = 1 << 63;

/// Writes an image of a disk. `out` is empty.
pub fn write<W: Write + Seek>(disk: &Content, out: &mut W) -> io::Result<()> {
    // Clusters are counted in memory, where a table of them has to be.
    let count = |length: u64| usize::try_from(length.div_ceil(CLUSTER as u64)).map_err(io::Error::other);
    let first = vec![0; count(disk.len())?.div_ceil(ENTRIES)];
    let next = 1 + (first.len() * 8).div_ceil(CLUSTER);
    let mut writer = Qcow2Writer { out, first, second: None, next };
    let mut buffer = vec![0; CLUSTER];
    let mut after = 0;
    for stretch in disk.stretches().iter().filter(|stretch| !stretch.is_hole) {
        let end = count(stretch.start + stretch.length)?;
        for nth in after.max(count(stretch.start + 1)? - 1)..end {
            let start = cluster_offset(nth);
            let length = usize::try_from(disk.len() - start).map_or(CLUSTER, |left| left.min(CLUSTER));
            disk.read_at(start, &mut buffer[..length])?;
            buffer[length..].fill(0);
            if buffer.iter().any(|byte| *byte != 0) {
                writer.add(nth, &buffer)?;
            }
        }
        after = end;
    }
    writer.finish(disk.len())
}

struct Qcow2Writer<'w, W> {
    out: &'w mut W,
    /// The offsets of second tables.
    first: Vec<u64>,
    /// The second table that is being filled.
    second: Option<L2Table>,
    /// The next cluster of the image that is free.
    next: usize,
}

/// A second table: its number, its location, and the offsets of its clusters.
struct L2Table {
    nth: usize,
    at: usize,
    entries: Vec<u64>,
}

impl<W: Write + Seek> Qcow2Writer<'_, W> {
    /// Writes a cluster of the disk. They come in order.
    fn add(&mut self, nth: usize, bytes: &[u8]) -> io::Result<()> {
        let table = nth / ENTRIES;
        if self.second.as_ref().is_none_or(|second| second.nth != table) {
            self.flush()?;
            let at = self.allocate();
            self.first[table] = cluster_offset(at) | COPIED;
            self.second = Some(L2Table { nth: table, at, entries: vec![0; ENTRIES] });
        }
        let at = self.allocate();
        if let Some(second) = &mut self.second {
            second.entries[nth % ENTRIES] = cluster_offset(at) | COPIED;
        }
        self.write_cluster(at, bytes)
    }

    fn allocate(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn write_cluster(&mut self, cluster: usize, bytes: &[u8]) -> io::Result<()> {
        self.out.seek(SeekFrom::Start(cluster_offset(cluster)))?;
        self.out.write_all(bytes)
    }

    /// Writes the second table that was filled last.
    fn flush(&mut self) -> io::Result<()> {
        match self.second.take() {
            Some(second) => self.write_cluster(second.at, &numbers(&second.entries)),
            None => Ok(()),
        }
    }

    fn finish(mut self, size: u64) -> io::Result<()> {
        self.flush()?;
        // The counts include their own clusters.
        let used = self.next;
        let (mut blocks, mut table) = (1, 1);
        while blocks * COUNTS < used + table + blocks {
            blocks += 1;
            table = blocks.div_ceil(ENTRIES);
        }
        let places: Vec<u64> = (0..blocks).map(|nth| cluster_offset(used + table + nth)).collect();
        self.write_cluster(used, &pad_to_cluster(numbers(&places)))?;
        let mut left = used + table + blocks;
        for nth in 0..blocks {
            let counted = left.min(COUNTS);
            left -= counted;
            self.write_cluster(used + table + nth, &pad_to_cluster([0, 1].repeat(counted)))?;
        }
        let first = numbers(&self.first);
        self.write_cluster(1, &first)?;
        self.write_cluster(0, &header(size, first.len() / 8, cluster_offset(used), table))
    }
}

/// The offset of a cluster.
fn cluster_offset(cluster: usize) -> u64 {
    cluster as u64 * CLUSTER as u64
}

/// The header: how long the disk and the first table are, and where the table of the counts is and how many clusters it has.
fn header(size: u64, first: usize, counts: u64, counts_length: usize) -> Vec<u8> {
    let short = |number: usize| (number as u64).to_be_bytes()[4..].to_vec();
    let parts = [
        MAGIC.to_vec(),
        // Version 3; no other image below it.
        short(3),
        vec![0; 12],
        CLUSTER_BITS.to_be_bytes().to_vec(),
        size.next_multiple_of(512).to_be_bytes().to_vec(),
        // It is not encrypted.
        vec![0; 4],
        short(first),
        cluster_offset(1).to_be_bytes().to_vec(),
        counts.to_be_bytes().to_vec(),
        short(counts_length),
        // No snapshots, and no features of any kind.
        vec![0; 12 + 24],
        // Counts of two bytes, and how long this is.
        short(4),
        short(HEADERS[1]),
    ];
    parts.concat()
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// Fills up the last cluster.
fn pad_to_cluster(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(CLUSTER), 0);
    bytes
}
