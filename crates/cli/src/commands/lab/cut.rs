//! `lab cut`: cut cables.

use std::collections::BTreeSet;
use std::process::ExitCode;

use super::LabSelection;
use crate::lab::{Lab, switch};
use crate::style;

/// Cut a cable, or all cables of a node or router
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Name a cable by either end, as `cp1:fab0` or `leaf1:swp3`, and a network by its\nname.\n\n\
                        Examples:\n  ichor lab cut cp1:fab0\n  ichor lab cut leaf1\n  ichor lab cut --silent cp1:fab1"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: LabSelection,
    /// Cables, networks, nodes or routers to cut
    #[arg(required = true, value_name = "LINK|NODE")]
    names: Vec<String>,
    /// Drop packets but keep the carrier, like a failed switch between the ends
    #[arg(long)]
    silent: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let lab = Lab::open(args.which.lab.as_deref())?;
    let ends = switch::find_ends(&lab, &args.names)?;
    switch::cut(&lab, &ends, args.silent)?;
    let cables: BTreeSet<usize> = ends.iter().map(|(cable, _)| *cable).collect();
    for cable in cables {
        style::say(&format!("{} is cut", lab.topology().cables[cable].name));
    }
    Ok(ExitCode::SUCCESS)
}
