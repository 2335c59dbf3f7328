//! Conflicts between extensions, found before any file is written.

mod existing;

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use super::extension::{EMBEDDED, Extension, MODULES, MODULES_FOLDER};
use super::initramfs::{BaseInitramfs, MissingSquashfs};
use crate::media::ImageError;
use crate::oci::{EntryKind, TreeEntry};
use ichor_values::TalosVersion;

/// How many files that two extensions share are reported; further ones are of the same kind.
const MOST_FILES: usize = 10;

/// A conflict between extensions of one image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The same extension, twice.
    Twice {
        /// Its name.
        name: String,
        /// Both versions.
        versions: [String; 2],
    },
    /// The image has it already.
    Present {
        /// Its name.
        name: String,
        /// The existing version, and the new one.
        versions: [String; 2],
    },
    /// Two extensions with different entries at the same path.
    File {
        /// The path on the node.
        path: String,
        /// The two extensions.
        names: [String; 2],
    },
    /// An extension with a different entry at the path of one of Talos itself.
    Hides {
        /// The path on the node.
        path: String,
        /// The extension.
        name: String,
    },
    /// Two services of one name.
    Service {
        /// Its name.
        service: String,
        /// The two extensions.
        names: [String; 2],
    },
    /// Modules of another kernel.
    Kernel {
        /// The extension.
        name: String,
        /// The kernel that its modules are for.
        has: String,
        /// The kernel of the image.
        wants: String,
    },
}

/// Why extensions cannot be checked for conflicts.
#[derive(Debug, thiserror::Error)]
pub enum ConflictError {
    /// A file system of the image was not kept.
    #[error(transparent)]
    NotKept(#[from] MissingSquashfs),
    /// It could not be read.
    #[error("cannot read the file system `{image}` of the initramfs")]
    Squashfs {
        /// Which one.
        image: String,
        /// Why not.
        source: ImageError,
    },
    /// A file of an extension could not be read.
    #[error("cannot read a file of an extension")]
    File(#[from] io::Error),
}

impl Conflict {
    /// Whether the image cannot be made. An extension may replace a file of Talos on purpose.
    pub fn is_fatal(&self) -> bool {
        !matches!(self, Self::Hides { .. })
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice { name, versions: [one, other] } => {
                write!(f, "extension {name} is given twice, as {one} and as {other}; remove one")
            }
            Self::Present { name, .. } if name == EMBEDDED => {
                write!(f, "the image already has an embedded configuration; use an image without one")
            }
            Self::Present { name, versions: [there, given] } => write!(
                f,
                "the image already has extension {name} {there} and cannot get {given}; use an image without it, or keep {there}"
            ),
            Self::File { path, names: [one, other] } => {
                write!(f, "{one} and {other} have different files at {path}: one would hide the other")
            }
            Self::Hides { path, name } => {
                write!(f, "{name} replaces {path} of Talos with a different file")
            }
            Self::Service { service, names: [one, other] } => write!(
                f,
                "{one} and {other} both define service `{service}`; the node starts only one of them"
            ),
            Self::Kernel { name, has, wants } => write!(
                f,
                "{name} has modules for the kernel {has}, and the image has the kernel {wants}, which does not load them; want the \
                 build of the extension for this release of Talos"
            ),
        }
    }
}

/// Everything that keeps extensions out of an image of a release. `kernel` is the version of the image's kernel, where it is known.
pub fn find_conflicts(
    extensions: &[Extension],
    base: &BaseInitramfs,
    talos: &TalosVersion,
    kernel: Option<&str>,
) -> Result<Vec<Conflict>, ConflictError> {
    let mut found = Vec::new();
    names(extensions, base, &mut found);
    kernels(extensions, kernel, &mut found);
    services(extensions, &mut found);
    files(extensions, &mut found);
    existing::find_existing_conflicts(extensions, base, talos, &mut found)?;
    Ok(found)
}

fn names(extensions: &[Extension], base: &BaseInitramfs, found: &mut Vec<Conflict>) {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for extension in extensions.iter().map(|extension| &extension.metadata) {
        let versions = |other: &str| [other.to_owned(), extension.version.clone()];
        let name = extension.name.clone();
        if let Some(other) = seen.insert(&extension.name, &extension.version) {
            found.push(Conflict::Twice { name, versions: versions(other) });
        } else if let Some(layer) = base.layers.iter().find(|layer| layer.metadata.name == name)
            && name != MODULES
        {
            found.push(Conflict::Present { name, versions: versions(&layer.metadata.version) });
        }
    }
}

fn kernels(extensions: &[Extension], kernel: Option<&str>, found: &mut Vec<Conflict>) {
    let Some(wants) = kernel else { return };
    for extension in extensions {
        let name = || extension.metadata.name.clone();
        let others = extension.kernels().into_iter().filter(|has| *has != wants);
        found.extend(others.map(|has| Conflict::Kernel {
            name: name(),
            has: has.to_owned(),
            wants: wants.to_owned(),
        }));
    }
}

fn services(extensions: &[Extension], found: &mut Vec<Conflict>) {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for extension in extensions {
        for (service, _) in &extension.services {
            let name = extension.metadata.name.as_str();
            // Duplicates in one extension are reported by its validation.
            if let Some(other) = seen.insert(service, name).filter(|other| *other != name) {
                let names = [other.to_owned(), name.to_owned()];
                found.push(Conflict::Service { service: service.clone(), names });
            }
        }
    }
}

fn files(extensions: &[Extension], found: &mut Vec<Conflict>) {
    let mut seen: BTreeMap<&str, (&str, &TreeEntry)> = BTreeMap::new();
    let mut reported = 0;
    for extension in extensions {
        let name = extension.metadata.name.as_str();
        for (path, entry) in extension.root.below("rootfs") {
            let Some((other, there)) = seen.insert(path, (name, entry)) else { continue };
            let are_folders = there.kind == EntryKind::Folder && entry.kind == EntryKind::Folder;
            if other == name || are_folders || there == entry || are_lists(path) || reported == MOST_FILES {
                continue;
            }
            reported += 1;
            let (path, names) = (path["rootfs".len()..].to_owned(), [other.to_owned(), name.to_owned()]);
            found.push(Conflict::File { path, names });
        }
    }
}

/// Whether depmod writes a path for a kernel. Builds of modules include it, and the list of all modules replaces it.
fn are_lists(path: &str) -> bool {
    let below = path.strip_prefix(MODULES_FOLDER).and_then(|rest| rest.strip_prefix('/')?.split_once('/'));
    below.is_some_and(|(_, name)| name.starts_with("modules.") && !name.contains('/'))
}
