//! Layers: tar archives that are applied in order.
//!
//! [`LayerUnpacker`] applies them as container runtimes do: entries of a later layer replace those of earlier ones, and
//! `.wh.NAME` removes them. An archive is streamed once. Short files stay in memory, long ones are kept in a [`BlobStore`], and no
//! file is created under a name of an archive, so that no name leads out of the root file system; entries that are only
//! plausible in an attack are rejected anyway. [`layer`](super::layer()) is the inverse.

use std::collections::BTreeSet;
use std::io::{self, Read};

use tar::{Archive, EntryType};

use super::blob_store::BlobStore;
use super::budget::{ArchiveBudget, MOST_ENTRIES, MOST_UNPACKED, MeteredReader};
use super::compression::decompress;
use super::digest::Digest;
use super::error::LayerError;
use super::file_tree::{EntryKind, FileTree, TreeEntry};
use crate::media::Content;

/// All names, links and labels together are shorter.
const MOST_NAMES: usize = 256 << 20;

/// Files up to this length stay in memory: manifests and definitions are among them.
const SHORT: u64 = 1 << 20;

/// As much stays there together.
const SHORT_TOGETHER: u64 = 32 << 20;

/// The PAX record of an entry's SELinux label.
pub(super) const LABEL: &str = "SCHILY.xattr.security.selinux";

/// A whiteout, which removes an entry of lower layers.
const WHITEOUT: &str = ".wh.";

/// An opaque whiteout, which removes every entry of lower layers in its folder.
const OPAQUE: &str = ".wh..wh..opq";

/// Applies layers to a root file system.
pub struct LayerUnpacker<'s> {
    spool: &'s mut dyn BlobStore,
    root: FileTree,
    contents: u64,
    short: u64,
    names: usize,
    entries: usize,
    rules: OverlayRules,
}

/// The rules for overlaying archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OverlayRules {
    /// Layers of an image: whiteouts remove entries, and a folder replaces a link.
    Layers,
    /// Packages of Debian: there are no whiteouts, and a link to a folder counts as a folder.
    Packages,
}

/// Distinguishes errors of the source from those of the store.
struct WatchedReader<R> {
    inner: R,
    has_failed: bool,
}

impl<R: Read> Read for WatchedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).inspect_err(|_| self.has_failed = true)
    }
}

impl<'s> LayerUnpacker<'s> {
    /// Begins with nothing. Long files go to the spool.
    pub fn new(spool: &'s mut dyn BlobStore) -> Self {
        Self {
            spool,
            root: FileTree::default(),
            contents: 0,
            short: 0,
            names: 0,
            entries: 0,
            rules: OverlayRules::Layers,
        }
    }

    /// Begins with a root file system that packages are unpacked into.
    pub(crate) fn over(root: FileTree, spool: &'s mut dyn BlobStore) -> Self {
        Self { root, rules: OverlayRules::Packages, ..Self::new(spool) }
    }

    /// Applies a layer to the tree. `diff_id` is the digest of the uncompressed archive.
    pub fn layer(&mut self, stored: impl Read, diff_id: Option<&Digest>) -> Result<(), LayerError> {
        self.paths(stored, diff_id).map(drop)
    }

    /// The merged tree.
    pub fn finish(self) -> FileTree {
        self.root
    }

    /// Applies an archive to the tree, and returns its paths.
    pub fn paths(
        &mut self,
        stored: impl Read,
        diff_id: Option<&Digest>,
    ) -> Result<BTreeSet<String>, LayerError> {
        let budget = ArchiveBudget::new();
        let unpacked = self.archive(stored, diff_id, &budget);
        if budget.is_spent() { Err(LayerError::Bomb) } else { unpacked }
    }

    fn archive(
        &mut self,
        stored: impl Read,
        diff_id: Option<&Digest>,
        budget: &ArchiveBudget,
    ) -> Result<BTreeSet<String>, LayerError> {
        let mut counted = MeteredReader::new(decompress(stored)?, budget);
        let mut archive = Archive::new(&mut counted);
        let mut fresh = BTreeSet::new();
        for entry in archive.entries()? {
            let mut entry = entry?;
            budget.stop_counting_headers();
            self.entry(&mut entry, &mut fresh)?;
            // Unrequested entries. The archive itself skips the stored data of a sparse file.
            if entry.header().entry_type() != EntryType::GNUSparse {
                io::copy(&mut entry, &mut io::sink())?;
            }
            budget.next_header();
        }
        budget.stop_counting_headers();
        io::copy(&mut counted, &mut io::sink())?;
        let got = counted.end();
        match diff_id {
            Some(want) if *want != got => Err(LayerError::DiffId { got, want: want.clone() }),
            _ => Ok(fresh),
        }
    }

    fn entry<R: Read>(
        &mut self,
        entry: &mut tar::Entry<'_, R>,
        fresh: &mut BTreeSet<String>,
    ) -> Result<(), LayerError> {
        self.entries += 1;
        if self.entries.max(self.root.len()) > MOST_ENTRIES {
            return Err(LayerError::Bomb);
        }
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let name = normalize_path(&text(&entry.path_bytes())?)?;
        let Some(path) = self.place(&name)? else { return Ok(()) };
        let is_done = match self.rules {
            OverlayRules::Layers => self.whiteout(&path, fresh)?,
            OverlayRules::Packages => kind == EntryType::Directory && self.is_folder(&path),
        };
        if is_done {
            return Ok(());
        }
        let made = self.read(entry, kind, &name)?;
        let link = if let EntryKind::Link(target) = &made.kind { target.len() } else { 0 };
        self.names += path.len() + link + made.label.as_ref().map_or(0, String::len);
        if self.names > MOST_NAMES {
            return Err(LayerError::Bomb);
        }
        self.root.put(&path, made);
        fresh.insert(path);
        Ok(())
    }

    /// Applies a whiteout, if the path is one.
    fn whiteout(&mut self, path: &str, fresh: &BTreeSet<String>) -> Result<bool, LayerError> {
        let (folder, last) = path.rsplit_once('/').unwrap_or(("", path));
        if last == OPAQUE {
            self.hide_below(folder, fresh);
            return Ok(true);
        }
        let Some(hidden) = last.strip_prefix(WHITEOUT) else { return Ok(false) };
        if hidden.is_empty() || hidden == "." || hidden == ".." {
            return Err(LayerError::Outside(path.to_owned()));
        }
        let hidden = if folder.is_empty() { hidden.to_owned() } else { format!("{folder}/{hidden}") };
        self.hide(&hidden, fresh);
        Ok(true)
    }

    /// Whether a path leads to a folder.
    fn is_folder(&self, path: &str) -> bool {
        let target = self.root.follow(path).map(|walk| walk.target);
        target.is_some_and(|target| {
            matches!(self.root.get(&target), Some(TreeEntry { kind: EntryKind::Folder, .. }))
        })
    }

    fn read<R: Read>(
        &mut self,
        entry: &mut tar::Entry<'_, R>,
        kind: EntryType,
        name: &str,
    ) -> Result<TreeEntry, LayerError> {
        let mode = entry.header().mode()? & 0o7777;
        let label = label(entry)?;
        let target = entry.link_name_bytes().map(|target| text(&target)).transpose()?.unwrap_or_default();
        let kind = match kind {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                // The holes of a sparse file count towards the limit.
                let length = entry.size();
                if length > MOST_UNPACKED - self.contents {
                    return Err(LayerError::Bomb);
                }
                self.contents += length;
                EntryKind::File(self.keep(entry, length, name)?)
            }
            EntryType::Link => {
                let found =
                    self.place(&normalize_path(&target)?)?.and_then(|path| self.root.get(&path).cloned());
                let is_whole =
                    |entry: &TreeEntry| matches!(entry.kind, EntryKind::File(_) | EntryKind::Link(_));
                let missing = || LayerError::HardLink { name: name.to_owned(), target: target.clone() };
                return found.filter(is_whole).ok_or_else(missing);
            }
            EntryType::Symlink if target.is_empty() || target.contains('\0') => {
                return Err(LayerError::Target(name.to_owned()));
            }
            EntryType::Symlink => EntryKind::Link(target),
            EntryType::Directory => EntryKind::Folder,
            EntryType::Char | EntryType::Block => EntryKind::Special("device"),
            EntryType::Fifo => EntryKind::Special("pipe"),
            _ => return Err(LayerError::Type(name.to_owned())),
        };
        Ok(TreeEntry { mode, kind, label })
    }

    /// The contents of a file, where they are from now on.
    fn keep(&mut self, file: &mut dyn Read, length: u64, name: &str) -> Result<Content, LayerError> {
        let content = if length <= SHORT.min(SHORT_TOGETHER - self.short) {
            self.short += length;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Content::from(bytes)
        } else {
            let mut watched = WatchedReader { inner: file, has_failed: false };
            let kept = self.spool.keep(&mut watched);
            kept.map_err(|source| {
                if watched.has_failed {
                    LayerError::Broken(source)
                } else {
                    LayerError::Keep { name: name.to_owned(), source }
                }
            })?
        };
        if content.len() < length {
            return Err(LayerError::Broken(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(content)
    }

    /// The path of an archive's name: links of lower layers among its folders are followed. None for the top itself.
    fn place(&self, name: &str) -> Result<Option<String>, LayerError> {
        let Some((folder, last)) = name.rsplit_once('/') else {
            return Ok(Some(name.to_owned()).filter(|name| !name.is_empty()));
        };
        let mut at = String::new();
        for step in folder.split('/') {
            let next = if at.is_empty() { step.to_owned() } else { format!("{at}/{step}") };
            at = match self.root.get(&next).map(|entry| &entry.kind) {
                // Made by the entry that needs it.
                None | Some(EntryKind::Folder) => next,
                Some(EntryKind::Link(_)) => {
                    let walk = self.root.follow(&next).ok_or_else(|| LayerError::Through(name.to_owned()))?;
                    walk.target
                }
                Some(_) => return Err(LayerError::Through(name.to_owned())),
            };
        }
        Ok(Some(if at.is_empty() { last.to_owned() } else { format!("{at}/{last}") }))
    }

    /// Removes the entries of lower layers at a path.
    fn hide(&mut self, path: &str, fresh: &BTreeSet<String>) {
        if fresh.contains(path) || has_below(fresh, path) {
            self.hide_below(path, fresh);
        } else {
            self.root.remove(path);
        }
    }

    /// Removes the entries of lower layers in a folder.
    fn hide_below(&mut self, folder: &str, fresh: &BTreeSet<String>) {
        let old = |path: &&str| !fresh.contains(*path) && !has_below(fresh, path);
        let hidden: Vec<_> =
            self.root.below(folder).map(|(path, _)| path).filter(old).map(str::to_owned).collect();
        for path in &hidden {
            self.root.remove(path);
        }
    }
}

fn has_below(paths: &BTreeSet<String>, folder: &str) -> bool {
    let prefix = format!("{folder}/");
    paths.range(prefix.clone()..).next().is_some_and(|path| path.starts_with(&prefix))
}

fn text(bytes: &[u8]) -> Result<String, LayerError> {
    let text = std::str::from_utf8(bytes).map_err(|_| LayerError::Name(bytes.escape_ascii().to_string()))?;
    Ok(text.to_owned())
}

/// The SELinux label of an entry. Programs that read it from a disk keep the zero at its end.
fn label<R: Read>(entry: &mut tar::Entry<'_, R>) -> Result<Option<String>, LayerError> {
    let Some(records) = entry.pax_extensions()? else { return Ok(None) };
    // Other attributes need not be text, and are read for none.
    let found = records.flatten().find(|record| record.key_bytes() == LABEL.as_bytes());
    let label = found.map(|record| text(record.value_bytes())).transpose()?;
    Ok(label.map(|label| label.trim_end_matches('\0').to_owned()).filter(|label| !label.is_empty()))
}

/// A normalised name of an archive: `./a//b/` is `a/b`, and so is `/a/b`.
fn normalize_path(name: &str) -> Result<String, LayerError> {
    let steps: Vec<_> = name.split('/').filter(|step| !step.is_empty() && *step != ".").collect();
    if steps.contains(&"..") || name.contains('\0') {
        return Err(LayerError::Outside(name.escape_debug().to_string()));
    }
    Ok(steps.join("/"))
}

#[cfg(test)]
mod tests {
    use tar::{Builder, Header};

    use super::*;
    use crate::oci::blob_store::{BlobWriter, LengthStore, MemoryStore};

    /// A tar archive of entries: a name, a type and the content or target.
    fn tar(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, kind, text) in entries {
            let mut header = Header::new_gnu();
            let bytes = name.as_bytes();
            header.as_mut_bytes()[..bytes.len()].copy_from_slice(bytes);
            header.set_mode(0o644);
            header.set_entry_type(*kind);
            let is_file = *kind == EntryType::Regular;
            if !is_file {
                header.as_mut_bytes()[157..157 + text.len()].copy_from_slice(text.as_bytes());
            }
            header.set_size(if is_file { text.len() as u64 } else { 0 });
            header.set_cksum();
            builder.append(&header, if is_file { text.as_bytes() } else { b"" }).unwrap();
        }
        builder.into_inner().unwrap()
    }

    const FILE: EntryType = EntryType::Regular;
    const FOLDER: EntryType = EntryType::Directory;
    const LINK: EntryType = EntryType::Symlink;
    const HARD: EntryType = EntryType::Link;

    fn unpack(layers: &[&[(&str, EntryType, &str)]]) -> Result<FileTree, LayerError> {
        let mut memory = MemoryStore::default();
        let mut unpack = LayerUnpacker::new(&mut memory);
        for layer in layers {
            unpack.layer(tar(layer).as_slice(), None)?;
        }
        Ok(unpack.finish())
    }

    fn unpack_layer(bytes: &[u8]) -> Result<FileTree, LayerError> {
        let mut memory = MemoryStore::default();
        let mut unpack = LayerUnpacker::new(&mut memory);
        unpack.layer(bytes, None)?;
        Ok(unpack.finish())
    }

    fn paths(root: &FileTree) -> Vec<&str> {
        root.iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn a_whiteout_hides_files_of_lower_layers_only() {
        let lower: &[_] =
            &[("./a/", FOLDER, ""), ("a/old", FILE, "1"), ("a/d/x", FILE, "1"), ("b", FILE, "1")];
        let root =
            unpack(&[lower, &[("a/.wh.old", FILE, ""), (".wh.b", FILE, ""), ("b", FILE, "2")]]).unwrap();
        assert_eq!(paths(&root), ["a", "a/d", "a/d/x", "b"]);
        assert_eq!(root.read("b").unwrap(), b"2");

        let root = unpack(&[lower, &[("b", FILE, "2"), (".wh.b", FILE, "")]]).unwrap();
        assert_eq!(root.read("b").unwrap(), b"2", "whiteouts are for lower layers alone");

        for opaque in [
            &[("a/new", FILE, "2"), ("a/.wh..wh..opq", FILE, "")],
            &[("a/.wh..wh..opq", FILE, ""), ("a/new", FILE, "2")],
        ] {
            let root = unpack(&[lower, opaque]).unwrap();
            assert_eq!(paths(&root), ["a", "a/new", "b"]);
        }
    }

    #[test]
    fn a_folder_link_of_a_lower_layer_is_followed() {
        let merged: &[_] = &[("usr/lib/", FOLDER, ""), ("lib", LINK, "usr/lib"), ("abs", LINK, "/usr/lib")];

        let root = unpack(&[merged, &[("lib/x", FILE, "1"), ("abs/y", FILE, "2")]]).unwrap();

        assert_eq!(paths(&root), ["abs", "lib", "usr", "usr/lib", "usr/lib/x", "usr/lib/y"]);
    }

    #[test]
    fn hard_links_share_the_content_of_their_target() {
        let root = unpack(&[&[("a", FILE, "1")], &[("b", HARD, "/a"), ("a", FILE, "2")]]).unwrap();

        assert_eq!(root.read("b").unwrap(), b"1");
        assert_eq!(root.read("a").unwrap(), b"2");
    }

    #[test]
    fn hostile_paths_are_rejected() {
        let refused = |entries: &[(&str, EntryType, &str)]| unpack(&[entries]).unwrap_err().to_string();
        assert!(refused(&[("../x", FILE, "")]).contains("escapes the root file system"));
        assert!(refused(&[("a/../../x", FILE, "")]).contains("escapes the root file system"));
        assert!(refused(&[("a/.wh...", FILE, "")]).contains("escapes the root file system"));
        assert!(refused(&[("a", HARD, "../etc/passwd")]).contains("escapes the root file system"));
        assert!(refused(&[("a", HARD, "b")]).contains("hard link"));
        assert!(refused(&[("a", FILE, ""), ("a/b", FILE, "")]).contains("not a folder"));
        assert!(refused(&[("a", LINK, "a"), ("a/b", FILE, "")]).contains("not a folder"));
        assert!(
            refused(&[("a", EntryType::new(b'Z'), "")]).contains("is not a file, folder, link or device")
        );
        assert!(refused(&[("a", LINK, "")]).contains("empty link target"));
        let archive_bytes = tar(&[("a", FILE, "123")]);
        assert!(LayerUnpacker::new(&mut MemoryStore::default()).layer(&archive_bytes[..514], None).is_err());
        let summed = LayerUnpacker::new(&mut MemoryStore::default())
            .layer(archive_bytes.as_slice(), Some(&Digest::of_bytes(b"")));
        assert!(matches!(summed, Err(LayerError::DiffId { .. })));
    }

    #[test]
    fn absolute_links_stay_inside_and_devices_are_kept() {
        let entries: &[_] = &[("out", LINK, "../../../etc/passwd"), ("null", EntryType::Char, "")];
        let root = unpack(&[entries]).unwrap();

        assert!(root.read("out").is_none());
        assert_eq!(root.get("null").unwrap().kind, EntryKind::Special("device"));
    }

    #[test]
    fn an_endless_archive_is_stopped() {
        // A sparse file of eight gigabytes, of which nothing is stored.
        let mut header = Header::new_gnu();
        header.set_path("bomb").unwrap();
        header.set_entry_type(EntryType::GNUSparse);
        header.set_size(0);
        header.set_mode(0o644);
        let gnu = header.as_gnu_mut().unwrap();
        gnu.realsize.copy_from_slice(b"77777777777\0");
        gnu.set_is_extended(false);
        gnu.sparse[0].offset.copy_from_slice(b"77777777777\0");
        gnu.sparse[0].numbytes.copy_from_slice(b"00000000000\0");
        header.set_cksum();
        let mut builder = Builder::new(Vec::new());
        builder.append(&header, io::empty()).unwrap();

        let refused = unpack_layer(&builder.into_inner().unwrap());

        assert!(matches!(refused, Err(LayerError::Bomb)), "{refused:?}");
    }

    /// Has no room.
    struct FullStore;

    impl BlobStore for FullStore {
        fn write(&mut self, _: BlobWriter<'_>) -> io::Result<Content> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    /// A file of zeros that is never in memory, in an archive.
    fn long_file(name: &str, length: u64) -> impl Read {
        let mut header = Header::new_gnu();
        header.set_path(name).unwrap();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(length);
        header.set_cksum();
        let head = io::Cursor::new(header.as_bytes().to_vec());
        head.chain(io::repeat(0).take(length.next_multiple_of(512) + 1024))
    }

    #[test]
    fn only_short_files_stay_in_memory() {
        let mut lengths = LengthStore;
        let mut unpack = LayerUnpacker::new(&mut lengths);
        unpack.layer(tar(&[("short", FILE, "1")]).as_slice(), None).unwrap();
        unpack.layer(long_file("long", SHORT + 1), None).unwrap();
        for nth in 0..40 {
            unpack.layer(long_file(&format!("many/{nth}"), SHORT), None).unwrap();
        }
        let root = unpack.finish();

        let in_memory = root.below("many").filter(|(_, entry)| entry.memory().is_some()).count();
        assert_eq!(in_memory, 31, "as many as fit beside the first");
        assert_eq!(root.read("short").unwrap(), b"1");
        assert_eq!((root.read("long"), root.file("long").unwrap().len()), (None, SHORT + 1));
        assert_eq!(root.load("long", SHORT).unwrap(), None);
        assert_eq!(root.load("long", SHORT + 1).unwrap().unwrap().len() as u64, SHORT + 1);
    }

    #[test]
    fn a_full_blob_store_is_distinguished_from_a_corrupt_archive() {
        let full = LayerUnpacker::new(&mut FullStore).layer(long_file("a/long", SHORT + 1), None);
        assert!(matches!(full, Err(LayerError::Keep { name, .. }) if name == "a/long"));

        let cut = LayerUnpacker::new(&mut LengthStore).layer(long_file("long", SHORT + 1).take(SHORT), None);
        assert!(matches!(cut, Err(LayerError::Broken(_))), "{cut:?}");
    }

    #[test]
    fn entry_headers_have_a_size_limit() {
        for kind in [b'x', b'L', b'K'] {
            let mut header = Header::new_ustar();
            header.set_entry_type(EntryType::new(kind));
            header.set_size(1 << 30);
            header.set_cksum();
            let archive = io::Cursor::new(header.as_bytes().to_vec()).chain(io::repeat(b'a').take(2 << 30));

            let refused = LayerUnpacker::new(&mut LengthStore).layer(archive, None);

            assert!(matches!(refused, Err(LayerError::Bomb)), "{refused:?}");
        }
    }

    #[test]
    fn a_file_larger_than_the_limit_is_rejected_before_it_is_read() {
        let refused = LayerUnpacker::new(&mut LengthStore).layer(long_file("long", MOST_UNPACKED + 1), None);

        assert!(matches!(refused, Err(LayerError::Bomb)), "{refused:?}");
    }

    #[test]
    fn selinux_labels_are_the_only_attributes_that_are_kept() {
        let mut builder = Builder::new(Vec::new());
        let mut add = |name: &str, kind: EntryType, records: &[(&str, &[u8])]| {
            builder.append_pax_extensions(records.iter().copied()).unwrap();
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(0o644);
            header.set_size(0);
            if kind == HARD {
                builder.append_link(&mut header, name, "labelled").unwrap();
            } else {
                builder.append_data(&mut header, name, io::empty()).unwrap();
            }
        };
        let capability: (&str, &[u8]) = ("SCHILY.xattr.security.capability", b"\x01\n\xff");
        add("labelled", FILE, &[capability, (LABEL, b"system_u:object_r:bin_t:s0\0")]);
        add("folder", FOLDER, &[(LABEL, b"a")]);
        add("empty", FILE, &[(LABEL, b"\0")]);
        add("hard", HARD, &[]);

        let root = unpack_layer(&builder.into_inner().unwrap()).unwrap();

        let label = |path: &str| root.get(path).unwrap().label.as_deref();
        assert_eq!(label("labelled"), Some("system_u:object_r:bin_t:s0"));
        assert_eq!((label("folder"), label("empty")), (Some("a"), None));
        assert_eq!(label("hard"), label("labelled"));
    }
}
