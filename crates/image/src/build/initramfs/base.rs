//! An initramfs of Talos or the Image Factory: its contents.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use super::InitramfsError;
use super::segments::{self, InitramfsFile};
use crate::media::cpio::FileType;
use crate::media::squashfs::Squashfs;
use crate::media::{self, Content};
use crate::oci::Digest;
use ichor_talos::extension::{LAYERS, Layer};

/// The init program.
pub const INIT: &str = "init";

/// Talos' own file system.
pub const ROOT: &str = "rootfs.sqsh";

/// The suffix of file systems' names.
pub(super) const SQUASHFS: &str = ".sqsh";

/// The folder of microcode, which a kernel loads before it unpacks anything.
const MICROCODE: &str = "kernel/x86/microcode/";

/// The folder of firmware, in the root file system of an extension and in an initramfs.
pub(super) const FIRMWARE: &str = "usr/lib/firmware";

/// The longest list of extensions and configuration of a machine.
const LONGEST: u64 = 16 << 20;

/// The path of a configuration inside an image.
pub(in crate::build) const CONFIG: &str = "usr/local/etc/talos/config.yaml";

/// Receives a file system by its name, and returns the stored copy, if it keeps one.
pub type SquashfsStore<'k> = &'k mut dyn FnMut(&str, &mut dyn Read) -> io::Result<Option<Content>>;

/// An initramfs and its contents.
#[derive(Clone, Debug)]
pub struct BaseInitramfs {
    /// The image from the first compressed segment on.
    pub(super) rest: Content,
    /// Everything that is at its top.
    pub(super) names: BTreeSet<String>,
    /// Microcode by the names of its files.
    pub(super) microcode: BTreeMap<String, Content>,
    /// Firmware by its path: how long it is, and its sum.
    pub(in crate::build) firmware: BTreeMap<String, (u64, Digest)>,
    /// The extensions it has, the lowest first.
    pub layers: Vec<Layer>,
    /// The file systems that were kept, by the names of their files.
    pub kept: BTreeMap<String, Content>,
}

/// A file system is listed in an initramfs that does not contain it.
#[derive(Debug, thiserror::Error)]
#[error("the initramfs lacks the file system `{0}`")]
pub struct MissingSquashfs(pub String);

impl BaseInitramfs {
    /// Reads an initramfs; `keep` is shown each squashfs in it.
    pub fn read(image: &Content, keep: SquashfsStore<'_>) -> Result<Self, InitramfsError> {
        let mut base = Self {
            rest: Content::default(),
            names: BTreeSet::new(),
            microcode: BTreeMap::new(),
            firmware: BTreeMap::new(),
            layers: Vec::new(),
            kept: BTreeMap::new(),
        };
        let head = segments::files(image, &mut |file, bytes| base.add(image, file, bytes, keep))?;
        for name in [INIT, ROOT] {
            if !base.names.contains(name) {
                return Err(InitramfsError::Missing(name));
            }
        }
        // The part before it is microcode, which is rewritten.
        base.rest = image.part(head, image.len() - head).expect("within the image");
        Ok(base)
    }

    fn add(
        &mut self,
        image: &Content,
        file: &InitramfsFile,
        bytes: &mut dyn Read,
        keep: SquashfsStore<'_>,
    ) -> Result<(), InitramfsError> {
        if file.shape != FileType::File {
            return Ok(());
        }
        if !file.path.contains('/') {
            self.names.insert(file.path.clone());
        }
        if file.path == LAYERS {
            // The last one wins when everything is unpacked.
            self.layers = Layer::read(&read_file(file, bytes)?).map_err(InitramfsError::Layers)?;
        } else if file.path.strip_suffix(SQUASHFS).is_some() {
            if let Some(kept) = keep(&file.path, bytes)? {
                self.kept.insert(file.path.clone(), kept);
            }
        } else if file.path.starts_with(MICROCODE)
            && let Some(content) = file.at.and_then(|at| image.part(at, file.length))
        {
            // And of microcode the first.
            self.microcode.entry(file.path.clone()).or_insert(content);
        } else if file.path.strip_prefix(FIRMWARE).is_some_and(|rest| rest.starts_with('/')) {
            self.firmware.insert(file.path.clone(), (file.length, Digest::of_all(bytes)?));
        }
        Ok(())
    }

    /// A file system that was kept.
    pub(in crate::build) fn squash(&self, image: &str) -> Result<&Content, MissingSquashfs> {
        self.kept.get(image).ok_or_else(|| MissingSquashfs(image.to_owned()))
    }
}

fn read_file(file: &InitramfsFile, bytes: &mut dyn Read) -> Result<Vec<u8>, InitramfsError> {
    if file.length > LONGEST {
        return Err(InitramfsError::Long { path: file.path.clone(), length: file.length, most: LONGEST });
    }
    let mut contents = Vec::new();
    bytes.read_to_end(&mut contents)?;
    Ok(contents)
}

/// The configuration in the file system of an extension; none if it has none.
pub fn embedded_config(squashfs: &Content) -> Result<Option<Vec<u8>>, media::ImageError> {
    let squashfs = Squashfs::open(squashfs)?;
    let found = squashfs.find(CONFIG)?.filter(|node| node.is_file());
    found.map(|node| squashfs.read(&node, LONGEST)).transpose()
}
