//! Where the clusters of a file are.

use super::boot_sector::BootSector;
use crate::media::Kind;
use crate::media::image::{Image, ReadError, low16, low32, piece};

/// The tables of a FAT file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clusters {
    kind: Kind,
    table: u64,
    data: u64,
    size: u64,
    count: u64,
}

impl Clusters {
    pub(super) fn of(sector: &BootSector) -> Self {
        Self {
            kind: sector.kind,
            table: sector.table,
            data: sector.data,
            size: sector.cluster,
            count: sector.clusters,
        }
    }

    /// Bytes of a file, from its first cluster on.
    pub(in crate::media) fn read(
        &self,
        image: &dyn Image,
        first: u64,
        length: usize,
    ) -> Result<Vec<u8>, ReadError> {
        let bytes = self.read_up_to(image, first, length)?;
        if bytes.len() < length { Err(ReadError::Broken("chain of a file's clusters")) } else { Ok(bytes) }
    }

    /// The same, or fewer where the chain ends before.
    pub(super) fn read_up_to(
        &self,
        image: &dyn Image,
        first: u64,
        length: usize,
    ) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        let mut cluster = first;
        while bytes.len() < length && self.is_one(cluster) {
            let left = length - bytes.len();
            let part = usize::try_from(self.size).unwrap_or(left).min(left);
            bytes.extend(piece(image, self.data + (cluster - 2) * self.size, part, "clusters")?);
            cluster = self.next(image, cluster)?;
        }
        Ok(bytes)
    }

    fn is_one(&self, cluster: u64) -> bool {
        (2..self.count + 2).contains(&cluster)
    }

    fn next(&self, image: &dyn Image, cluster: u64) -> Result<u64, ReadError> {
        let at = |offset: u64, length| piece(image, self.table + offset, length, "table of clusters");
        Ok(match self.kind {
            Kind::Fat12 => {
                let pair = low16(&at(cluster + cluster / 2, 2)?, 0);
                u64::from(if cluster.is_multiple_of(2) { pair & 0xfff } else { pair >> 4 })
            }
            Kind::Fat16 => low16(&at(cluster * 2, 2)?, 0).into(),
            _ => u64::from(low32(&at(cluster * 4, 4)?, 0) & 0x0fff_ffff),
        })
    }
}
