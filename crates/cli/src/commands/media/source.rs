//! What `media inspect` is given, told by what it is and not by what it is called.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::{Context, bail};
use ichor_image::inspect::{Carrier, Media};
use ichor_image::oci;
use ichor_image::oci::LAYOUT;
use ichor_talos::asset::Wanted;
use ichor_talos::schematic::Schematic;

use crate::image::{Opened, unpacked};
use crate::oci::{Disk, Place};

/// No file that Talos reads from a volume is longer.
const LONGEST: u64 = 16 << 20;

/// The longest text: a command line is far shorter, a schematic with a configuration inside may be longer than one.
const LONGEST_TEXT: u64 = 4 << 20;

/// What an archive of tar has, and where.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// What may be given.
const WANTED: &str = "an image, a folder, a schematic, a kernel command line or a file with one, or the address of what an Image \
                      Factory makes";

/// Something to inspect.
pub(in crate::commands) enum Source {
    /// What a machine finds.
    Media(Box<Media>),
    /// What a factory makes images from.
    Schematic(Box<Schematic>),
    /// What a factory makes.
    Factory(Wanted),
}

impl Source {
    /// A folder, an image, a schematic or a command line; `-` for standard input.
    pub(in crate::commands) fn open(given: &str) -> anyhow::Result<Self> {
        let path = Path::new(given);
        if given.trim().is_empty() {
            bail!("nothing is given; want {WANTED}");
        }
        if path.is_dir() && !path.join(LAYOUT).is_file() {
            return Ok(Self::media(folder(path)?));
        }
        if path.is_dir() {
            return installer(given).map(Self::media);
        }
        if given == "-" {
            let mut bytes = Vec::new();
            let read = std::io::stdin().take(LONGEST_TEXT + 1).read_to_end(&mut bytes);
            read.context("cannot read standard input")?;
            return Self::of_text(bytes, "standard input")?
                .context("standard input is not text; give an image as a file");
        }
        if path.exists() {
            return Self::file(path, given);
        }
        if is_address(given) {
            return Ok(Self::Factory(
                Wanted::parse(given).with_context(|| format!("cannot inspect {given}"))?,
            ));
        }
        if !is_command_line(given) {
            bail!("{given} does not exist; want {WANTED}");
        }
        Ok(Self::media(Media::of_command_line(given)))
    }

    fn media(media: Media) -> Self {
        Self::Media(Box::new(media))
    }

    fn file(path: &Path, given: &str) -> anyhow::Result<Self> {
        let failed = || format!("cannot read {given}");
        // Asked before it is opened: a pipe would wait for somebody to write.
        let kind = path.metadata().with_context(failed)?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            bail!("{given} is no regular file; want {WANTED}");
        }
        let mut file = File::open(path).with_context(failed)?;
        let mut bytes = Vec::new();
        (&mut file).take(LONGEST_TEXT + 1).read_to_end(&mut bytes).with_context(failed)?;
        let is_archive = bytes.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1));
        if let Some(source) = Self::of_text(bytes, given)? {
            return Ok(source);
        }
        if is_archive {
            return installer(given).map(Self::media);
        }
        let image = Opened::content(file).with_context(failed)?;
        if image.is_empty() {
            bail!("{given} is empty");
        }
        let media = Media::of_image(&unpacked(given, image)?, &mut Disk::new()?);
        Ok(Self::media(media.with_context(|| format!("cannot inspect {given}"))?))
    }

    /// A schematic or a command line; none for what is no text.
    fn of_text(bytes: Vec<u8>, name: &str) -> anyhow::Result<Option<Self>> {
        let is_short = bytes.len() as u64 <= LONGEST_TEXT;
        let Ok(text) = String::from_utf8(bytes) else { return Ok(None) };
        // A command line ends where the kernel ends it; any other byte of this kind is of an image.
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
                "{name} is neither a kernel command line, which is one line with parameters such as talos.platform=metal, nor a \
                 schematic, which has `customization`"
            );
        }
        Ok(Some(Self::media(Media::of_command_line(&text))))
    }
}

/// Whether a line is one of a kernel: no command line that boots Talos is without a parameter that has a value.
fn is_command_line(line: &str) -> bool {
    line.split_whitespace().any(|word| word.find('=').is_some_and(|at| at > 0))
}

/// Whether something leads to a factory: a URL, or the reference of an installer.
fn is_address(given: &str) -> bool {
    let is_url = ["http://", "https://"].iter().any(|scheme| given.starts_with(scheme));
    is_url || given.contains("installer") && given.contains('/') && !given.contains(['=', ' '])
}

/// What a folder has: files for a platform, and what is booted over the network, a kernel with its initramfs and its command line.
fn folder(path: &Path) -> anyhow::Result<Media> {
    let failed = || format!("cannot read {}", path.display());
    let mut files = BTreeMap::new();
    let (mut initramfs, mut line) = (None, None);
    for entry in path.read_dir().with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let (Ok(name), true) = (entry.file_name().into_string(), entry.path().is_file()) else { continue };
        if Carrier::wants(&name) {
            files.insert(name, read(&entry.path())?);
        } else if name.contains("initramfs") {
            initramfs.get_or_insert((name, entry.path()));
        } else if name.contains("cmdline") {
            line.get_or_insert(entry.path());
        }
    }
    let mut media = Media::of_folder(Carrier::folder(files));
    if let Some(line) = line {
        media.add_command_line(&String::from_utf8_lossy(&read(&line)?));
    }
    if let Some((name, path)) = initramfs {
        let image = Opened::new(File::open(path).with_context(failed)?).with_context(failed)?;
        media.add_initramfs(&name, &image, &mut Disk::new()?);
    }
    Ok(media)
}

/// What is in the image of an installer.
fn installer(given: &str) -> anyhow::Result<Media> {
    let failed = || format!("cannot inspect {given}");
    let mut spool = Disk::new()?;
    let mut source = Place::parse(given)?.open(false).with_context(failed)?;
    for image in oci::Image::all(&mut *source).with_context(failed)? {
        let root = image.unpack(&mut *source, &mut spool, &|| {}).with_context(failed)?;
        if let Some(kernel) = root.file(&format!("usr/install/{}/vmlinuz.efi", image.arch)) {
            return Media::of_installer(kernel, &mut spool).with_context(failed);
        }
    }
    bail!("{given} is a container image without usr/install/ARCH/vmlinuz.efi; want an installer")
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let failed = || format!("cannot read {}", path.display());
    let mut bytes = Vec::new();
    File::open(path).with_context(failed)?.take(LONGEST + 1).read_to_end(&mut bytes).with_context(failed)?;
    if bytes.len() as u64 > LONGEST {
        bail!("{} is longer than {} MiB", path.display(), LONGEST >> 20);
    }
    Ok(bytes)
}
