//! What `media inspect` is given, told by what it is and not by what it is called.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::{Context, bail};
use ichor_core::inspect::{Carrier, Media};
use ichor_core::media::Image;
use ichor_core::talos::asset::Wanted;
use ichor_core::talos::schematic::Schematic;

use super::image::Opened;

/// No file that Talos reads from a volume is longer.
const LONGEST: u64 = 16 << 20;

/// The longest text: a command line is far shorter, a schematic with a configuration inside may be longer than one.
const LONGEST_TEXT: u64 = 4 << 20;

/// What may be given.
const WANTED: &str = "an image, a folder, a schematic, a kernel command line or a file with one, or the address of what an Image \
                      Factory makes";

/// Something to inspect.
pub(super) enum Source {
    /// What a machine finds.
    Media(Box<Media>),
    /// What a factory makes images from.
    Schematic(Box<Schematic>),
    /// What a factory makes.
    Factory(Wanted),
}

impl Source {
    /// A folder, an image, a schematic or a command line; `-` for standard input.
    pub(super) fn open(given: &str) -> anyhow::Result<Self> {
        let path = Path::new(given);
        if given.trim().is_empty() {
            bail!("nothing is given; want {WANTED}");
        }
        if path.is_dir() {
            return Ok(Self::media(Media::of_folder(folder(path)?)));
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
        if let Some(source) = Self::of_text(bytes, given)? {
            return Ok(source);
        }
        let image = Opened::new(file).with_context(failed)?;
        if image.size() == 0 {
            bail!("{given} is empty");
        }
        Ok(Self::media(Media::of_image(&image).with_context(|| format!("cannot inspect {given}"))?))
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

/// The files in the root of a folder; Talos looks no deeper.
fn folder(path: &Path) -> anyhow::Result<Carrier> {
    let failed = || format!("cannot read {}", path.display());
    let mut files = BTreeMap::new();
    for entry in path.read_dir().with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let (Ok(name), true) = (entry.file_name().into_string(), entry.path().is_file()) else { continue };
        if Carrier::wants(&name) {
            files.insert(name, read(&entry.path())?);
        }
    }
    Ok(Carrier::folder(files))
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
