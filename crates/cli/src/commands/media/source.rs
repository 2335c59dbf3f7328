//! What `media inspect` is given: a folder, or a kernel command line as words or in a file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use ichor_core::inspect::Volume;

/// No file that Talos reads from a volume is longer.
const LONGEST: u64 = 32 << 20;

/// A command line in a file has no more: the kernel's own is far shorter.
const LONGEST_COMMAND_LINE: u64 = 1 << 20;

/// Something to inspect.
#[derive(Debug)]
pub(super) enum Source {
    Volume(Volume),
    CommandLine(String),
}

impl Source {
    /// A folder, a file with a command line, `-` for standard input, or a command line itself.
    pub(super) fn open(given: &str) -> anyhow::Result<Self> {
        let path = Path::new(given);
        if path.is_dir() {
            return Ok(Self::Volume(folder(path)?));
        }
        if given == "-" {
            return Ok(Self::CommandLine(text(&mut std::io::stdin(), "standard input")?));
        }
        if path.exists() {
            let mut file = File::open(path).with_context(|| format!("cannot open {given}"))?;
            return Ok(Self::CommandLine(text(&mut file, given)?));
        }
        // No path has a parameter of Talos in it, and no command line is without one.
        if !given.contains(char::is_whitespace) && !given.contains('=') {
            bail!(
                "{given} does not exist; want a folder, a file with a kernel command line, or the command line itself"
            );
        }
        Ok(Self::CommandLine(given.to_owned()))
    }
}

/// The files in the root of a folder; Talos looks no deeper.
fn folder(path: &Path) -> anyhow::Result<Volume> {
    let failed = || format!("cannot read {}", path.display());
    let mut files = BTreeMap::new();
    for entry in path.read_dir().with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let (Ok(name), true) = (entry.file_name().into_string(), entry.path().is_file()) else { continue };
        if Volume::wants(&name) {
            files.insert(name, read(&entry.path())?);
        }
    }
    Ok(Volume { label: None, files })
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

fn text(from: &mut dyn Read, name: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let read = from.take(LONGEST_COMMAND_LINE + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {name}"))?;
    let is_short = bytes.len() as u64 <= LONGEST_COMMAND_LINE;
    match String::from_utf8(bytes) {
        // A command line ends where the kernel ends it; any other byte of this kind is of an image.
        Ok(text) if is_short && !text.trim_end_matches(['\n', '\0']).contains('\0') => Ok(text),
        _ => bail!(
            "{name} is not a kernel command line; `media inspect` reads folders and kernel command lines"
        ),
    }
}
