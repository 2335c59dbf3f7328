//! The listing of a folder: runs of entries whose inodes are near each other.

use super::super::{FILE, FOLDER, LINK};
use super::metadata::MetadataPosition;
use super::tree::TreeNode;
use crate::oci::EntryKind;

/// The most entries of a run.
const LONGEST_RUN: usize = 256;

/// The listing of a folder's entries; `first` is the number of the first inode, and `positions` are their locations.
pub(super) fn listing(nodes: &[TreeNode<'_>], positions: &[MetadataPosition], first: u32) -> Vec<u8> {
    let mut listing = Vec::new();
    let mut nth = 0;
    while nth < nodes.len() {
        let block = positions[nth].block;
        let rest = positions[nth..].iter().take(LONGEST_RUN);
        let run = rest.take_while(|position| position.block == block).count();
        let number = first + u32::try_from(nth).expect("as many as there are numbers");
        for head in [u32::try_from(run - 1).expect("a short run"), block, number] {
            listing.extend(head.to_le_bytes());
        }
        for (distance, (node, position)) in
            (0_i16..).zip(nodes[nth..].iter().zip(&positions[nth..]).take(run))
        {
            let length = u16::try_from(node.name.len() - 1).expect("names are short");
            listing.extend(position.offset.to_le_bytes());
            listing.extend(distance.to_le_bytes());
            listing.extend(kind(node.kind).to_le_bytes());
            listing.extend(length.to_le_bytes());
            listing.extend(node.name.as_bytes());
        }
        nth += run;
    }
    listing
}

/// The number of a kind. Special files are refused before.
pub(super) fn kind(kind: &EntryKind) -> u16 {
    match kind {
        EntryKind::Folder => FOLDER,
        EntryKind::File(_) | EntryKind::Special(_) => FILE,
        EntryKind::Link(_) => LINK,
    }
}
