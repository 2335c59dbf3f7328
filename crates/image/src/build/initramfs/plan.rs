//! How extensions are added to an initramfs: the file of each, and the segments before and after them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::base::{BaseInitramfs, FIRMWARE, SQUASHFS};
use crate::build::extension::{Extension, MODULES};
use crate::media::{Content, cpio};
use crate::oci::{EntryKind, FileTree, TreeEntry};
use ichor_talos::extension::{LAYERS, Layer};

/// The compression levels of the segment: a fast one if everything in it is compressed already, and that of Talos' imager if it has
/// firmware. See `docs/decisions.md`.
const LEVEL: i32 = 3;
const FIRMWARE_LEVEL: i32 = 18;

/// Microcode: the folder, prefix and suffix of its parts, and the file they are joined to.
const MICROCODE: [(&str, &str, &str, &str); 2] = [
    ("intel-ucode/", "", "", "kernel/x86/microcode/GenuineIntel.bin"),
    ("amd-ucode/", "microcode_amd", ".bin", "kernel/x86/microcode/AuthenticAMD.bin"),
];

/// The additions to an initramfs.
#[derive(Clone, Debug)]
pub struct InitramfsPlan {
    /// The extensions, in the order their file systems are stacked.
    pub additions: Vec<AddedExtension>,
    layers: Vec<Layer>,
    head: FileTree,
    files: FileTree,
    rest: Content,
}

/// An extension that is to be added.
#[derive(Clone, Debug)]
pub struct AddedExtension {
    /// The layer it becomes.
    pub layer: Layer,
    /// The tree of its squashfs: the folder `rootfs` of it.
    pub tree: FileTree,
}

impl BaseInitramfs {
    /// Plans to add extensions in the given order; they must be valid and without conflicts.
    ///
    /// Files are numbered from the first free number on, and layered in the order of their names as text, as Talos'
    /// imager does: `10.sqsh` comes before `2.sqsh`. The list of modules comes last and replaces an earlier one.
    pub fn plan(&self, extensions: &[Extension]) -> InitramfsPlan {
        let mut plan = InitramfsPlan {
            additions: Vec::new(),
            layers: self.layers.clone(),
            head: FileTree::default(),
            files: FileTree::default(),
            rest: self.rest.clone(),
        };
        let mut microcode: BTreeMap<&str, Content> =
            self.microcode.iter().map(|(path, content)| (path.as_str(), content.clone())).collect();
        for (name, extension) in self.named_files(extensions) {
            let mut tree = extension.root.clone();
            plan.take_firmware(&mut tree, &mut microcode);
            let image = format!("{name}{SQUASHFS}");
            plan.layers.retain(|layer| layer.image != image);
            let layer = Layer { image, metadata: extension.metadata.clone() };
            plan.layers.push(layer.clone());
            plan.additions.push(AddedExtension { layer, tree });
        }
        for (path, content) in microcode {
            plan.head.put(path, TreeEntry::file(0o644, content));
        }
        plan
    }

    /// Extensions with the names their files get, in the order Talos lists them.
    fn named_files<'e>(&self, extensions: &'e [Extension]) -> Vec<(String, &'e Extension)> {
        let taken = self.names.iter().filter_map(|name| name.strip_suffix(SQUASHFS)?.parse::<u32>().ok());
        let first = taken.max().map_or(0, |last| u64::from(last) + 1);
        let (lists, others): (Vec<_>, Vec<_>) =
            extensions.iter().partition(|extension| extension.metadata.name == MODULES);
        let mut named: Vec<_> = (first..).map(|number| number.to_string()).zip(others).collect();
        named.sort_by(|(one, _), (other, _)| one.cmp(other));
        named.extend(lists.into_iter().map(|list| (MODULES.to_owned(), list)));
        named
    }
}

impl InitramfsPlan {
    /// Moves firmware out of the tree of an extension: drivers need it before the extension is mounted.
    fn take_firmware(&mut self, tree: &mut FileTree, microcode: &mut BTreeMap<&str, Content>) {
        let folder = format!("rootfs/{FIRMWARE}");
        if tree.get(&folder).is_none() {
            return;
        }
        let mut firmware: Vec<(String, TreeEntry)> =
            tree.below(&folder).map(|(path, entry)| (path.to_owned(), entry.clone())).collect();
        for (subfolder, start, end, joined) in MICROCODE {
            firmware.retain(|(path, entry)| {
                let name = path[folder.len() + 1..].strip_prefix(subfolder);
                let is_part = name.is_some_and(|name| {
                    !name.contains('/') && name.starts_with(start) && name.ends_with(end)
                });
                match &entry.kind {
                    EntryKind::File(content) if is_part => {
                        microcode.entry(joined).or_default().push(content.clone());
                        false
                    }
                    _ => true,
                }
            });
        }
        self.files.put(FIRMWARE, TreeEntry::folder());
        for (path, entry) in firmware {
            self.files.put(&path["rootfs/".len()..], entry);
        }
        tree.remove(&folder);
    }

    /// Writes the appended segment, as one frame of zstd. `squashes` are the file systems of the additions, in their
    /// order.
    pub fn write_tail(&self, squashes: &[Content], out: &mut dyn Write) -> io::Result<()> {
        let mut files = self.files.clone();
        for (addition, squashfs) in self.additions.iter().zip(squashes) {
            files.put(&addition.layer.image, TreeEntry::file(0o644, squashfs.clone()));
        }
        files.put(LAYERS, TreeEntry::file(0o644, Layer::list(&self.layers).into_bytes()));
        let archive = cpio::write(&files).map_err(io::Error::other)?;
        let level = if self.files.is_empty() { LEVEL } else { FIRMWARE_LEVEL };
        let mut encoder = zstd::stream::Encoder::new(out, level)?;
        encoder.include_checksum(true)?;
        encoder.set_pledged_src_size(Some(archive.len()))?;
        archive.copy_to(&mut encoder)?;
        encoder.finish()?;
        Ok(())
    }

    /// The complete initramfs: microcode, the base, and the segment that [`write_tail`](Self::write_tail) wrote.
    pub fn initramfs(&self, tail: Content) -> Result<Content, cpio::CpioWriteError> {
        let mut joined = if self.head.is_empty() { Content::default() } else { cpio::write(&self.head)? };
        joined.push(self.rest.clone());
        joined.push(tail);
        Ok(joined)
    }

    /// All layers that the initramfs will have, the lowest first.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }
}
