//! Extended attributes: SELinux labels.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::super::NOWHERE;
use super::TableWriter;
use super::metadata::MetadataWriter;
use super::tree::SquashfsTree;

/// Attributes of `security`, and the name of the one there is.
const SECURITY: u16 = 2;
const NAME: &[u8] = b"selinux";
const FULL_NAME: &str = "security.selinux";

/// Every label that something in a tree has, with its number.
pub(super) struct XattrTable<'r> {
    labels: BTreeMap<&'r str, u32>,
}

impl<'r> XattrTable<'r> {
    pub(super) fn from_tree(tree: &SquashfsTree<'r>) -> Self {
        let mut labels: BTreeMap<&str, u32> =
            tree.nodes.iter().filter_map(|node| node.label).map(|label| (label, 0)).collect();
        labels.values_mut().zip(0..).for_each(|(number, nth)| *number = nth);
        Self { labels }
    }

    /// The number of a label.
    pub(super) fn number(&self, label: &str) -> u32 {
        self.labels[label]
    }

    /// Writes them, and returns the location of their table.
    pub(super) fn write<W: Write>(&self, tables: &mut TableWriter<'_, W>) -> io::Result<u64> {
        let Ok(count) = u32::try_from(self.labels.len()) else {
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        if count == 0 {
            return Ok(NOWHERE);
        }
        let mut pairs = MetadataWriter::new()?;
        let mut entries = Vec::new();
        for label in self.labels.keys() {
            let pair = pair(label)?;
            entries.extend(pairs.position()?.reference().to_le_bytes());
            entries.extend(1_u32.to_le_bytes());
            // The size that listxattr and getxattr report: the full name, the zero after it, and the value.
            let size = FULL_NAME.len() + 1 + label.len();
            entries.extend(u32::try_from(size).map_err(|_| io::ErrorKind::FileTooLarge)?.to_le_bytes());
            pairs.push(&pair)?;
        }
        let start = tables.append(&pairs.finish()?)?;
        let (blocks, index) = super::table::list(&entries, tables.at)?;
        tables.append(&blocks)?;
        let head = [&start.to_le_bytes()[..], &count.to_le_bytes(), &[0; 4]].concat();
        let table = tables.append(&head)?;
        tables.append(&index)?;
        Ok(table)
    }
}

fn pair(label: &str) -> io::Result<Vec<u8>> {
    let length = u32::try_from(label.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let name_length = u16::try_from(NAME.len()).expect("a short name");
    Ok([
        &SECURITY.to_le_bytes()[..],
        &name_length.to_le_bytes(),
        NAME,
        &length.to_le_bytes(),
        label.as_bytes(),
    ]
    .concat())
}
