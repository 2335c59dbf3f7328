//! `extension build`: the system extension that brings a routing daemon and the agent onto nodes.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use ichor_image::extension::{Elf, Extension, Order, Recipe, make};
use ichor_image::oci::{Layout, Packed, layer};
use ichor_values::Moment;
use ichor_values::{Arch, Backend};
use indicatif::BinaryBytes;
use serde_json::{Value, json};

use super::input;
use crate::argument::{ArgumentError, Format};
use crate::progress::Progress;
use crate::{disk, oci, style, table};

/// The agent, when nothing else is said: beside this program.
const AGENT: &str = "ichor-agent";

/// No agent is larger.
const LARGEST_AGENT: u64 = 256 << 20;

/// Make the system extension with a routing daemon and the agent
///
/// The image has the daemon's programs, the libraries they need, the agent, their licences, a list of all parts in SPDX, and
/// nothing else. Same input, same bytes. It is for the machines the agents were built for: with one for amd64 and one for arm64 it is an
/// image for both.
#[derive(Debug, clap::Args)]
#[command(
    disable_version_flag = true,
    after_help = "Exit status: 0 made, 2 could not be done; then nothing was written.\n\n\
    Examples:\n  \
    ichor extension build -o frr.tar\n  \
    ichor extension build --backend bird --debian trixie -o bird\n  \
    ichor extension build --agent amd64/ichor-agent --agent arm64/ichor-agent -o frr.tar"
)]
pub(crate) struct Args {
    /// Where to write the image: FILE.tar is an OCI archive, all else the folder of an OCI layout
    #[arg(short, long, value_name = "DIR|FILE.tar")]
    out: PathBuf,
    /// Routing daemon: frr, bird or gobgp
    #[arg(long, value_name = "BACKEND", default_value = "frr", value_parser = backend)]
    backend: Backend,
    #[command(flatten)]
    input: input::Given,
    /// The agent, for each architecture one; ichor-agent beside this program when left out
    #[arg(long, value_name = "PATH")]
    agent: Vec<PathBuf>,
    /// Machines it is for: amd64, arm64; those of the agents when left out
    #[arg(long, value_name = "ARCH", value_delimiter = ',', value_parser = arch)]
    arch: Vec<Arch>,
    /// Name of the extension and its service; that of the backend when left out
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Version of the extension; that of the daemon when left out
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Start the service without an ExtensionServiceConfig, for nodes that give its environment in another way, such as machine.env
    #[arg(long)]
    start_unconfigured: bool,
    #[command(flatten)]
    format: Format,
}

fn backend(word: &str) -> Result<Backend, ArgumentError> {
    let known = Backend::ALL.iter().copied().filter(|backend| Recipe::of(*backend).is_some());
    known.clone().find(|backend| backend.word() == word).ok_or_else(|| {
        let words: Vec<_> = known.map(Backend::word).collect();
        ArgumentError::want_one_of(&words)
    })
}

pub(in crate::commands) fn arch(word: &str) -> Result<Arch, ArgumentError> {
    let known = Arch::ALL.iter().copied().find(|arch| arch.word() == word);
    known.ok_or(ArgumentError::want("amd64 or arm64"))
}

/// An agent and the machines it is for.
struct Agent {
    arch: Arch,
    bytes: Vec<u8>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    oci::check(&args.out)?;
    let created = created()?;
    let recipe = Recipe::of(args.backend).context("this backend needs no extension")?;
    let agents = agents(args)?;
    let name = args.name.as_deref().unwrap_or(args.backend.word());
    let mut extensions = Vec::new();
    let mut spool = oci::Disk::new()?;
    for agent in &agents {
        let input = args.input.read(&recipe, agent.arch)?;
        let _progress = Progress::start("making the extension");
        let order = Order {
            backend: args.backend,
            arch: agent.arch,
            name,
            version: args.version.as_deref(),
            input: &input.root,
            origin: &input.origin,
            agent: &agent.bytes,
            waits: !args.start_unconfigured,
            created,
        };
        let extension = make(&order)?;
        let layer = layer(&extension.tree, &mut spool).context("cannot pack the extension")?;
        let packed = Packed::of(agent.arch, layer, created);
        extensions.push((extension, packed));
    }
    let (extensions, packed): (Vec<_>, Vec<_>) = extensions.into_iter().unzip();
    let versions: Vec<_> = extensions.iter().map(|extension| extension.version.as_str()).collect();
    let version = versions[0];
    if versions.iter().any(|other| *other != version) {
        bail!(
            "the input has different versions for each architecture: {}; give one with --version",
            versions.join(", ")
        );
    }
    let layout = Layout::pack(&packed, &version.replace(['~', '+'], "-"));
    oci::write(&layout, &args.out)?;
    let sboms = sboms(&args.out, &extensions);
    for (path, extension) in sboms.iter().zip(&extensions) {
        disk::replace(path, &extension.sbom)?;
    }
    let done = Done {
        args,
        name,
        version,
        layout: &layout,
        extensions: &extensions,
        packed: &packed,
        sboms: &sboms,
    };
    if args.format.json {
        writeln!(out, "{:#}", done.json())?;
    } else {
        done.tell(out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// When it is said to have been made: never, unless <https://reproducible-builds.org/specs/source-date-epoch/> says when.
pub(in crate::commands) fn created() -> anyhow::Result<Moment> {
    let seconds = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text
            .parse()
            .ok()
            .with_context(|| format!("SOURCE_DATE_EPOCH is `{text}`, and no number of seconds"))?,
        Err(_) => 0,
    };
    Moment::from_unix(seconds).context("SOURCE_DATE_EPOCH is later than the year 9999")
}

/// The agents for the machines that are wanted.
fn agents(args: &Args) -> anyhow::Result<Vec<Agent>> {
    let mut paths = args.agent.clone();
    if paths.is_empty() {
        let beside = env::current_exe().context("cannot tell where this program is")?.with_file_name(AGENT);
        if !beside.is_file() {
            bail!("there is no agent at {}; name it with --agent", beside.display());
        }
        paths.push(beside);
    }
    let mut agents: Vec<Agent> = Vec::new();
    for path in &paths {
        let bytes = oci::read(path, LARGEST_AGENT)?;
        let elf = Elf::read(&bytes).with_context(|| format!("cannot use the agent {}", path.display()))?;
        let arch = elf.arch().ok_or_else(|| {
            anyhow!("the agent {} is for {} machines; want amd64 or arm64", path.display(), elf.machine())
        })?;
        if agents.iter().any(|agent| agent.arch == arch) {
            bail!("{} is a second agent for {arch}; name one for each architecture", path.display());
        }
        agents.push(Agent { arch, bytes });
    }
    if let Some(missing) = args.arch.iter().find(|arch| agents.iter().all(|agent| agent.arch != **arch)) {
        bail!("there is no agent for {missing}; name one that was built for it with --agent");
    }
    agents.retain(|agent| args.arch.is_empty() || args.arch.contains(&agent.arch));
    agents.sort_by_key(|agent| agent.arch);
    Ok(agents)
}

/// Where the lists of parts go: beside the image.
fn sboms(out: &Path, extensions: &[Extension]) -> Vec<PathBuf> {
    let place = |extension: &Extension| {
        let arch = if extensions.len() > 1 { format!(".{}", extension.arch) } else { String::new() };
        let stem = if out.extension().is_some_and(|it| it == "tar") {
            out.with_extension("")
        } else {
            out.to_owned()
        };
        let mut name = stem.into_os_string();
        name.push(format!("{arch}.spdx.json"));
        PathBuf::from(name)
    };
    extensions.iter().map(place).collect()
}

/// What was made.
struct Done<'d> {
    args: &'d Args,
    name: &'d str,
    version: &'d str,
    layout: &'d Layout,
    extensions: &'d [Extension],
    packed: &'d [Packed],
    sboms: &'d [PathBuf],
}

impl Done<'_> {
    fn tell(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut rows = Vec::new();
        for (extension, packed) in self.extensions.iter().zip(self.packed) {
            let arch = extension.arch.to_string();
            for part in extension.parts.iter().filter(|part| part.files > 0) {
                let cells = [part.share.word().to_owned(), part.files.to_string(), size(part.bytes)];
                rows.push([arch.clone()].into_iter().chain(cells).collect());
            }
            let files: usize = extension.parts.iter().map(|part| part.files).sum();
            let bytes: u64 = extension.parts.iter().map(|part| part.bytes).sum();
            rows.push(vec![arch.clone(), "together".to_owned(), files.to_string(), size(bytes)]);
            rows.push(vec![arch, "packed".to_owned(), String::new(), size(packed.size())]);
        }
        table::print(out, &["for", "part", "files", "size"], &rows)?;
        for extension in self.extensions.iter().filter(|extension| !extension.unlicensed.is_empty()) {
            let (warning, names) = (style::WARNING, extension.unlicensed.join(", "));
            style::say(&format!(
                "{warning}warning:{warning:#} {}: no licence text in the input: {names}; add it where you give the image to others",
                extension.arch
            ));
        }
        let (path, digest) = (self.args.out.display(), &self.layout.digest);
        style::say(&format!("{path}: {} {}, {digest}", self.name, self.version));
        Ok(())
    }

    fn json(&self) -> Value {
        let images = self.extensions.iter().zip(self.packed).zip(self.sboms).map(|((extension, packed), sbom)| {
            let part = |part: &ichor_image::extension::Part| {
                json!({"part": part.share.word(), "files": part.files, "bytes": part.bytes})
            };
            json!({
                "arch": extension.arch.word(),
                "parts": extension.parts.iter().map(part).collect::<Vec<_>>(),
                "packed_bytes": packed.size(),
                "layer": packed.layers.first().map(|layer| layer.descriptor.digest.to_string()),
                "without_licence_text": extension.unlicensed,
                "sbom": sbom.display().to_string(),
            })
        });
        json!({
            "written": self.args.out.display().to_string(),
            "name": self.name,
            "version": self.version,
            "digest": self.layout.digest.to_string(),
            "images": images.collect::<Vec<_>>(),
        })
    }
}

/// A size for people.
fn size(bytes: u64) -> String {
    BinaryBytes(bytes).to_string()
}
