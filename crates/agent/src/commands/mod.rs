//! The commands of the agent.

mod check;
mod down;
mod render;
mod run;
mod status;

use std::path::PathBuf;
use std::process::ExitCode;

/// The default run directory, which does not survive a reboot.
const RUN: &str = "/run/ichor";

/// The commands.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Run(run::Args),
    Render(render::Args),
    Check(check::Args),
    Status(status::Args),
    Down(down::Args),
}

impl Command {
    /// Runs the command.
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Run(args) => run::run(args).await,
            Self::Render(args) => render::run(&args).await,
            Self::Check(args) => check::run(&args).await,
            Self::Status(args) => status::run(&args).await,
            Self::Down(args) => down::run(&args).await,
        }
    }
}

/// The configuration
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// Configuration file that `ichor build` wrote
    ///
    /// [default: agent.json in /usr/local/etc/frr, bird or gobgp]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}
