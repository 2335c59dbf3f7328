//! `lab topology`: the same fabric for containerlab.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_core::prove::crowd;
use ichor_core::render::fabric::{self, containerlab};
use ichor_core::routing::Network;

use crate::argument::ClusterFile;
use crate::refused::Refused;
use crate::style;

/// Write the same lab for containerlab
///
/// The file refers to what `ichor build` writes: paths in it are from the folder `fabric` of a build.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// File to write; standard output when left out
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let network = Network::of(&project.cluster, &project.plan).map_err(Refused::reasons)?;
    if fabric::is_empty(&network) {
        bail!("no node of {} routes: there is no fabric", args.cluster.file.display());
    }
    let text = containerlab::render(&project.plan, &network);
    let absent = containerlab::absent(&project.plan, &network);
    if !absent.is_empty() {
        style::say(&format!("not in it, because FRR does not run there: {}", crowd(absent)));
    }
    match &args.out {
        Some(path) => fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?,
        None => out.write_all(text.as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}
