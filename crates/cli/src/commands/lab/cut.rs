//! `lab cut`: pull cables.

use std::collections::BTreeSet;
use std::process::ExitCode;

use super::Which;
use crate::lab::{Lab, hub};
use crate::style;

/// Pull a cable, or all cables of a node or router
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A cable is called by either of its ends, as `cp1:fab0` or `leaf1:swp3`; a network by its name.\n\n\
                        Examples:\n  ichor lab cut cp1:fab0\n  ichor lab cut leaf1\n  ichor lab cut --silent cp1:fab1"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: Which,
    /// Cables, nodes or routers
    #[arg(required = true, value_name = "LINK|NODE")]
    names: Vec<String>,
    /// Lose packets and leave the carrier, as a broken switch between the ends does
    #[arg(long)]
    silent: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let lab = Lab::open(args.which.lab.as_deref())?;
    let ends = hub::called(&lab, &args.names)?;
    hub::cut(&lab, &ends, args.silent)?;
    let cables: BTreeSet<usize> = ends.iter().map(|(cable, _)| *cable).collect();
    for cable in cables {
        style::say(&format!("{} is cut", lab.scene().cables[cable].name));
    }
    Ok(ExitCode::SUCCESS)
}
