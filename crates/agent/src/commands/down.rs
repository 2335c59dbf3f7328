//! `down`: remove what the agent made.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Context, bail};
use ichor_agent::kernel::Kernel;
use ichor_agent::told::Teller;
use ichor_core::agent::scene::{Conditions, Scene};

use super::Duty;

/// Remove the links, addresses and namespaces that the agent made, and nothing else
///
/// End `ichor-agent run` first: a daemon that runs would miss them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    duty: Duty,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let duty = Teller::new(args.duty.config.clone()).ask()?.duty;
    let kernel = Kernel::open().context("cannot talk to the kernel")?;
    let links = kernel.links().await.context("cannot list the links")?;
    let advertised: BTreeSet<String> = links.iter().map(|link| link.name.clone()).collect();
    let now = Conditions { links: &links, advertised: &advertised, vrf: true, healthy: true, leaving: false };
    let Ok(scene) = Scene::of(&duty, now) else {
        bail!("ports cannot be told apart; remove the links by hand")
    };
    kernel.down(&scene.wiring).await.context("cannot look at the links")??;
    Ok(ExitCode::SUCCESS)
}
