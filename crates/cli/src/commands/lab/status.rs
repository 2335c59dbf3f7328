//! `lab status`: the sessions, prefixes and paths of a running lab.

use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

use super::{LabSelection, watch};
use crate::argument::OutputFormat;
use crate::lab::Lab;
use crate::lab::collect::Collector;

/// Show the BGP sessions, machines and prefixes of a running lab
///
/// Every session is shown from both ends. The prefix table has a column per router: the number of equal-cost paths in its kernel.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Keys of the dashboard (--watch on a terminal): arrow keys select a cable, c cuts\nit, s cuts it silently (without loss of carrier), h heals it, PgUp and PgDn\nscroll, q quits. Without a terminal, --watch prints the tables on every change,\nwith --json one line per change.\n\n\
                        Exit status: 0 every expected session is up, 1 not all are, 2 the lab is not\nrunning.\n\n\
                        Examples:\n  ichor lab status\n  ichor lab status --watch\n  ichor lab status --json | jq '.sessions[] | select(.up | not)'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: LabSelection,
    /// Refresh every second until q or Ctrl-C
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let lab = Lab::open(args.which.lab.as_deref())?;
    let stands = if !args.watch {
        let view = Collector::new(&lab).collect();
        if args.format.json {
            writeln!(out, "{}", view.to_json())?;
        } else {
            write!(out, "{}", view.to_text())?;
        }
        view.ok
    } else if !args.format.json && io::stdout().is_terminal() && io::stdin().is_terminal() {
        watch::screen(&lab)?
    } else {
        watch::plain(&lab, args.format.json, out)?
    };
    Ok(ExitCode::from(u8::from(!stands)))
}
