//! `status`: print the status of the running agent.

use std::path::PathBuf;
use std::process::ExitCode;

use ichor_agent::serve::socket;

use super::RUN;

/// Show BGP sessions, daemons and problems
///
/// Exit status 1 if the node's routing is not healthy.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run directory of the agent
    #[arg(long, value_name = "DIR", default_value = RUN)]
    run: PathBuf,
    /// Print the status as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let status = socket::query_status(&args.run.join(socket::NAME)).await?;
    if args.json {
        println!("{}", status.line());
    } else {
        print!("{}", status.table());
    }
    Ok(if status.health().is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
