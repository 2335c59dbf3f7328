//! `down`: remove what the agent made.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use ichor_agent::config::ConfigLoader;
use ichor_agent::kernel::{Kernel, rival};
use ichor_agent::run::state_dir::{SWITCHES, StateDir};
use ichor_bgp::agent::route::{Difference, MAIN, left};
use ichor_bgp::agent::scene::{Conditions, Scene};
use ichor_bgp::agent::wiring::Switches;
use ichor_values::Backend;

use super::{Duty, RUN};

/// Remove the links, addresses, namespaces and routes that the agent made, and its folder, and nothing else
///
/// Switches of the kernel go back to what they said before, where that is remembered. End `ichor-agent run` first: a daemon that
/// runs would miss them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    duty: Duty,
    /// Folder of the agent that ran
    #[arg(long, value_name = "DIR", default_value = RUN)]
    run: PathBuf,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let duty = ConfigLoader::new(args.duty.config.clone()).load()?.duty;
    let folder = args.run.exists().then(|| StateDir::open(&args.run)).transpose()?;
    let before: Switches = folder.as_ref().map(|folder| folder.load(SWITCHES)).unwrap_or_default();
    let kernel = Kernel::open().context("cannot talk to the kernel")?;
    let links = kernel.links().await.context("cannot list the links")?;
    let advertised: BTreeSet<String> = links.iter().map(|link| link.name.clone()).collect();
    let now = Conditions { links: &links, advertised: &advertised, vrf: true, healthy: true, leaving: false };
    let Ok(scene) = Scene::of(&duty, now) else {
        bail!("ports cannot be told apart; remove the links by hand")
    };
    forget(&kernel, duty.backend).await?;
    kernel.down(&scene.wiring, &before).await.context("cannot look at the links")??;
    if let Some(folder) = folder {
        folder.clear().with_context(|| format!("cannot remove {}", args.run.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes the routes that the daemon left for its return. Those of a daemon that runs are its own.
async fn forget(kernel: &Kernel, backend: Backend) -> anyhow::Result<()> {
    let remove = left(backend, kernel.routes(&[MAIN]).await.context("cannot list the routes")?);
    if let Some(other) = rival(backend, None).filter(|_| !remove.is_empty()) {
        eprintln!("warning: {other} runs, so the {} routes of its kind are left to it", remove.len());
        return Ok(());
    }
    let mut errors = kernel.reconcile(&Difference { install: Vec::new(), remove }).await;
    errors.pop().map_or(Ok(()), |error| Err(error.into()))
}
