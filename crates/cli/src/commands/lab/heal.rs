//! `lab heal`: plug cables in again.

use std::process::ExitCode;

use super::Which;
use crate::lab::{Lab, ask, hub};
use crate::style;

/// Plug in again what was cut; everything when nothing is named
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: Which,
    /// Cables, nodes or routers
    #[arg(value_name = "LINK|NODE")]
    names: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let lab = Lab::open(args.which.lab.as_deref())?;
    let ends = if args.names.is_empty() { hub::ends(lab.scene()) } else { hub::called(&lab, &args.names)? };
    let before = ask::cuts(&lab);
    hub::heal(&lab, &ends)?;
    let after = ask::cuts(&lab);
    let healed = before.iter().filter(|cut| !after.contains(cut));
    let healed: Vec<&str> = healed.map(|cut| cut.link.as_str()).collect();
    for link in &healed {
        style::say(&format!("{link} is plugged in again"));
    }
    if healed.is_empty() {
        style::say("nothing was cut");
    }
    Ok(ExitCode::SUCCESS)
}
