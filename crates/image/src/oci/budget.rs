//! The size limits of an archive, whatever its headers claim.

use std::cell::Cell;
use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use super::digest::Digest;
use super::error::LayerError;

/// No root file system is larger unpacked, whatever its layers promise. Talos' imager has a gigabyte and a half.
pub const MOST_UNPACKED: u64 = 4 << 30;

/// More files and folders than any image has.
pub(super) const MOST_ENTRIES: usize = 1_000_000;

/// The limit of an entry's headers: its names, its attributes, its holes.
const LONGEST_HEADER: u64 = 1 << 20;

/// The remaining size limits of an archive: in total and for the headers of one entry.
pub(super) struct ArchiveBudget {
    all: Cell<u64>,
    header: Cell<u64>,
    is_spent: Cell<bool>,
}

impl ArchiveBudget {
    /// That of an archive of which nothing is read yet.
    pub(super) fn new() -> Self {
        let (all, header) = (Cell::new(MOST_UNPACKED), Cell::new(LONGEST_HEADER));
        Self { all, header, is_spent: Cell::new(false) }
    }

    /// Whether the archive had more than it may.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent.get()
    }

    /// Starts to count the headers of an entry.
    pub(super) fn next_header(&self) {
        self.header.set(LONGEST_HEADER);
    }

    /// Stops counting headers: contents are counted elsewhere.
    pub(super) fn stop_counting_headers(&self) {
        self.header.set(u64::MAX);
    }

    fn spend(&self, length: usize) -> io::Result<()> {
        let left = |budget: &Cell<u64>| budget.get().checked_sub(length as u64);
        let Some((all, header)) = left(&self.all).zip(left(&self.header)) else {
            self.is_spent.set(true);
            return Err(io::Error::other(LayerError::Bomb));
        };
        self.all.set(all);
        self.header.set(header);
        Ok(())
    }
}

/// Counts and limits the bytes read.
pub(super) struct MeteredReader<'b, R> {
    inner: R,
    sum: Sha256,
    budget: &'b ArchiveBudget,
}

impl<'b, R> MeteredReader<'b, R> {
    pub(super) fn new(inner: R, budget: &'b ArchiveBudget) -> Self {
        Self { inner, sum: Sha256::new(), budget }
    }

    /// The sum of everything.
    pub(super) fn end(self) -> Digest {
        Digest::end(self.sum)
    }
}

impl<R: Read> Read for MeteredReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.sum.update(&buffer[..read]);
        self.budget.spend(read)?;
        Ok(read)
    }
}
