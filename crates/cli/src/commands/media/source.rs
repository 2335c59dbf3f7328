//! The input of `media inspect`, recognised by content and not by file name.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::{Context, bail};
use ichor_image::inspect::{BootMedia, ConfigVolume};
use ichor_image::oci;
use ichor_image::oci::LAYOUT;
use ichor_talos::asset::AssetSelection;
use ichor_talos::schematic::Schematic;

use crate::image::{FileImage, unpack_if_packed};
use crate::oci::{ImageLocation, TempFileStore};

/// Size limit of a file that Talos reads from a volume.
const MAX_FILE: u64 = 16 << 20;

/// Size limit of a text: command lines are short, schematics may embed a configuration.
const MAX_TEXT: u64 = 4 << 20;

/// Offset and magic bytes of a tar archive.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

/// The accepted inputs, for error messages.
const ACCEPTED: &str = "an image, a folder, a schematic, a kernel command line or a file with one, or the URL of an Image Factory asset";

/// Boot media to inspect.
pub(in crate::commands) enum Source {
    /// Media that a machine boots.
    Media(Box<BootMedia>),
    /// A schematic of the Image Factory.
    Schematic(Box<Schematic>),
    /// The URL of an Image Factory asset.
    Factory(AssetSelection),
}

impl Source {
    /// Opens a folder, an image, a schematic, a URL or a command line; `-` is standard input.
    pub(in crate::commands) fn open(given: &str) -> anyhow::Result<Self> {
        let path = Path::new(given);
        if given.trim().is_empty() {
            bail!("no media given; want {ACCEPTED}");
        }
        if path.is_dir() && !path.join(LAYOUT).is_file() {
            return Ok(Self::media(folder(path)?));
        }
        if path.is_dir() {
            return installer(given).map(Self::media);
        }
        if given == "-" {
            let mut bytes = Vec::new();
            let read = std::io::stdin().take(MAX_TEXT + 1).read_to_end(&mut bytes);
            read.context("cannot read standard input")?;
            return Self::of_text(bytes, "standard input")?
                .context("standard input is not text; give an image as a file");
        }
        if path.exists() {
            return Self::file(path, given);
        }
        if is_address(given) {
            return Ok(Self::Factory(
                AssetSelection::parse(given).with_context(|| format!("cannot inspect {given}"))?,
            ));
        }
        if !is_command_line(given) {
            bail!("{given} does not exist; want {ACCEPTED}");
        }
        Ok(Self::media(BootMedia::of_command_line(given)))
    }

    fn media(media: BootMedia) -> Self {
        Self::Media(Box::new(media))
    }

    fn file(path: &Path, given: &str) -> anyhow::Result<Self> {
        let failed = || format!("cannot read {given}");
        // Checked before it is opened: opening a pipe would block.
        let kind = path.metadata().with_context(failed)?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            bail!("{given} is not a regular file; want {ACCEPTED}");
        }
        let mut file = File::open(path).with_context(failed)?;
        let mut bytes = Vec::new();
        (&mut file).take(MAX_TEXT + 1).read_to_end(&mut bytes).with_context(failed)?;
        let is_archive = bytes.get(TAR_MAGIC.0..).is_some_and(|rest| rest.starts_with(TAR_MAGIC.1));
        if let Some(source) = Self::of_text(bytes, given)? {
            return Ok(source);
        }
        if is_archive {
            return installer(given).map(Self::media);
        }
        let image = FileImage::content(file).with_context(failed)?;
        if image.is_empty() {
            bail!("{given} is empty");
        }
        let media = BootMedia::of_image(&unpack_if_packed(given, image)?, &mut TempFileStore::new()?);
        Ok(Self::media(media.with_context(|| format!("cannot inspect {given}"))?))
    }

    /// Reads a schematic or a command line; `None` if the bytes are not text.
    fn of_text(bytes: Vec<u8>, name: &str) -> anyhow::Result<Option<Self>> {
        let is_short = bytes.len() as u64 <= MAX_TEXT;
        let Ok(text) = String::from_utf8(bytes) else { return Ok(None) };
        // A command line may end with NUL; any other NUL means an image.
        let line = text.trim_end_matches(['\n', '\0']);
        if !is_short || line.is_empty() || line.contains('\0') {
            return Ok(None);
        }
        let is_schematic = text.lines().any(|line| {
            let line = line.trim_start_matches(['{', ' ', '"']);
            ["customization", "overlay"].iter().any(|key| line.starts_with(key))
        });
        if is_schematic {
            let schematic = Schematic::read(&text).with_context(|| format!("{name} is not a schematic"))?;
            return Ok(Some(Self::Schematic(Box::new(schematic))));
        }
        if text.trim_end().contains('\n') || !is_command_line(&text) {
            bail!(
                "{name} is neither a kernel command line (one line with parameters such as talos.platform=metal) nor a \
                 schematic (with `customization`)"
            );
        }
        Ok(Some(Self::media(BootMedia::of_command_line(&text))))
    }
}

/// Whether a line is a kernel command line: one that boots Talos has at least one parameter with a value.
fn is_command_line(line: &str) -> bool {
    line.split_whitespace().any(|word| word.find('=').is_some_and(|at| at > 0))
}

/// Whether the input is of an Image Factory: a URL or an installer reference.
fn is_address(given: &str) -> bool {
    let is_url = ["http://", "https://"].iter().any(|scheme| given.starts_with(scheme));
    is_url || given.contains("installer") && given.contains('/') && !given.contains(['=', ' '])
}

/// Reads a folder: the configuration files of a platform, and the initramfs and command line of a netboot.
fn folder(path: &Path) -> anyhow::Result<BootMedia> {
    let failed = || format!("cannot read {}", path.display());
    let mut files = BTreeMap::new();
    let (mut initramfs, mut line) = (None, None);
    for entry in path.read_dir().with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let (Ok(name), true) = (entry.file_name().into_string(), entry.path().is_file()) else { continue };
        if ConfigVolume::wants(&name) {
            files.insert(name, read(&entry.path())?);
        } else if name.contains("initramfs") {
            initramfs.get_or_insert((name, entry.path()));
        } else if name.contains("cmdline") {
            line.get_or_insert(entry.path());
        }
    }
    let mut media = BootMedia::of_folder(ConfigVolume::folder(files));
    if let Some(line) = line {
        media.add_command_line(&String::from_utf8_lossy(&read(&line)?));
    }
    if let Some((name, path)) = initramfs {
        let image = FileImage::new(File::open(path).with_context(failed)?).with_context(failed)?;
        media.add_initramfs(&name, &image, &mut TempFileStore::new()?);
    }
    Ok(media)
}

/// Reads the kernel of an installer image.
fn installer(given: &str) -> anyhow::Result<BootMedia> {
    let failed = || format!("cannot inspect {given}");
    let mut spool = TempFileStore::new()?;
    let mut source = ImageLocation::parse(given)?.open(false).with_context(failed)?;
    for image in oci::OciImage::all(&mut *source).with_context(failed)? {
        let root = image.unpack(&mut *source, &mut spool, &|| {}).with_context(failed)?;
        if let Some(kernel) = root.file(&format!("usr/install/{}/vmlinuz.efi", image.arch)) {
            return BootMedia::of_installer(kernel, &mut spool).with_context(failed);
        }
    }
    bail!("{given} is a container image without usr/install/ARCH/vmlinuz.efi; want an installer")
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let failed = || format!("cannot read {}", path.display());
    let mut bytes = Vec::new();
    File::open(path).with_context(failed)?.take(MAX_FILE + 1).read_to_end(&mut bytes).with_context(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        bail!("{} is longer than {} MiB", path.display(), MAX_FILE >> 20);
    }
    Ok(bytes)
}
