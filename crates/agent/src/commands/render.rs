//! `render`: print the daemon's configuration files.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use anyhow::{Context, bail};
use ichor_agent::config::ConfigLoader;
use ichor_agent::daemon::Installation;
use ichor_agent::kernel::Kernel;
use ichor_bgp::agent::AgentConfig;
use ichor_bgp::agent::desired_state::{Conditions, DesiredState};
use ichor_bgp::agent::{Link, link};
use ichor_bgp::render::Service;
use ichor_values::SoftwareVersion;
use ichor_values::format::{Document, Version, Versioned};

use super::{ConfigArgs, RUN};

/// The version of what `--json` prints and `--links` reads.
const VERSION: Version = Version::new(2, 0);

/// Print the daemon's configuration files, change nothing
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) config: ConfigArgs,
    /// Read links from FILE (the output of --json) instead of the kernel
    #[arg(long, value_name = "FILE")]
    pub(super) links: Option<PathBuf>,
    /// Release of the daemon [default: the installed one]
    #[arg(long, value_name = "VERSION", value_parser = SoftwareVersion::parse)]
    pub(super) daemon_version: Option<SoftwareVersion>,
    /// Print files, links and missing prerequisites as JSON
    #[arg(long)]
    json: bool,
}

/// The configuration, and the files rendered from it.
pub(super) struct RenderedConfig {
    pub(super) config: AgentConfig,
    pub(super) links: Vec<Link>,
    pub(super) waiting: Vec<String>,
    pub(super) service: Service,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let rendered = render_config(args).await?;
    let mut out = io::stdout().lock();
    if args.json {
        let files: serde_json::Map<_, _> = rendered
            .service
            .files
            .iter()
            .map(|file| (file.name.to_owned(), file.text.clone().into()))
            .collect();
        let rendered =
            serde_json::json!({"files": files, "links": rendered.links, "waiting_for": rendered.waiting});
        writeln!(out, "{:#}", serde_json::json!(Versioned::new(VERSION, rendered)))?;
        return Ok(ExitCode::SUCCESS);
    }
    rendered.waiting.iter().for_each(|waiting| eprintln!("waiting: {waiting}"));
    for file in &rendered.service.files {
        if rendered.service.files.len() > 1 {
            writeln!(out, "# ----- {}", file.name)?;
        }
        write!(out, "{}", file.text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Loads the configuration, lists links, and renders the files.
pub(super) async fn render_config(args: &Args) -> anyhow::Result<RenderedConfig> {
    let loaded = ConfigLoader::new(args.config.config.clone()).load()?;
    loaded.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let config = loaded.config;
    let links = links(args).await?;
    // No router advertisements are received here, so every port counts as one with a router.
    let advertised: BTreeSet<String> = links.iter().map(|link| link.name.clone()).collect();
    let now = Conditions { links: &links, advertised: &advertised, vrf: true, healthy: true, leaving: false };
    let desired = DesiredState::new(&config, now).map_err(|ambiguous| anyhow::anyhow!(list(&ambiguous)))?;
    let version = match &args.daemon_version {
        Some(version) => Some(version.clone()),
        None => installed_release(&config).await,
    };
    let service = match desired.render(&config, version.as_ref()) {
        Ok(service) => service,
        Err(issues) => {
            let each: Vec<_> = issues.iter().map(ToString::to_string).collect();
            bail!("{}", each.join("; "));
        }
    };
    let waiting = desired.waiting.iter().map(ToString::to_string).collect();
    Ok(RenderedConfig { config, links, waiting, service })
}

fn list(ambiguous: &[link::AmbiguousMac]) -> String {
    ambiguous.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The links of a file, or of this machine.
async fn links(args: &Args) -> anyhow::Result<Vec<Link>> {
    let Some(path) = &args.links else {
        let kernel = Kernel::open().context("cannot open a netlink socket")?;
        return kernel.links().await.context("cannot list links");
    };
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let value: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    let document = Document::new(value, VERSION)
        .with_context(|| format!("cannot read {}; use the ichor-agent that wrote it", path.display()))?;
    let mut value = document.into_content();
    let list = value.get_mut("links").map(serde_json::Value::take).unwrap_or(value);
    let not_links =
        || format!("{} is not a list of links; create it with `ichor-agent render --json`", path.display());
    serde_json::from_value(list).with_context(not_links)
}

/// The installed release of the configured daemon.
async fn installed_release(config: &AgentConfig) -> Option<SoftwareVersion> {
    Installation::find(config.backend, Path::new(RUN)).await.ok()?.version().await
}
