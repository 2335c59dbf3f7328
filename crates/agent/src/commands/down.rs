//! `down`: remove everything that the agent created.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use ichor_agent::config::ConfigLoader;
use ichor_agent::kernel::{Kernel, rival};
use ichor_agent::run::state_dir::{SWITCHES, StateDir};
use ichor_bgp::agent::route::{MAIN, RouteChanges, left};
use ichor_bgp::agent::scene::{Conditions, DesiredState};
use ichor_bgp::agent::wiring::Sysctls;
use ichor_values::Backend;

use super::{ConfigArgs, RUN};

/// Remove everything that the agent created on this node
///
/// Removes its links, addresses, namespaces, routes and run directory, and
/// restores sysctls to their recorded values. Stop `ichor-agent run` first: a
/// running daemon needs them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    duty: ConfigArgs,
    /// Run directory of the agent
    #[arg(long, value_name = "DIR", default_value = RUN)]
    run: PathBuf,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let duty = ConfigLoader::new(args.duty.config.clone()).load()?.duty;
    let folder = args.run.exists().then(|| StateDir::open(&args.run)).transpose()?;
    let before: Sysctls = folder.as_ref().map(|folder| folder.load(SWITCHES)).unwrap_or_default();
    let kernel = Kernel::open().context("cannot open a netlink socket")?;
    let links = kernel.links().await.context("cannot list links")?;
    let advertised: BTreeSet<String> = links.iter().map(|link| link.name.clone()).collect();
    let now = Conditions { links: &links, advertised: &advertised, vrf: true, healthy: true, leaving: false };
    let Ok(scene) = DesiredState::of(&duty, now) else {
        bail!("cannot identify the ports: several have the same MAC address; remove the links manually")
    };
    forget(&kernel, duty.backend).await?;
    kernel.down(&scene.wiring, &before).await.context("cannot read the state of the links")??;
    if let Some(folder) = folder {
        folder.clear().with_context(|| format!("cannot remove {}", args.run.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes the routes that a stopped daemon left in the kernel for its restart.
async fn forget(kernel: &Kernel, backend: Backend) -> anyhow::Result<()> {
    let remove = left(backend, kernel.routes(&[MAIN]).await.context("cannot list routes")?);
    if let Some(other) = rival(backend, None).filter(|_| !remove.is_empty()) {
        eprintln!("warning: kept {} routes, because they may belong to {other}", remove.len());
        return Ok(());
    }
    let mut errors = kernel.reconcile(&RouteChanges { install: Vec::new(), remove }).await;
    errors.pop().map_or(Ok(()), |error| Err(error.into()))
}
