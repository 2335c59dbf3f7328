//! Reads an existing squashfs.

mod directory;
mod file;
mod inode;
mod metadata;
mod walk;

use std::cell::RefCell;

use self::file::FragmentBlock;
pub use self::inode::{NodeKind, SquashfsNode};
use self::metadata::MetadataCache;
use super::compressor::Compressor;
use super::superblock::Superblock;
use crate::media::image::{Image, ImageError};

/// A file system, which is read on demand.
pub struct Squashfs<'i> {
    image: &'i dyn Image,
    superblock: Superblock,
    compressor: Compressor,
    blocks: RefCell<MetadataCache>,
    shared: RefCell<Option<FragmentBlock>>,
}

impl<'i> Squashfs<'i> {
    /// Opens a file system.
    pub fn open(image: &'i dyn Image) -> Result<Self, ImageError> {
        let superblock = Superblock::read(image)?;
        let compressor = Compressor::from_number(superblock.compressor)?;
        Ok(Self { image, superblock, compressor, blocks: RefCell::default(), shared: RefCell::default() })
    }

    /// Its length in bytes, without padding.
    pub fn size(&self) -> u64 {
        self.superblock.used
    }

    /// The top.
    pub fn top(&self) -> Result<SquashfsNode, ImageError> {
        self.node(self.superblock.root)
    }

    /// The node at a path. Links are not followed: a path through a link does not exist.
    pub fn find(&self, path: &str) -> Result<Option<SquashfsNode>, ImageError> {
        let mut node = self.top()?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if node.kind != NodeKind::Folder {
                return Ok(None);
            }
            let names = self.names(&node)?;
            let Some((_, reference)) = names.into_iter().find(|(found, _)| found == name) else {
                return Ok(None);
            };
            node = self.node(reference)?;
        }
        Ok(Some(node))
    }

    /// The entries of a folder by name, in their order on disk; empty for other nodes.
    pub fn list(&self, folder: &SquashfsNode) -> Result<Vec<(String, SquashfsNode)>, ImageError> {
        let named = |(name, reference)| Ok((name, self.node(reference)?));
        self.names(folder)?.into_iter().map(named).collect()
    }
}
