//! `status`: what the agent that runs tells.

use std::path::PathBuf;
use std::process::ExitCode;

use ichor_agent::serve::socket;

use super::RUN;

/// Show sessions, daemons and what is waited for
///
/// Exit status 1 when the node's routing does not work.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of the agent that runs
    #[arg(long, value_name = "DIR", default_value = RUN)]
    run: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let status = socket::ask(&args.run.join(socket::NAME)).await?;
    if args.json {
        println!("{}", status.line());
    } else {
        print!("{}", status.table());
    }
    Ok(if status.health().is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
