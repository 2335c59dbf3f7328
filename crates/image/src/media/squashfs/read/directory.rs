//! Listings of folders.

use super::Squashfs;
use super::inode::{DataLocation, SquashfsNode};
use crate::media::image::{ImageError, low16, low32};

/// The length that a listing adds for `.` and `..`, which are not in it.
const LISTED_ANYWAY: u32 = 3;

/// The longest listing that is read: a quarter of a million names.
const LONGEST: u32 = 16 << 20;

/// The most entries of a run, and the longest name.
const LONGEST_RUN: u32 = 256;
const LONGEST_NAME: usize = 256;

impl Squashfs<'_> {
    /// The names in a folder, and their inodes.
    pub(super) fn names(&self, folder: &SquashfsNode) -> Result<Vec<(String, u64)>, ImageError> {
        let DataLocation::Listing { block, offset, length } = folder.place else { return Ok(Vec::new()) };
        let mut left = length.saturating_sub(LISTED_ANYWAY);
        if left > LONGEST {
            return Err(ImageError::Broken("folder listing"));
        }
        let mut cursor = self.cursor(self.superblock.directory_table, block.into(), offset)?;
        let mut take = |length: usize| {
            left = left
                .checked_sub(u32::try_from(length).expect("little"))
                .ok_or(ImageError::Broken("folder listing"))?;
            Ok::<_, ImageError>((cursor.read(length)?, left))
        };
        let mut names = Vec::new();
        let mut rest = length.saturating_sub(LISTED_ANYWAY);
        while rest > 0 {
            let (head, _) = take(12)?;
            let (more, block) = (low32(&head, 0), u64::from(low32(&head, 4)));
            if more >= LONGEST_RUN {
                return Err(ImageError::Broken("folder listing"));
            }
            for _ in 0..=more {
                let (entry, _) = take(8)?;
                let length = usize::from(low16(&entry, 6)) + 1;
                if length > LONGEST_NAME {
                    return Err(ImageError::Broken("name"));
                }
                let (bytes, left) = take(length)?;
                names.push((name(&bytes)?, block << 16 | u64::from(low16(&entry, 0))));
                rest = left;
            }
        }
        Ok(names)
    }
}

/// A name that is a single path component.
fn name(bytes: &[u8]) -> Result<String, ImageError> {
    let name = String::from_utf8_lossy(bytes).into_owned();
    let leads_away = ["", ".", ".."].contains(&name.as_str()) || name.contains(['/', '\0']);
    if leads_away { Err(ImageError::Broken("name")) } else { Ok(name) }
}
