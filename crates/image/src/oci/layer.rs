//! A layer that is made here: always the same bytes for the same files.

use std::io::{self, BufReader, Write};

use tar::{Builder, EntryType, Header};

use super::blob_store::BlobStore;
use super::compression::gzip;
use super::descriptor::{Descriptor, LAYER};
use super::digest::{Digest, HashingWriter};
use super::file_tree::{EntryKind, FileTree, TreeEntry};
use super::unpack::LABEL;
use crate::media::Content;

/// The chunk size.
const BUFFER: usize = 256 << 10;

/// A layer and its sums.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The layer as stored.
    pub content: Content,
    /// Its descriptor in a manifest.
    pub descriptor: Descriptor,
    /// The sum of the archive without its compression.
    pub diff_id: Digest,
}

/// A root file system as one layer, kept in a spool.
pub fn layer(root: &FileTree, spool: &mut dyn BlobStore) -> io::Result<Layer> {
    pack(root.iter(), spool)
}

/// Entries as one layer, kept in a spool.
pub fn pack<'e>(
    entries: impl Iterator<Item = (&'e str, &'e TreeEntry)>,
    spool: &mut dyn BlobStore,
) -> io::Result<Layer> {
    let mut sums = None;
    let content = spool.write(Box::new(|out| {
        let mut plain = HashingWriter::new(gzip(HashingWriter::new(out)));
        archive(entries, &mut plain)?;
        let (diff_id, _, encoder) = plain.finish();
        let (digest, size, _) = encoder.finish()?.finish();
        sums = Some((diff_id, digest, size));
        Ok(())
    }))?;
    let (diff_id, digest, size) = sums.ok_or_else(|| io::Error::other("nothing was written"))?;
    let descriptor =
        Descriptor { media_type: LAYER.to_owned(), digest, size, platform: None, ref_name: None };
    Ok(Layer { content, descriptor, diff_id })
}

/// A tar archive with every entry in the order it comes, of root, and from the start of 1970.
pub(super) fn archive<'e>(
    entries: impl Iterator<Item = (&'e str, &'e TreeEntry)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut builder = Builder::new(out);
    for (path, entry) in entries {
        let mut header = Header::new_gnu();
        header.set_mode(entry.mode);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(0);
        // Our trees have no special files.
        if let EntryKind::Special(_) = entry.kind {
            continue;
        }
        if let Some(label) = &entry.label {
            builder.append_pax_extensions([(LABEL, label.as_bytes())])?;
        }
        match &entry.kind {
            EntryKind::Folder => {
                header.set_entry_type(EntryType::Directory);
                builder.append_data(&mut header, format!("{path}/"), io::empty())?;
            }
            EntryKind::File(content) => {
                header.set_entry_type(EntryType::Regular);
                header.set_size(content.len());
                let reader = BufReader::with_capacity(BUFFER, content.reader());
                builder.append_data(&mut header, path, reader)?;
            }
            EntryKind::Link(target) => {
                header.set_entry_type(EntryType::Symlink);
                // A long one is normalised, step by step, and has the same target.
                match header.set_link_name_literal(target) {
                    Ok(()) => builder.append_data(&mut header, path, io::empty())?,
                    Err(_) => builder.append_link(&mut header, path, target)?,
                }
            }
            EntryKind::Special(_) => {}
        }
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    use super::*;
    use crate::media::Image;
    use crate::oci::blob_store::{LengthStore, MemoryStore};
    use crate::oci::unpack::LayerUnpacker;

    #[test]
    fn a_layer_is_reproducible_and_unpacks_to_the_same_tree() {
        let mut root = FileTree::default();
        let long = format!("{}/{}", "d".repeat(120), "n".repeat(140));
        root.put(&long, TreeEntry { label: Some("a_label".to_owned()), ..TreeEntry::file(0o755, b"1") });
        root.put("b", TreeEntry { label: Some("b_label".to_owned()), ..TreeEntry::link("x".repeat(150)) });
        root.put("c", TreeEntry { label: Some("c_label".to_owned()), ..TreeEntry::folder() });

        let made = layer(&root, &mut MemoryStore::default()).unwrap();
        let mut memory = MemoryStore::default();
        let mut unpack = LayerUnpacker::new(&mut memory);
        unpack.layer(made.content.reader(), Some(&made.diff_id)).unwrap();

        assert_eq!(unpack.finish(), root);
        assert_eq!(layer(&root, &mut MemoryStore::default()).unwrap().content, made.content);
        let bytes = made.content.read().unwrap();
        assert_eq!(made.descriptor, Descriptor::of_blob(LAYER, &bytes));
    }

    /// Zeros that record how they are read.
    #[derive(Default)]
    struct ZeroImage {
        read: AtomicU64,
        longest: AtomicUsize,
    }

    const LENGTH: u64 = 64 << 20;

    impl Image for ZeroImage {
        fn size(&self) -> u64 {
            LENGTH
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
            assert_eq!(self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed), offset, "in order, once");
            self.longest.fetch_max(buffer.len(), Ordering::Relaxed);
            buffer.fill(7);
            Ok(())
        }
    }

    #[test]
    fn a_long_file_is_streamed() {
        let asked = Arc::new(ZeroImage::default());
        let mut root = FileTree::default();
        root.put("long", TreeEntry::file(0o644, Content::from_image(asked.clone())));

        let made = layer(&root, &mut LengthStore).unwrap();

        assert_eq!(asked.read.load(Ordering::Relaxed), LENGTH);
        assert!(asked.longest.load(Ordering::Relaxed) <= BUFFER);
        assert_eq!(made.content.len(), made.descriptor.size);
    }
}
