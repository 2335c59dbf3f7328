//! `schematic id`: compute the ids of schematics offline.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compute the ids of schematics offline, one per line
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 all ids printed, 1 a file is not a schematic, 2 a file cannot be read.\n\n\
                        Examples:\n  ichor schematic id schematic.yaml\n  ichor schematic id --canonical - <schematic.json"
)]
pub(crate) struct Args {
    /// Schematics in YAML or JSON; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print the canonical text instead, whose hash is the id
    #[arg(long)]
    canonical: bool,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for file in &args.files {
        let read = super::read(file)?;
        if let Ok(schematic) = &read {
            super::print_issues(&file.display().to_string(), schematic);
        }
        match read {
            Ok(schematic) if args.canonical => write!(out, "{}", schematic.canonical())?,
            Ok(schematic) => writeln!(out, "{}", schematic.id())?,
            Err(error) => {
                super::print_refusal(&file.display().to_string(), &error.to_string());
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}
