//! Existing files of an image that new extensions may replace: files of Talos itself, files and services of its extensions.
//!
//! Names and kinds are compared first. Contents are read only where a path and a length are the same, piece by piece.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use super::{Conflict, ConflictError, MOST_FILES, are_lists};
use crate::build::extension::{Extension, MODULES};
use crate::build::initramfs::{BaseInitramfs, ROOT};
use crate::media::squashfs::{self, Squashfs, SquashfsNode};
use crate::media::{Content, ImageError};
use crate::oci::{Digest, EntryKind, TreeEntry};
use ichor_talos::extension::{is_definition, service_name};
use ichor_values::TalosVersion;

/// The owner of the files of the root file system.
const TALOS: &str = "Talos itself";

/// No definition of a service is longer.
const LONGEST_DEFINITION: u64 = 1 << 20;

/// Finds files of an image that extensions would hide, and its existing services.
pub(super) fn find_existing_conflicts(
    extensions: &[Extension],
    base: &BaseInitramfs,
    talos: &TalosVersion,
    found: &mut Vec<Conflict>,
) -> Result<(), ConflictError> {
    if extensions.is_empty() {
        return Ok(());
    }
    let mut search = ExistingFiles { extensions, talos, seen: BTreeSet::new(), reported: 0, found };
    let is_given = |name: &str| extensions.iter().any(|extension| extension.metadata.name == name);
    // The highest layer first: files it hides have no owner anymore.
    for layer in base.layers.iter().rev() {
        let name = &layer.metadata.name;
        // The list of modules is regenerated, and an extension that is given again is reported as such.
        if name != MODULES && !is_given(name) {
            search.scan(&format!("{name} (in the image)"), &layer.image, base.squash(&layer.image)?)?;
        }
    }
    search.scan(TALOS, ROOT, base.squash(ROOT)?)?;
    search.firmware(base)
}

struct ExistingFiles<'s> {
    extensions: &'s [Extension],
    talos: &'s TalosVersion,
    /// Paths that a higher layer has.
    seen: BTreeSet<String>,
    /// The number of reported files.
    reported: usize,
    found: &'s mut Vec<Conflict>,
}

impl ExistingFiles<'_> {
    /// Compares everything of a file system.
    fn scan(&mut self, owner: &str, image: &str, content: &Content) -> Result<(), ConflictError> {
        let mut walk = || {
            let squashfs = Squashfs::open(content)?;
            squashfs.walk(&squashfs.top()?, &mut |path, node| {
                if is_definition(path) && node.is_file() {
                    self.service(owner, path, &squashfs.read(node, LONGEST_DEFINITION)?);
                }
                self.compare(owner, path, &squashfs, node)
            })
        };
        walk().map_err(|source| ConflictError::Squashfs { image: image.to_owned(), source })
    }

    fn service(&mut self, owner: &str, path: &str, text: &[u8]) {
        let Some(service) = service_name(path, text, self.talos) else { return };
        for extension in self.extensions {
            if extension.services.iter().any(|(name, _)| *name == service) {
                let names = [owner.to_owned(), extension.metadata.name.clone()];
                self.found.push(Conflict::Service { service: service.clone(), names });
            }
        }
    }

    fn compare(
        &mut self,
        owner: &str,
        path: &str,
        squashfs: &Squashfs<'_>,
        node: &SquashfsNode,
    ) -> Result<(), ImageError> {
        let inside = format!("rootfs/{path}");
        if are_lists(&inside) || self.seen.contains(path) {
            return Ok(());
        }
        for extension in self.extensions {
            let Some(entry) = extension.root.get(&inside) else { continue };
            self.seen.insert(path.to_owned());
            if !is_same(squashfs, node, entry)? {
                self.tell(owner, path, extension);
            }
        }
        Ok(())
    }

    /// Firmware is not in the file systems of extensions: it is moved into the initramfs, for drivers that start before them.
    fn firmware(&mut self, base: &BaseInitramfs) -> Result<(), ConflictError> {
        for (path, (length, digest)) in &base.firmware {
            for extension in self.extensions {
                let Some(content) = extension.root.file(&format!("rootfs/{path}")) else { continue };
                let is_same = content.len() == *length && Digest::of_all(&mut content.reader())? == *digest;
                if !is_same {
                    self.tell("the image", path, extension);
                }
            }
        }
        Ok(())
    }

    fn tell(&mut self, owner: &str, path: &str, extension: &Extension) {
        if self.reported < MOST_FILES {
            self.reported += 1;
            let (path, name) = (format!("/{path}"), extension.metadata.name.clone());
            self.found.push(match owner {
                TALOS => Conflict::Hides { path, name },
                _ => Conflict::File { path, names: [owner.to_owned(), name] },
            });
        }
    }
}

/// Whether two files are the same, so that one may hide the other.
fn is_same(squashfs: &Squashfs<'_>, node: &SquashfsNode, entry: &TreeEntry) -> Result<bool, ImageError> {
    Ok(match (&node.kind, &entry.kind) {
        (squashfs::NodeKind::Folder, EntryKind::Folder) => true,
        (squashfs::NodeKind::Link(there), EntryKind::Link(given)) => there == given,
        (squashfs::NodeKind::File, EntryKind::File(content)) => {
            node.mode == entry.mode & 0o7777
                && node.length == content.len()
                && has_bytes(squashfs, node, content)?
        }
        _ => false,
    })
}

fn has_bytes(squashfs: &Squashfs<'_>, node: &SquashfsNode, content: &Content) -> Result<bool, ImageError> {
    let mut comparison = ContentComparison { other: content.reader(), buffer: Vec::new(), differs: false };
    match squashfs.copy(node, node.length, &mut comparison) {
        _ if comparison.differs => Ok(false),
        read => read.map(|()| true),
    }
}

/// Compares the bytes written to it with those of a reader, and stops at the first difference.
struct ContentComparison<R> {
    other: R,
    buffer: Vec<u8>,
    differs: bool,
}

impl<R: Read> Write for ContentComparison<R> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.resize(bytes.len(), 0);
        self.other.read_exact(&mut self.buffer)?;
        self.differs = self.buffer != bytes;
        if self.differs { Err(io::ErrorKind::InvalidData.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
