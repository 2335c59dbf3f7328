//! The file allocation table: the clusters of a file.

use super::boot_sector::BootSector;
use crate::media::file::FileImage;
use crate::media::image::{Image, ImageError, low16, low32, piece};
use crate::media::{DirectoryEntry, FileSystemType};

/// The most clusters of one file: 1 GiB with the smallest ones.
const MOST: u64 = 1 << 21;

/// The chunk size.
const BLOCK: u64 = 4096;

/// The tables of a FAT file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllocationTable {
    kind: FileSystemType,
    table: u64,
    data: u64,
    size: u64,
    count: u64,
}

impl AllocationTable {
    pub(super) fn new(sector: &BootSector) -> Self {
        Self {
            kind: sector.kind,
            table: sector.table,
            data: sector.data,
            size: sector.cluster,
            count: sector.clusters,
        }
    }

    pub(super) fn kind(&self) -> FileSystemType {
        self.kind
    }

    /// A file, all of whose clusters must be there.
    pub(in crate::media) fn file<'i>(
        &self,
        image: &'i dyn Image,
        file: &DirectoryEntry,
    ) -> Result<FileImage<'i>, ImageError> {
        let longest = self.size * MOST;
        if file.length > longest {
            return Err(ImageError::Long { name: file.name.clone(), length: file.length, longest });
        }
        let found = self.up_to(image, file.start, file.length)?;
        if found.size() < file.length {
            return Err(ImageError::Broken("cluster chain of a file"));
        }
        Ok(found)
    }

    /// The bytes of a chain of clusters: this many, or fewer where it ends before.
    pub(super) fn up_to<'i>(
        &self,
        image: &'i dyn Image,
        first: u64,
        length: u64,
    ) -> Result<FileImage<'i>, ImageError> {
        let mut file = FileImage::empty(image);
        let mut table = TableCache { image, start: self.table, block: (u64::MAX, Vec::new()) };
        let mut cluster = first;
        while file.size() < length && (2..self.count + 2).contains(&cluster) {
            let part = self.size.min(length - file.size());
            file.add(self.data + (cluster - 2) * self.size, part)?;
            cluster = self.next(&mut table, cluster)?;
        }
        Ok(file)
    }

    fn next(&self, table: &mut TableCache<'_>, cluster: u64) -> Result<u64, ImageError> {
        Ok(match self.kind {
            FileSystemType::Fat12 => {
                let pair = low16(&table.at(cluster + cluster / 2)?, 0);
                u64::from(if cluster.is_multiple_of(2) { pair & 0xfff } else { pair >> 4 })
            }
            FileSystemType::Fat16 => low16(&table.at(cluster * 2)?, 0).into(),
            _ => u64::from(low32(&table.at(cluster * 4)?, 0) & 0x0fff_ffff),
        })
    }
}

/// A table, of which the block that was read last is kept.
struct TableCache<'i> {
    image: &'i dyn Image,
    start: u64,
    block: (u64, Vec<u8>),
}

impl TableCache<'_> {
    /// Four bytes; zeros where the image ends.
    fn at(&mut self, offset: u64) -> Result<[u8; 4], ImageError> {
        let (block, within) = (offset / BLOCK * BLOCK, offset % BLOCK);
        if self.block.0 != block {
            let start = self.start + block;
            // An entry may go over the end of a block.
            let length = (BLOCK + 3).min(self.image.size().saturating_sub(start));
            let length = usize::try_from(length).expect("at most a block");
            self.block = (block, piece(self.image, start, length, "file allocation table")?);
        }
        let within = usize::try_from(within).expect("less than a block");
        let rest = self.block.1.get(within..).unwrap_or_default();
        if rest.len() < 2 {
            return Err(ImageError::Short("file allocation table"));
        }
        let mut entry = [0; 4];
        let length = rest.len().min(entry.len());
        entry[..length].copy_from_slice(&rest[..length]);
        Ok(entry)
    }
}
