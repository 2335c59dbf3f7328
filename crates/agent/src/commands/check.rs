//! `check`: validate the configuration with the daemon's own parser.

use std::process::ExitCode;

use ichor_agent::daemon::Installation;
use ichor_agent::daemon::place::open_way;

use super::render::{self, draft};

/// Validate the configuration with the daemon's own parser, change nothing
#[derive(Debug, clap::Args)]
// The flattened arguments have a group of the same name.
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    render: render::Args,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let draft = draft(&args.render).await?;
    let folder = tempfile::tempdir()?;
    open_way(folder.path())?;
    let home = Installation::find(draft.duty.backend, folder.path()).await?;
    draft.waiting.iter().for_each(|waiting| eprintln!("waiting: {waiting}"));
    if let Err(error) = home.check(&draft.service).await {
        eprintln!("error: {:#}", anyhow::Error::from(error));
        return Ok(ExitCode::from(1));
    }
    eprintln!("the configuration is valid");
    Ok(ExitCode::SUCCESS)
}
