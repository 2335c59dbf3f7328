//! Layers: tar archives that are laid over one another.
//!
//! [`Unpack`] lays them over each other as container runtimes do: what a later layer has takes the place of what an
//! earlier one had, and `.wh.NAME` takes it away. Nothing is written anywhere, so that no name in an archive leads out of the root file
//! system; what cannot be meant well is refused all the same. [`layer`] is the way back.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tar::{Archive, Builder, EntryType, Header};

use super::compression::{gzip, plain};
use super::descriptor::{Descriptor, LAYER};
use super::digest::Digest;
use super::root::{Entry, Kind, Root};
use crate::talos::digest::hex;

/// No root file system is larger unpacked, whatever its layers promise.
pub const MOST_UNPACKED: u64 = 2 << 30;

/// More files and folders than any image has.
const MOST_ENTRIES: usize = 1_000_000;

/// A name that takes away what lower layers have.
const WHITEOUT: &str = ".wh.";

/// A name that takes away everything that lower layers have in its folder.
const OPAQUE: &str = ".wh..wh..opq";

/// A layer that cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// It is not an archive, or ends too soon.
    #[error("not a whole tar archive")]
    Broken(#[from] io::Error),
    /// A name that leads out of the root file system.
    #[error("`{0}` leads out of the root file system; such an archive is not unpacked")]
    Outside(String),
    /// A name that is not text.
    #[error("`{0}` is not UTF-8; such an archive is not unpacked")]
    Name(String),
    /// A hard link to nothing.
    #[error("`{name}` is a hard link to `{target}`, which is no file of it")]
    HardLink {
        /// The link.
        name: String,
        /// Where it should lead.
        target: String,
    },
    /// A link that leads to no name.
    #[error("`{0}` is a link to no name")]
    Target(String),
    /// An entry of a type that is not known.
    #[error("`{0}` is neither a file, a folder, a link nor a device")]
    Type(String),
    /// A path through something that is no folder.
    #[error("`{0}` goes through something that is no folder")]
    Through(String),
    /// More than any image has.
    #[error("more than {} GiB when unpacked, or more than {MOST_ENTRIES} entries: no image is that large", MOST_UNPACKED >> 30)]
    Bomb,
    /// Its contents are not those its image names.
    #[error("its unpacked SHA-256 is {got}, and its image says {want}")]
    DiffId {
        /// The sum it has.
        got: Digest,
        /// The sum it should have.
        want: Digest,
    },
}

/// Layers on their way to a root file system.
#[derive(Debug, Default)]
pub struct Unpack {
    root: Root,
    contents: u64,
    entries: usize,
    rules: Rules,
}

/// Whose archives are laid over each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rules {
    /// Layers of an image: whiteouts take away, and a folder takes the place of a link.
    #[default]
    Layers,
    /// Packages of Debian: nothing takes away, and a link to a folder is as good as a folder.
    Packages,
}

/// Counts and sums up what is read.
struct Counted<R> {
    inner: R,
    sum: Sha256,
    left: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.sum.update(&buffer[..read]);
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| io::Error::other(LayerError::Bomb))?;
        Ok(read)
    }
}

impl Unpack {
    /// Lays a layer over what is there. `diff_id` is the sum of the archive without its compression.
    pub fn layer(&mut self, stored: &[u8], diff_id: Option<&Digest>) -> Result<(), LayerError> {
        self.unpack(stored, diff_id).map(drop)
    }

    /// Begins with a root file system that packages are unpacked into.
    pub(crate) fn over(root: Root) -> Self {
        Self { root, rules: Rules::Packages, ..Self::default() }
    }

    /// Unpacks the files of a package, and says where they are now.
    pub(crate) fn package(&mut self, stored: &[u8]) -> Result<BTreeSet<String>, LayerError> {
        self.unpack(stored, None)
    }

    /// What came of all layers.
    pub fn finish(self) -> Root {
        self.root
    }

    /// The paths that came with an archive.
    fn unpack(&mut self, stored: &[u8], diff_id: Option<&Digest>) -> Result<BTreeSet<String>, LayerError> {
        self.archive(stored, diff_id).map_err(|error| match error {
            LayerError::Broken(error) if error.get_ref().is_some_and(|it| it.is::<LayerError>()) => {
                LayerError::Bomb
            }
            other => other,
        })
    }

    fn archive(&mut self, stored: &[u8], diff_id: Option<&Digest>) -> Result<BTreeSet<String>, LayerError> {
        let mut counted = Counted { inner: plain(stored), sum: Sha256::new(), left: MOST_UNPACKED };
        let mut archive = Archive::new(&mut counted);
        let mut fresh = BTreeSet::new();
        for entry in archive.entries()? {
            self.entry(&mut entry?, &mut fresh)?;
        }
        io::copy(&mut counted, &mut io::sink())?;
        let got =
            Digest::parse(&format!("sha256:{}", hex(&counted.sum.finalize()))).expect("64 digits in hex");
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
        if self.entries > MOST_ENTRIES {
            return Err(LayerError::Bomb);
        }
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let name = inside(&text(&entry.path_bytes())?)?;
        let Some(path) = self.place(&name)? else { return Ok(()) };
        let is_done = match self.rules {
            Rules::Layers => self.whiteout(&path, fresh)?,
            Rules::Packages => kind == EntryType::Directory && self.is_folder(&path),
        };
        if is_done {
            return Ok(());
        }
        let made = self.read(entry, kind, &name)?;
        self.root.put(&path, made);
        fresh.insert(path);
        Ok(())
    }

    /// Takes away what a path says, if it is one that does.
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
        target.is_some_and(|target| matches!(self.root.get(&target), Some(Entry { kind: Kind::Folder, .. })))
    }

    fn read<R: Read>(
        &mut self,
        entry: &mut tar::Entry<'_, R>,
        kind: EntryType,
        name: &str,
    ) -> Result<Entry, LayerError> {
        let mode = entry.header().mode()? & 0o7777;
        let target = entry.link_name_bytes().map(|target| text(&target)).transpose()?.unwrap_or_default();
        let kind = match kind {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let mut bytes = Vec::new();
                let left = MOST_UNPACKED - self.contents;
                // What is not stored of a sparse file counts, too.
                if entry.size() > left {
                    return Err(LayerError::Bomb);
                }
                entry.read_to_end(&mut bytes)?;
                self.contents += bytes.len() as u64;
                Kind::File(bytes.into())
            }
            EntryType::Link => {
                let found = self.place(&inside(&target)?)?.and_then(|path| self.root.get(&path).cloned());
                let is_whole = |entry: &Entry| matches!(entry.kind, Kind::File(_) | Kind::Link(_));
                let missing = || LayerError::HardLink { name: name.to_owned(), target: target.clone() };
                return found.filter(is_whole).ok_or_else(missing);
            }
            EntryType::Symlink if target.is_empty() || target.contains('\0') => {
                return Err(LayerError::Target(name.to_owned()));
            }
            EntryType::Symlink => Kind::Link(target),
            EntryType::Directory => Kind::Folder,
            EntryType::Char | EntryType::Block => Kind::Special("device"),
            EntryType::Fifo => Kind::Special("pipe"),
            _ => return Err(LayerError::Type(name.to_owned())),
        };
        Ok(Entry { mode, kind })
    }

    /// Where a name of an archive lies: links of lower layers among its folders are followed. Nothing for the top itself.
    fn place(&self, name: &str) -> Result<Option<String>, LayerError> {
        let Some((folder, last)) = name.rsplit_once('/') else {
            return Ok(Some(name.to_owned()).filter(|name| !name.is_empty()));
        };
        let mut at = String::new();
        for step in folder.split('/') {
            let next = if at.is_empty() { step.to_owned() } else { format!("{at}/{step}") };
            at = match self.root.get(&next).map(|entry| &entry.kind) {
                // Made by the entry that needs it.
                None | Some(Kind::Folder) => next,
                Some(Kind::Link(_)) => {
                    let walk = self.root.follow(&next).ok_or_else(|| LayerError::Through(name.to_owned()))?;
                    walk.target
                }
                Some(_) => return Err(LayerError::Through(name.to_owned())),
            };
        }
        Ok(Some(if at.is_empty() { last.to_owned() } else { format!("{at}/{last}") }))
    }

    /// Takes away what lower layers have at a path.
    fn hide(&mut self, path: &str, fresh: &BTreeSet<String>) {
        if fresh.contains(path) || has_below(fresh, path) {
            self.hide_below(path, fresh);
        } else {
            self.root.remove(path);
        }
    }

    /// Takes away what lower layers have in a folder.
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

/// A name of an archive without what means nothing: `./a//b/` is `a/b`, and so is `/a/b`.
fn inside(name: &str) -> Result<String, LayerError> {
    let steps: Vec<_> = name.split('/').filter(|step| !step.is_empty() && *step != ".").collect();
    if steps.contains(&"..") || name.contains('\0') {
        return Err(LayerError::Outside(name.escape_debug().to_string()));
    }
    Ok(steps.join("/"))
}

/// A layer and its sums.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The layer as it is stored.
    pub bytes: Arc<[u8]>,
    /// What its manifest says of it.
    pub descriptor: Descriptor,
    /// The sum of the archive without its compression.
    pub diff_id: Digest,
}

/// A root file system as one layer: the same bytes for the same files.
pub fn layer(root: &Root) -> Layer {
    let tar = archive(root);
    let diff_id = Digest::of(&tar);
    let bytes = gzip(&tar);
    Layer { descriptor: Descriptor::of(LAYER, &bytes), bytes: bytes.into(), diff_id }
}

/// A tar archive with every entry in the order of the paths, of root, and from the start of 1970.
pub fn archive(root: &Root) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (path, entry) in root.iter() {
        let mut header = Header::new_gnu();
        header.set_mode(entry.mode);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(0);
        let appended = match &entry.kind {
            Kind::Folder => {
                header.set_entry_type(EntryType::Directory);
                builder.append_data(&mut header, format!("{path}/"), io::empty())
            }
            Kind::File(bytes) => {
                header.set_entry_type(EntryType::Regular);
                header.set_size(bytes.len());
                builder.append_data(&mut header, path, bytes.reader())
            }
            Kind::Link(target) => {
                header.set_entry_type(EntryType::Symlink);
                builder.append_link(&mut header, path, target)
            }
            // Nothing of ours has any.
            Kind::Special(_) => continue,
        };
        appended.expect("memory takes every byte, and every path is relative");
    }
    builder.into_inner().expect("memory takes every byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tar archive of entries as they come: a name, a type and what it holds or where it leads.
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

    fn unpacked(layers: &[&[(&str, EntryType, &str)]]) -> Result<Root, LayerError> {
        let mut unpack = Unpack::default();
        for layer in layers {
            unpack.layer(&tar(layer), None)?;
        }
        Ok(unpack.finish())
    }

    fn paths(root: &Root) -> Vec<&str> {
        root.iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn later_layers_hide_what_earlier_ones_have_and_not_their_own() {
        let lower: &[_] =
            &[("./a/", FOLDER, ""), ("a/old", FILE, "1"), ("a/d/x", FILE, "1"), ("b", FILE, "1")];
        let root =
            unpacked(&[lower, &[("a/.wh.old", FILE, ""), (".wh.b", FILE, ""), ("b", FILE, "2")]]).unwrap();
        assert_eq!(paths(&root), ["a", "a/d", "a/d/x", "b"]);
        assert_eq!(root.read("b").unwrap(), b"2");

        let root = unpacked(&[lower, &[("b", FILE, "2"), (".wh.b", FILE, "")]]).unwrap();
        assert_eq!(root.read("b").unwrap(), b"2", "whiteouts are for lower layers alone");

        for opaque in [
            &[("a/new", FILE, "2"), ("a/.wh..wh..opq", FILE, "")],
            &[("a/.wh..wh..opq", FILE, ""), ("a/new", FILE, "2")],
        ] {
            let root = unpacked(&[lower, opaque]).unwrap();
            assert_eq!(paths(&root), ["a", "a/new", "b"]);
        }
    }

    #[test]
    fn a_folder_that_is_a_link_below_is_gone_through() {
        let merged: &[_] = &[("usr/lib/", FOLDER, ""), ("lib", LINK, "usr/lib"), ("abs", LINK, "/usr/lib")];

        let root = unpacked(&[merged, &[("lib/x", FILE, "1"), ("abs/y", FILE, "2")]]).unwrap();

        assert_eq!(paths(&root), ["abs", "lib", "usr", "usr/lib", "usr/lib/x", "usr/lib/y"]);
    }

    #[test]
    fn hard_links_are_the_file_they_lead_to() {
        let root = unpacked(&[&[("a", FILE, "1")], &[("b", HARD, "/a"), ("a", FILE, "2")]]).unwrap();

        assert_eq!(root.read("b").unwrap(), b"1");
        assert_eq!(root.read("a").unwrap(), b"2");
    }

    #[test]
    fn what_cannot_be_meant_well_is_refused() {
        let refused = |entries: &[(&str, EntryType, &str)]| unpacked(&[entries]).unwrap_err().to_string();
        assert!(refused(&[("../x", FILE, "")]).contains("leads out"));
        assert!(refused(&[("a/../../x", FILE, "")]).contains("leads out"));
        assert!(refused(&[("a/.wh...", FILE, "")]).contains("leads out"));
        assert!(refused(&[("a", HARD, "../etc/passwd")]).contains("leads out"));
        assert!(refused(&[("a", HARD, "b")]).contains("hard link"));
        assert!(refused(&[("a", FILE, ""), ("a/b", FILE, "")]).contains("no folder"));
        assert!(refused(&[("a", LINK, "a"), ("a/b", FILE, "")]).contains("no folder"));
        assert!(refused(&[("a", EntryType::new(b'Z'), "")]).contains("neither"));
        assert!(refused(&[("a", LINK, "")]).contains("link to no name"));
        let whole = tar(&[("a", FILE, "123")]);
        assert!(Unpack::default().layer(&whole[..514], None).is_err());
        let mut sums = Unpack::default();
        assert!(matches!(sums.layer(&whole, Some(&Digest::of(b""))), Err(LayerError::DiffId { .. })));
    }

    #[test]
    fn links_out_lead_nowhere_and_devices_are_told() {
        let entries: &[_] = &[("out", LINK, "../../../etc/passwd"), ("null", EntryType::Char, "")];
        let root = unpacked(&[entries]).unwrap();

        assert!(root.read("out").is_none());
        assert_eq!(root.get("null").unwrap().kind, Kind::Special("device"));
    }

    #[test]
    fn a_layer_is_read_back_and_always_the_same() {
        let mut root = Root::default();
        let long = format!("{}/{}", "d".repeat(120), "n".repeat(140));
        root.put(&long, Entry::file(0o755, b"1"));
        root.put("b", Entry::link("x".repeat(150)));

        let made = layer(&root);
        let mut unpack = Unpack::default();
        unpack.layer(&made.bytes, Some(&made.diff_id)).unwrap();

        assert_eq!(unpack.finish(), root);
        assert_eq!(layer(&root).bytes, made.bytes);
    }

    #[test]
    fn an_archive_that_never_ends_is_stopped() {
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

        let refused = Unpack::default().layer(&builder.into_inner().unwrap(), None);

        assert!(matches!(refused, Err(LayerError::Bomb)), "{refused:?}");
    }
}
