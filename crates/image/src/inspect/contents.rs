//! The contents of boot media: the release, its extensions, and perhaps a configuration.

use std::collections::BTreeMap;

use super::{BootMedia, EmbeddedError, MediaItem, boot_entry};
use crate::build::extension::EMBEDDED;
use crate::build::initramfs;
use crate::build::initramfs::{InitramfsError, ROOT};
use crate::build::release;
use crate::media::squashfs::{Squashfs, SquashfsNode};
use crate::media::uki::{self, name};
use crate::media::{Content, FileSystem, FileSystemType, Image, ImageError};
use crate::oci::BlobStore;
use ichor_talos::extension::{LAYERS, Layer};
use ichor_values::TalosVersion;

/// An initramfs beside kernel images: on CDs.
const INITRAMFS: &str = "boot/initramfs.xz";

/// The paths of `os-release` in the root file system.
const RELEASES: [&str; 2] = ["usr/lib/os-release", "etc/os-release"];

/// The longest text, and the longest file system that is searched for a configuration.
const LONGEST_TEXT: u64 = 64 << 10;
const LONGEST: u64 = 16 << 20;

/// A release, and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedRelease {
    /// Which it is.
    pub version: TalosVersion,
    /// Its source.
    pub by: String,
}

impl BootMedia {
    /// The contents of an installer: the kernel image that it writes to disks.
    pub fn of_installer(kernel: &Content, spool: &mut dyn BlobStore) -> Result<Self, ImageError> {
        let mut media = Self::of_image(kernel, spool)?;
        media.found.insert(0, MediaItem::new("an installer", 0, "the image of `machine.install.image`"));
        Ok(media)
    }

    /// Adds a command line beside other files.
    pub fn add_command_line(&mut self, line: &str) {
        self.boots("the command line", line.trim_end_matches(['\n', '\0']).to_owned());
    }

    /// Adds an initramfs beside other files.
    pub fn add_initramfs(&mut self, place: &str, image: &dyn Image, spool: &mut dyn BlobStore) {
        let mut found = |taken_for: String| {
            self.found.push(MediaItem { name: place.to_owned(), length: image.size(), taken_for });
        };
        if self.extensions.is_some() {
            return found("another initramfs (ignored)".to_owned());
        }
        let inside = match InitramfsContents::read(image, self.release.is_none(), spool) {
            Ok(inside) => inside,
            Err(error) => {
                found(format!("an unreadable initramfs: {}", error_chain(&error)));
                self.embedded = Some(Err(EmbeddedError::Initramfs));
                return;
            }
        };
        found(match inside.layers.len() {
            0 => "an initramfs without extensions".to_owned(),
            1 => "an initramfs with 1 extension".to_owned(),
            many => format!("an initramfs with {many} extensions"),
        });
        self.add_release(inside.release.as_deref().and_then(release), || format!("{ROOT} of {place}"));
        for layer in &inside.layers {
            let name = format!("{} {}", layer.metadata.name, layer.metadata.version);
            let taken_for = format!("an extension: {}", layer.image);
            self.found.push(MediaItem::new(name, 0, taken_for));
        }
        if let Some(layer) = inside.layers.iter().find(|layer| layer.metadata.name == EMBEDDED) {
            let config = inside.configs.get(&layer.image);
            self.embedded =
                Some(config.cloned().ok_or_else(|| EmbeddedError::Extension { image: layer.image.clone() }));
        }
        self.extensions = Some(inside.layers);
    }

    /// Adds the boot files of a volume.
    pub(super) fn add_booted(
        &mut self,
        found: &FileSystem,
        image: &dyn Image,
        spool: &mut dyn BlobStore,
    ) -> Result<(), ImageError> {
        for (path, entry) in boot_entry::kernels(found, image)? {
            self.add_kernel_image(&path, &found.file(image, &entry)?, spool)?;
        }
        if found.kind == FileSystemType::Iso9660 {
            self.add_release(release_of_label(&found.label), || format!("the label `{}`", found.label));
            if let Some(entry) = found.find_path(image, INITRAMFS)?.filter(|entry| !entry.folder) {
                self.add_initramfs(INITRAMFS, &found.file(image, &entry)?, spool);
            }
        }
        Ok(())
    }

    /// Adds the contents of a kernel image, except its command line.
    pub(super) fn add_kernel_image(
        &mut self,
        path: &str,
        image: &dyn Image,
        spool: &mut dyn BlobStore,
    ) -> Result<(), ImageError> {
        if let Some(section) = uki::section(image, name::RELEASE)? {
            let length = section.size().min(LONGEST_TEXT);
            let mut bytes = vec![0; usize::try_from(length).expect("a short text")];
            section.read_at(0, &mut bytes).map_err(ImageError::Read)?;
            self.add_release(release(&String::from_utf8_lossy(&bytes)), || {
                format!("{} of {path}", name::RELEASE)
            });
        }
        self.add_release(release_of_name(path), || format!("the name of {path}"));
        if let Some(initramfs) = uki::section(image, name::INITRAMFS)? {
            self.add_initramfs(&format!("{} of {path}", name::INITRAMFS), &initramfs, spool);
        }
        Ok(())
    }

    /// Takes the release from the first source that has one.
    fn add_release(&mut self, version: Option<TalosVersion>, by: impl FnOnce() -> String) {
        if let (Some(version), None) = (version, &self.release) {
            let by = by();
            self.found.push(MediaItem::new(format!("Talos {version}"), 0, format!("the release, by {by}")));
            self.release = Some(DetectedRelease { version, by });
        }
    }
}

/// The contents of an initramfs.
#[derive(Default)]
struct InitramfsContents {
    layers: Vec<Layer>,
    /// Configurations by the file systems they are in.
    configs: BTreeMap<String, Vec<u8>>,
    /// The release in the root file system's `os-release`.
    release: Option<String>,
}

impl InitramfsContents {
    fn read(
        image: &dyn Image,
        wants_release: bool,
        spool: &mut dyn BlobStore,
    ) -> Result<Self, InitramfsError> {
        let mut inside = Self::default();
        initramfs::files(image, &mut |file, bytes| {
            if file.path == LAYERS && file.length <= LONGEST {
                let mut text = Vec::new();
                bytes.read_to_end(&mut text)?;
                inside.layers = Layer::read(&text).map_err(InitramfsError::Layers)?;
            } else if file.path == ROOT {
                if wants_release {
                    inside.release = os_release(&spool.keep(bytes)?)?;
                }
            } else if is_squashfs(&file.path) && file.length <= LONGEST {
                let mut squashfs = Vec::new();
                bytes.read_to_end(&mut squashfs)?;
                if let Ok(Some(config)) = initramfs::embedded_config(&squashfs.into()) {
                    inside.configs.insert(file.path.clone(), config);
                }
            }
            Ok(())
        })?;
        Ok(inside)
    }
}

fn is_squashfs(path: &str) -> bool {
    path.strip_suffix(".sqsh").is_some_and(|stem| !stem.contains('/'))
}

/// The version in a root file system's `os-release`.
fn os_release(squashfs: &Content) -> Result<Option<String>, InitramfsError> {
    let squashfs = Squashfs::open(squashfs)?;
    for path in RELEASES {
        if let Some(file) = squashfs.find(path)?.filter(SquashfsNode::is_file) {
            let text = squashfs.read(&file, LONGEST_TEXT)?;
            return Ok(Some(String::from_utf8_lossy(&text).into_owned()));
        }
    }
    Ok(None)
}

/// The release in the name of a kernel image: `Talos-v1.13.9.efi`, and `Talos-v1.13.9~1.efi` after an upgrade to the same.
fn release_of_name(path: &str) -> Option<TalosVersion> {
    let name = path.rsplit('/').next()?.strip_prefix("Talos-")?.strip_suffix(".efi")?;
    TalosVersion::parse(name.split('~').next()?).ok()
}

/// The release in the label of a CD: `TALOS_V1_14_0_RC_1`.
fn release_of_label(label: &str) -> Option<TalosVersion> {
    let rest = label.strip_prefix("TALOS_V")?.to_lowercase();
    let parts: Vec<&str> = rest.split('_').collect();
    match parts.as_slice() {
        [a, b, c] => TalosVersion::parse(&format!("v{a}.{b}.{c}")).ok(),
        [a, b, c, word, number] => TalosVersion::parse(&format!("v{a}.{b}.{c}-{word}.{number}")).ok(),
        _ => None,
    }
}

/// An error with its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_contain_the_release() {
        let shown = |found: Option<TalosVersion>| found.map(|version| version.to_string());
        for (name, version) in [
            ("EFI/Linux/Talos-v1.13.9.efi", Some("v1.13.9")),
            ("EFI/Linux/Talos-v1.14.0-rc.1~2.efi", Some("v1.14.0-rc.1")),
            ("EFI/Linux/Talos-A.efi", None),
            ("linux.efi", None),
        ] {
            assert_eq!(shown(release_of_name(name)).as_deref(), version, "{name}");
        }
        for (label, version) in [
            ("TALOS_V1_13_9", Some("v1.13.9")),
            ("TALOS_V1_14_0_RC_1", Some("v1.14.0-rc.1")),
            ("TALOS_V1_14_0_DIRTY", None),
            ("cidata", None),
        ] {
            assert_eq!(shown(release_of_label(label)).as_deref(), version, "{label}");
        }
    }
}
