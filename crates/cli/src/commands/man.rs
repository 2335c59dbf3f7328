//! `man`: print manual pages.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::CommandFactory;

use crate::Cli;

/// Print a manual page, or write all pages to a folder
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ichor man | man -l -\n  ichor man check | man -l -\n  ichor man -o /usr/local/share/man/man1"
)]
pub(crate) struct Args {
    /// Command to describe [default: ichor itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
    /// Write all pages to this folder
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        clap_mangen::generate_to(program.clone(), folder)
            .with_context(|| format!("cannot write to {}", folder.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let page = match &args.command {
        None => program.clone(),
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => bail!("unknown command `{name}`"),
        },
    };
    clap_mangen::Man::new(page).render(out)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use ichor_testbed::command_reference::{TaskGroup, command_reference};

    use super::*;

    const GROUPS: [TaskGroup; 8] = [
        ("Design a cluster", &["new", "check", "show", "prove", "build", "explain", "schema"]),
        ("Manage secrets", &["secrets"]),
        ("Build and inspect images", &["media", "image", "extension", "schematic", "meta"]),
        ("Run a lab", &["lab"]),
        ("Bring up a cluster", &["discover", "machine", "up"]),
        ("Operate a cluster", &["status", "verify", "diff", "logs", "upgrade", "migrate", "reset", "down"]),
        ("Work with Talos configurations", &["talos"]),
        ("Set up the shell", &["completions", "man"]),
    ];

    #[test]
    fn the_command_reference_is_current() {
        let reference = command_reference(Cli::command(), &GROUPS);

        ichor_testbed::assert_section("docs/commands.md", "ichor", &reference);
    }
}
