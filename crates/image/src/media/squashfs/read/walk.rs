//! Everything below a folder.

use std::collections::BTreeSet;

use super::Squashfs;
use super::inode::{NodeKind, SquashfsNode};
use crate::media::image::ImageError;

/// The most entries that are visited. Talos' root file system has some thousand.
const MOST: usize = 1 << 18;

/// The longest path of Linux.
const LONGEST: usize = 4096;

/// A folder and its unvisited entries, the last first.
struct WalkLevel {
    path: String,
    ahead: Vec<(String, u64)>,
}

impl Squashfs<'_> {
    /// Visits everything below a folder with its path: a folder before its entries, and names in their order on disk.
    pub fn walk(
        &self,
        folder: &SquashfsNode,
        show: &mut dyn FnMut(&str, &SquashfsNode) -> Result<(), ImageError>,
    ) -> Result<(), ImageError> {
        let mut seen = BTreeSet::new();
        let mut count = 0;
        let mut levels = vec![self.level(String::new(), folder, &mut count)?];
        while let Some(level) = levels.last_mut() {
            let Some((name, reference)) = level.ahead.pop() else {
                levels.pop();
                continue;
            };
            let path = if level.path.is_empty() { name } else { format!("{}/{name}", level.path) };
            let node = self.node(reference)?;
            show(&path, &node)?;
            if node.kind == NodeKind::Folder {
                // A folder has one parent only, or the walk would not end.
                if !seen.insert(reference) || path.len() > LONGEST {
                    return Err(ImageError::Broken("folder tree"));
                }
                levels.push(self.level(path, &node, &mut count)?);
            }
        }
        Ok(())
    }

    fn level(&self, path: String, folder: &SquashfsNode, count: &mut usize) -> Result<WalkLevel, ImageError> {
        let mut ahead = self.names(folder)?;
        *count += ahead.len();
        if *count > MOST {
            return Err(ImageError::Broken("folder tree"));
        }
        ahead.reverse();
        Ok(WalkLevel { path, ahead })
    }
}
