//! `lab heal`: reconnect cut cables.

use std::process::ExitCode;

use super::LabSelection;
use crate::lab::{Lab, collect, switch};
use crate::style;

/// Reconnect cut cables
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: LabSelection,
    /// Cables, networks, nodes or routers [default: everything that is cut]
    #[arg(value_name = "LINK|NODE")]
    names: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let lab = Lab::open(args.which.lab.as_deref())?;
    let ends = if args.names.is_empty() {
        switch::ends(lab.topology())
    } else {
        switch::find_ends(&lab, &args.names)?
    };
    let before = collect::cut_cables(&lab);
    switch::heal(&lab, &ends)?;
    let after = collect::cut_cables(&lab);
    let healed = before.iter().filter(|cut| !after.contains(cut));
    let healed: Vec<&str> = healed.map(|cut| cut.link.as_str()).collect();
    for link in &healed {
        style::say(&format!("{link} is reconnected"));
    }
    if healed.is_empty() {
        style::say("no cable is cut");
    }
    Ok(ExitCode::SUCCESS)
}
