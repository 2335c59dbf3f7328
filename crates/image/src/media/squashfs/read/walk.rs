//! Everything below a folder.

use std::collections::BTreeSet;

use super::Squashfs;
use super::inode::{NodeKind, SquashfsNode};
use crate::media::image::ImageError;

/// How much is looked at. Talos' root file system has some thousand entries.
const MOST: usize = 1 << 18;

/// The longest path of Linux.
const LONGEST: usize = 4096;

/// A folder, and what is still to be shown of it, the last first.
struct WalkLevel {
    path: String,
    ahead: Vec<(String, u64)>,
}

impl Squashfs<'_> {
    /// Shows everything below a folder with its path in there: a folder before what is in it, and names in the order they stand there.
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
                // A folder is in one other, or it goes on for ever.
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
