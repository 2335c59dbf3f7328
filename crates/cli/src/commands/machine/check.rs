//! `machine check`: what keeps machines from being made.

use std::io::Write;
use std::process::ExitCode;

use ichor_values::Issue;

use super::Which;
use crate::style;

/// Say everything that keeps machines from being made or used, and change nothing
///
/// Hypervisors and controllers are asked for their release, hosts, storages, bridges and machines.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 nothing is in the way, 1 something is, 2 could not be looked at.")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let chosen = args.which.open()?;
    let nodes: Vec<_> = chosen.nodes.iter().map(String::as_str).collect();
    let obstacles = chosen.fleet.check(&nodes);
    if obstacles.is_empty() {
        style::say("nothing is in the way");
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{}", lines(&obstacles))?;
    Ok(ExitCode::FAILURE)
}

/// Obstacles, a line each.
pub(super) fn lines(obstacles: &[Issue]) -> String {
    obstacles.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
