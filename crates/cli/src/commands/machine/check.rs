//! `machine check`: report what prevents machines from being created.

use std::io::Write;
use std::process::ExitCode;

use ichor_values::Issue;

use super::MachineSelection;
use crate::style;

/// Report everything that prevents machines from being created or used
///
/// The command queries hypervisors and management controllers for their release, hosts, storage, bridges and machines. It is
/// read-only.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 no problems, 1 problems, 2 a provider cannot be queried.")]
pub(super) struct Args {
    #[command(flatten)]
    which: MachineSelection,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let chosen = args.which.open()?;
    let nodes: Vec<_> = chosen.nodes.iter().map(String::as_str).collect();
    let obstacles = chosen.fleet.check(&nodes);
    if obstacles.is_empty() {
        style::say("no problems");
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{}", lines(&obstacles))?;
    Ok(ExitCode::FAILURE)
}

/// Obstacles, a line each.
pub(super) fn lines(obstacles: &[Issue]) -> String {
    obstacles.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
