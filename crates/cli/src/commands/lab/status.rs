//! `lab status`: sessions, prefixes and paths of a lab that runs.

use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

use super::{Which, watch};
use crate::argument::Format;
use crate::lab::Lab;
use crate::lab::ask::Ear;

/// Show sessions, machines, prefixes and by how many paths routers reach them
///
/// Every session is told from both ends. A prefix has a column for each router: the number of paths that its kernel spreads
/// packets over.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "With --watch on a terminal: arrows choose a cable, c cuts it, s cuts it so that its ends do not notice, h heals it, PgUp and \
                        PgDn move the tables, q ends. Elsewhere the tables are printed whenever something changes; with --json one line each.\n\n\
                        Exit status: 0 all that shall stand stands, 1 it does not, 2 there is no such lab.\n\n\
                        Examples:\n  ichor lab status\n  ichor lab status --watch\n  ichor lab status --json | jq '.sessions[] | select(.stands | not)'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: Which,
    /// Look again every second, until `q` or Ctrl-C
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    format: Format,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let lab = Lab::open(args.which.lab.as_deref())?;
    let stands = if !args.watch {
        let view = Ear::new(&lab).look();
        if args.format.json {
            writeln!(out, "{}", view.json())?;
        } else {
            write!(out, "{}", view.text())?;
        }
        view.stands
    } else if !args.format.json && io::stdout().is_terminal() && io::stdin().is_terminal() {
        watch::screen(&lab)?
    } else {
        watch::plain(&lab, args.format.json, out)?
    };
    Ok(ExitCode::from(u8::from(!stands)))
}
