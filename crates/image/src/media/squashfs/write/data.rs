//! The contents of files: full blocks, and blocks that several short files share.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use super::super::compressor::CompressBlocks;
use super::super::{NONE, PLAIN_DATA};
use super::tree::{SquashfsTree, TreeNode};
use super::{BLOCK, SquashfsWriteError};
use crate::media::Content;
use crate::oci::EntryKind;

/// How many blocks are compressed at once: 16 MiB, and as much again for the output.
const BATCH: usize = 128;

/// The locations of all files' contents.
pub(super) struct DataBlocks {
    places: Vec<FileLocation>,
    /// For each file of the tree the number of its place.
    files: BTreeMap<usize, usize>,
    pub(crate) fragments: Vec<(u64, u32)>,
    /// Its end.
    pub(crate) end: u64,
}

/// The location of a file. Equal files share one.
#[derive(Clone, Debug, Default)]
pub(super) struct FileLocation {
    /// The first of its blocks.
    pub start: u64,
    /// The length of each block.
    pub(crate) blocks: Vec<u32>,
    /// The number of the shared block, and where in it.
    pub(crate) fragment: Option<(u32, u32)>,
}

impl DataBlocks {
    /// Writes the contents of a tree's files from a position on.
    pub(super) fn write(
        tree: &SquashfsTree<'_>,
        out: &mut impl Write,
        at: u64,
        press: CompressBlocks<'_>,
    ) -> Result<Self, SquashfsWriteError> {
        let mut writer = DataWriter {
            out,
            press,
            batch: Vec::new(),
            owners: Vec::new(),
            shared: Vec::new(),
            shared_closed: 0,
            data: Self { places: Vec::new(), files: BTreeMap::new(), fragments: Vec::new(), end: at },
        };
        let twins = lengths_of_several(tree);
        let mut known: BTreeMap<[u8; 32], usize> = BTreeMap::new();
        for (nth, node) in tree.nodes.iter().enumerate() {
            let EntryKind::File(content) = &node.kind else { continue };
            let may_be_known = twins.contains(&content.len());
            let sum = may_be_known.then(|| sum(node, content)).transpose()?;
            let place = match sum.and_then(|sum| known.get(&sum).copied()) {
                Some(place) => place,
                None => writer.add(node, content)?,
            };
            if let Some(sum) = sum {
                known.insert(sum, place);
            }
            writer.data.files.insert(nth, place);
        }
        writer.finish()
    }

    /// The location of the file with this number in the tree.
    pub(super) fn place(&self, file: usize) -> &FileLocation {
        &self.places[self.files[&file]]
    }

    /// The table of shared blocks, as written.
    pub(super) fn fragment_list(&self) -> Vec<u8> {
        let entry = |(start, length): &(u64, u32)| {
            start.to_le_bytes().into_iter().chain(length.to_le_bytes()).chain([0; 4])
        };
        self.fragments.iter().flat_map(entry).collect()
    }
}

/// Lengths that more than one file has. Empty files need no block.
fn lengths_of_several(tree: &SquashfsTree<'_>) -> BTreeSet<u64> {
    let (mut once, mut several) = (BTreeSet::new(), BTreeSet::new());
    for node in &tree.nodes {
        if let EntryKind::File(content) = &node.kind
            && !content.is_empty()
            && !once.insert(content.len())
        {
            several.insert(content.len());
        }
    }
    several
}

fn sum(node: &TreeNode<'_>, content: &Content) -> Result<[u8; 32], SquashfsWriteError> {
    let mut sum = Sha256::new();
    let copied = io::copy(&mut content.reader(), &mut sum);
    copied.map_err(|source| SquashfsWriteError::Read { path: node.path.to_owned(), source })?;
    Ok(sum.finalize().into())
}

/// The owner of a block.
enum BlockOwner {
    File(usize),
    Shared,
}

struct DataWriter<'w, W> {
    out: &'w mut W,
    press: CompressBlocks<'w>,
    batch: Vec<Vec<u8>>,
    owners: Vec<BlockOwner>,
    /// The shared block that is not full yet, and how many are.
    shared: Vec<u8>,
    shared_closed: u32,
    data: DataBlocks,
}

impl<W: Write> DataWriter<'_, W> {
    /// Adds the bytes of a file, and returns their future location.
    fn add(&mut self, node: &TreeNode<'_>, content: &Content) -> Result<usize, SquashfsWriteError> {
        let place = self.data.places.len();
        self.data.places.push(FileLocation::default());
        let mut reader = content.reader();
        let mut left = content.len();
        let is_short = left < BLOCK as u64;
        while left > 0 {
            let length = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
            let mut block = vec![0; length];
            let read = reader.read_exact(&mut block);
            read.map_err(|source| SquashfsWriteError::Read { path: node.path.to_owned(), source })?;
            left -= length as u64;
            if is_short {
                self.share(place, &block)?;
            } else {
                self.push(block, BlockOwner::File(place))?;
            }
        }
        Ok(place)
    }

    /// Puts a short file into a block with others.
    fn share(&mut self, place: usize, bytes: &[u8]) -> Result<(), SquashfsWriteError> {
        if self.shared.len() + bytes.len() > BLOCK {
            self.close_shared()?;
        }
        let offset = u32::try_from(self.shared.len()).expect("shorter than a block");
        self.data.places[place].fragment = Some((self.shared_closed, offset));
        self.shared.extend(bytes);
        Ok(())
    }

    fn close_shared(&mut self) -> Result<(), SquashfsWriteError> {
        let block = std::mem::take(&mut self.shared);
        self.shared_closed =
            self.shared_closed.checked_add(1).filter(|n| *n < NONE).ok_or(SquashfsWriteError::Large)?;
        self.push(block, BlockOwner::Shared)
    }

    fn push(&mut self, block: Vec<u8>, owner: BlockOwner) -> Result<(), SquashfsWriteError> {
        self.batch.push(block);
        self.owners.push(owner);
        if self.batch.len() == BATCH { self.flush() } else { Ok(()) }
    }

    /// Compresses and writes the batch.
    fn flush(&mut self) -> Result<(), SquashfsWriteError> {
        let pressed = (self.press)(&self.batch)?;
        if pressed.len() != self.batch.len() {
            return Err(io::Error::other("not every block was pressed").into());
        }
        let blocks = self.batch.drain(..).zip(pressed);
        for ((plain, pressed), owner) in blocks.zip(self.owners.drain(..)) {
            let (bytes, flag) = if pressed.len() < plain.len() { (pressed, 0) } else { (plain, PLAIN_DATA) };
            self.out.write_all(&bytes)?;
            let start = self.data.end;
            self.data.end += bytes.len() as u64;
            let length = u32::try_from(bytes.len()).expect("at most a block") | flag;
            match owner {
                BlockOwner::Shared => self.data.fragments.push((start, length)),
                BlockOwner::File(nth) => {
                    let place = &mut self.data.places[nth];
                    if place.blocks.is_empty() {
                        place.start = start;
                    }
                    place.blocks.push(length);
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<DataBlocks, SquashfsWriteError> {
        if !self.shared.is_empty() {
            self.close_shared()?;
        }
        if !self.batch.is_empty() {
            self.flush()?;
        }
        Ok(self.data)
    }
}
