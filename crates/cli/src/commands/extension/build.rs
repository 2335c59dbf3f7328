//! `extension build`: build the system extension with a BGP daemon and the agent.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use ichor_image::extension::{BuiltExtension, DaemonRecipe, Elf, ExtensionRequest, build_extension};
use ichor_image::oci::{ImageLayout, NewImage, layer};
use ichor_values::Moment;
use ichor_values::{Arch, Backend};
use indicatif::BinaryBytes;
use serde_json::{Value, json};

use super::input;
use crate::argument::{ArgumentError, OutputFormat};
use crate::progress::Progress;
use crate::{disk, oci, style, table};

/// The file name of the default agent, next to this program.
const AGENT: &str = "ichor-agent";

/// Size limit of the agent.
const MAX_AGENT: u64 = 256 << 20;

/// Build the system extension with a BGP daemon and the agent
///
/// The image contains the programs of the daemon, their shared libraries, the agent and all licences. An SPDX file next to the image
/// lists its parts. The same input gives the same bytes. With an agent for amd64 and one for arm64, the image is for both
/// architectures.
#[derive(Debug, clap::Args)]
#[command(
    disable_version_flag = true,
    after_help = "Exit status: 0 built, 2 the build failed and nothing was written.\n\n\
    Examples:\n  \
    ichor extension build -o frr.tar\n  \
    ichor extension build --backend bird --debian trixie -o bird\n  \
    ichor extension build --agent amd64/ichor-agent --agent arm64/ichor-agent -o frr.tar"
)]
pub(crate) struct Args {
    /// OCI archive (FILE.tar) or folder of an OCI layout to write
    #[arg(short, long, value_name = "DIR|FILE.tar")]
    out: PathBuf,
    /// BGP daemon: frr, bird or gobgp
    #[arg(long, value_name = "BACKEND", default_value = "frr", value_parser = backend)]
    backend: Backend,
    #[command(flatten)]
    input: input::DaemonSource,
    /// Agent binary, one per architecture (repeatable)
    ///
    /// [default: ichor-agent next to ichor]
    #[arg(long, value_name = "PATH")]
    agent: Vec<PathBuf>,
    /// Comma-separated architectures: amd64, arm64
    ///
    /// [default: those of the agents]
    #[arg(long, value_name = "ARCH", value_delimiter = ',', value_parser = arch)]
    arch: Vec<Arch>,
    /// Name of the extension and its service [default: the backend]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Version of the extension [default: that of the daemon]
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Start the service without an ExtensionServiceConfig
    ///
    /// For nodes that set the environment of the service in another way, such as machine.env.
    #[arg(long)]
    start_unconfigured: bool,
    #[command(flatten)]
    format: OutputFormat,
}

fn backend(word: &str) -> Result<Backend, ArgumentError> {
    let known = Backend::ALL.iter().copied().filter(|backend| DaemonRecipe::for_backend(*backend).is_some());
    known.clone().find(|backend| backend.word() == word).ok_or_else(|| {
        let words: Vec<_> = known.map(Backend::word).collect();
        ArgumentError::want_one_of(&words)
    })
}

pub(in crate::commands) fn arch(word: &str) -> Result<Arch, ArgumentError> {
    let known = Arch::ALL.iter().copied().find(|arch| arch.word() == word);
    known.ok_or(ArgumentError::want("amd64 or arm64"))
}

/// An agent binary and its architecture.
struct AgentBinary {
    arch: Arch,
    bytes: Vec<u8>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    oci::check(&args.out)?;
    let created = created()?;
    let recipe = DaemonRecipe::for_backend(args.backend).context("the backend needs no extension")?;
    let agents = agents(args)?;
    let name = args.name.as_deref().unwrap_or(args.backend.word());
    let mut extensions = Vec::new();
    let mut spool = oci::TempFileStore::new()?;
    for agent in &agents {
        let input = args.input.read(&recipe, agent.arch)?;
        let _progress = Progress::start("building the extension");
        let order = ExtensionRequest {
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
        let extension = build_extension(&order)?;
        let layer = layer(&extension.tree, &mut spool).context("cannot pack the extension")?;
        let packed = NewImage::single_layer(agent.arch, layer, created);
        extensions.push((extension, packed));
    }
    let (extensions, packed): (Vec<_>, Vec<_>) = extensions.into_iter().unzip();
    let versions: Vec<_> = extensions.iter().map(|extension| extension.version.as_str()).collect();
    let version = versions[0];
    if versions.iter().any(|other| *other != version) {
        bail!(
            "the daemon's version differs between architectures: {}; set one with --version",
            versions.join(", ")
        );
    }
    let layout = ImageLayout::pack(&packed, &version.replace(['~', '+'], "-"));
    oci::write(&layout, &args.out)?;
    let sboms = sbom_paths(&args.out, &extensions);
    for (path, extension) in sboms.iter().zip(&extensions) {
        disk::replace(path, &extension.sbom)?;
    }
    let done = BuildReport {
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
        done.print(out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The creation time: 0, or that of <https://reproducible-builds.org/specs/source-date-epoch/>.
pub(in crate::commands) fn created() -> anyhow::Result<Moment> {
    let seconds = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text
            .parse()
            .ok()
            .with_context(|| format!("invalid SOURCE_DATE_EPOCH `{text}`; want a number of seconds"))?,
        Err(_) => 0,
    };
    Moment::from_unix(seconds).context("SOURCE_DATE_EPOCH is later than the year 9999")
}

/// The agents of the selected architectures.
fn agents(args: &Args) -> anyhow::Result<Vec<AgentBinary>> {
    let mut paths = args.agent.clone();
    if paths.is_empty() {
        let beside =
            env::current_exe().context("cannot find the path of this program")?.with_file_name(AGENT);
        if !beside.is_file() {
            bail!("no agent at {}; pass it with --agent", beside.display());
        }
        paths.push(beside);
    }
    let mut agents: Vec<AgentBinary> = Vec::new();
    for path in &paths {
        let bytes = oci::read(path, MAX_AGENT)?;
        let elf = Elf::read(&bytes).with_context(|| format!("cannot use the agent {}", path.display()))?;
        let arch = elf.arch().ok_or_else(|| {
            anyhow!("the agent {} is for {}; want amd64 or arm64", path.display(), elf.machine())
        })?;
        if agents.iter().any(|agent| agent.arch == arch) {
            bail!("{} is a second agent for {arch}; pass one per architecture", path.display());
        }
        agents.push(AgentBinary { arch, bytes });
    }
    if let Some(missing) = args.arch.iter().find(|arch| agents.iter().all(|agent| agent.arch != **arch)) {
        bail!("no agent for {missing}; pass one with --agent");
    }
    agents.retain(|agent| args.arch.is_empty() || args.arch.contains(&agent.arch));
    agents.sort_by_key(|agent| agent.arch);
    Ok(agents)
}

/// The paths of the SPDX files, next to the image.
fn sbom_paths(out: &Path, extensions: &[BuiltExtension]) -> Vec<PathBuf> {
    let place = |extension: &BuiltExtension| {
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

/// The result of the build.
struct BuildReport<'d> {
    args: &'d Args,
    name: &'d str,
    version: &'d str,
    layout: &'d ImageLayout,
    extensions: &'d [BuiltExtension],
    packed: &'d [NewImage],
    sboms: &'d [PathBuf],
}

impl BuildReport<'_> {
    fn print(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut rows = Vec::new();
        for (extension, packed) in self.extensions.iter().zip(self.packed) {
            let arch = extension.arch.to_string();
            for part in extension.parts.iter().filter(|part| part.files > 0) {
                let cells = [part.share.word().to_owned(), part.files.to_string(), size(part.bytes)];
                rows.push([arch.clone()].into_iter().chain(cells).collect());
            }
            let files: usize = extension.parts.iter().map(|part| part.files).sum();
            let bytes: u64 = extension.parts.iter().map(|part| part.bytes).sum();
            rows.push(vec![arch.clone(), "total".to_owned(), files.to_string(), size(bytes)]);
            rows.push(vec![arch, "compressed".to_owned(), String::new(), size(packed.size())]);
        }
        table::print(out, &["ARCH", "PART", "FILES", "SIZE"], &rows)?;
        for extension in self.extensions.iter().filter(|extension| !extension.unlicensed.is_empty()) {
            let (warning, names) = (style::WARNING, extension.unlicensed.join(", "));
            style::say(&format!(
                "{warning}warning:{warning:#} {}: no licence text for {names}; add it before you distribute the image",
                extension.arch
            ));
        }
        let (path, digest) = (self.args.out.display(), &self.layout.digest);
        style::say(&format!("{path}: {} {}, {digest}", self.name, self.version));
        Ok(())
    }

    fn json(&self) -> Value {
        let images = self.extensions.iter().zip(self.packed).zip(self.sboms).map(|((extension, packed), sbom)| {
            let part = |part: &ichor_image::extension::ComponentSize| {
                json!({"part": part.share.word(), "file_count": part.files, "size_bytes": part.bytes})
            };
            json!({
                "arch": extension.arch.word(),
                "parts": extension.parts.iter().map(part).collect::<Vec<_>>(),
                "compressed_size_bytes": packed.size(),
                "layer_digest": packed.layers.first().map(|layer| layer.descriptor.digest.to_string()),
                "without_licence_text": extension.unlicensed,
                "sbom_file": sbom.display().to_string(),
            })
        });
        json!({
            "path": self.args.out.display().to_string(),
            "name": self.name,
            "version": self.version,
            "digest": self.layout.digest.to_string(),
            "images": images.collect::<Vec<_>>(),
        })
    }
}

/// A size in binary units.
fn size(bytes: u64) -> String {
    BinaryBytes(bytes).to_string()
}
