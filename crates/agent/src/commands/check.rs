//! `check`: validate the configuration with the daemon's own parser.

use std::process::ExitCode;

use ichor_agent::daemon::Installation;
use ichor_agent::daemon::paths::allow_traversal;

use super::render::{self, render_config};

/// Validate the configuration with the daemon's own parser, change nothing
#[derive(Debug, clap::Args)]
// The flattened arguments have a group of the same name.
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    render: render::Args,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let rendered = render_config(&args.render).await?;
    let folder = tempfile::tempdir()?;
    allow_traversal(folder.path())?;
    let installation = Installation::find(rendered.config.backend, folder.path()).await?;
    rendered.waiting.iter().for_each(|waiting| eprintln!("waiting: {waiting}"));
    if let Err(error) = installation.check(&rendered.service).await {
        eprintln!("error: {:#}", anyhow::Error::from(error));
        return Ok(ExitCode::from(1));
    }
    eprintln!("the configuration is valid");
    Ok(ExitCode::SUCCESS)
}
