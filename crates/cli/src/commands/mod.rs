//! The commands, one file each.

pub(crate) mod check;
mod completions;
mod explain;
mod man;
mod meta;
mod new;
mod schema;
mod schematic;
mod show;

use std::io::Write;
use std::process::ExitCode;

/// What `ichor` can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    New(new::Args),
    Check(check::Args),
    Show(show::Args),
    Schematic(schematic::Args),
    Meta(meta::Args),
    Explain(explain::Args),
    Schema(schema::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    /// Runs it; `program` is the whole command line, for completions and manuals.
    pub(crate) fn run(&self, program: &mut clap::Command, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
        match self {
            Self::New(args) => new::run(args, out),
            Self::Check(args) => check::run(args, out),
            Self::Show(args) => show::run(args, out),
            Self::Schematic(args) => schematic::run(args, out),
            Self::Meta(args) => meta::run(args, out),
            Self::Explain(args) => explain::run(args, out),
            Self::Schema(args) => schema::run(args, out),
            Self::Completions(args) => completions::run(args, program, out),
            Self::Man(args) => man::run(args, program, out),
        }
    }
}
