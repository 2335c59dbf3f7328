//! Everything below a folder.

use std::collections::BTreeSet;

use super::Squashfs;
use super::inode::{Kind, Node};
use crate::media::image::ReadError;

/// How much is looked at. Talos' root file system has some thousand entries.
const MOST: usize = 1 << 18;

/// The longest path of Linux.
const LONGEST: usize = 4096;

/// A folder, and what is still to be shown of it, the last first.
struct Level {
    path: String,
    ahead: Vec<(String, u64)>,
}

impl Squashfs<'_> {
    /// Shows everything below a folder with its path in there: a folder before what is in it, and names in the order they stand there.
    pub fn walk(
        &self,
        folder: &Node,
        show: &mut dyn FnMut(&str, &Node) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
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
            if node.kind == Kind::Folder {
                // A folder is in one other, or it goes on for ever.
                if !seen.insert(reference) || path.len() > LONGEST {
                    return Err(ReadError::Broken("tree of folders"));
                }
                levels.push(self.level(path, &node, &mut count)?);
            }
        }
        Ok(())
    }

    fn level(&self, path: String, folder: &Node, count: &mut usize) -> Result<Level, ReadError> {
        let mut ahead = self.names(folder)?;
        *count += ahead.len();
        if *count > MOST {
            return Err(ReadError::Broken("tree of folders"));
        }
        ahead.reverse();
        Ok(Level { path, ahead })
    }
}
