//! A CD from a volume.

use super::descriptor::VolumeLabels;
use super::encoding::NameEncoding;
use super::layout::{IsoLayout, LayoutOptions};
use super::tree::IsoTree;
use super::{FIRST_DESCRIPTOR, SECTOR};
use crate::media::{Content, SMALLEST, Volume};

/// The CD with the files of a volume.
///
/// It has no padding after the last file: that was for drives that read ahead, and no file is on a disc here.
pub fn write(volume: &Volume<'_>) -> Vec<u8> {
    let tree = IsoTree::of_volume(volume);
    let layout = IsoLayout::new(
        &tree,
        &LayoutOptions { letters: &[NameEncoding::Plain, NameEncoding::Wide], boots: false },
    );
    let sectors = layout.end.max((SMALLEST / SECTOR) as u64);
    let mut cd = Content::zeros((FIRST_DESCRIPTOR * SECTOR) as u64);
    cd.push(layout.head(VolumeLabels { volume: volume.label(), set: "" }, sectors, &[]));
    for (node, file) in tree.files() {
        layout.append(&mut cd, node, file.clone());
    }
    cd.pad_to(sectors * SECTOR as u64);
    cd.read().expect("all of it is in memory")
}
