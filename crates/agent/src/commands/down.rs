//! `down`: remove everything that the agent created.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use ichor_agent::config::ConfigLoader;
use ichor_agent::kernel::{Kernel, find_conflicting_daemon};
use ichor_agent::run::state_dir::{SYSCTLS, StateDir};
use ichor_bgp::agent::desired_state::{Conditions, DesiredState};
use ichor_bgp::agent::route::{MAIN, RouteChanges, remaining_routes};
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
    config: ConfigArgs,
    /// Run directory of the agent
    #[arg(long, value_name = "DIR", default_value = RUN)]
    run: PathBuf,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let config = ConfigLoader::new(args.config.config.clone()).load()?.config;
    let state_dir = args.run.exists().then(|| StateDir::open(&args.run)).transpose()?;
    let before: Sysctls = state_dir.as_ref().map(|state_dir| state_dir.load(SYSCTLS)).unwrap_or_default();
    let kernel = Kernel::open().context("cannot open a netlink socket")?;
    let links = kernel.links().await.context("cannot list links")?;
    let advertised: BTreeSet<String> = links.iter().map(|link| link.name.clone()).collect();
    let now = Conditions { links: &links, advertised: &advertised, vrf: true, healthy: true, leaving: false };
    let Ok(desired) = DesiredState::new(&config, now) else {
        bail!("cannot identify the ports: several have the same MAC address; remove the links manually")
    };
    remove_routes(&kernel, config.backend).await?;
    kernel.down(&desired.wiring, &before).await.context("cannot read the state of the links")??;
    if let Some(state_dir) = state_dir {
        state_dir.clear().with_context(|| format!("cannot remove {}", args.run.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes the routes that a stopped daemon left in the kernel for its restart.
async fn remove_routes(kernel: &Kernel, backend: Backend) -> anyhow::Result<()> {
    let remove = remaining_routes(backend, kernel.routes(&[MAIN]).await.context("cannot list routes")?);
    if let Some(other) = find_conflicting_daemon(backend, None).filter(|_| !remove.is_empty()) {
        eprintln!("warning: kept {} routes, because they may belong to {other}", remove.len());
        return Ok(());
    }
    let mut errors = kernel.reconcile(&RouteChanges { install: Vec::new(), remove }).await;
    errors.pop().map_or(Ok(()), |error| Err(error.into()))
}
