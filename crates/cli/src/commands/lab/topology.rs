//! `lab topology`: write the fabric as a containerlab topology.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_core::prove::summarize_names;
use ichor_core::render::fabric::{self, containerlab};
use ichor_core::routing::BgpTopology;

use crate::argument::ClusterFile;
use crate::refusal::Refusal;
use crate::style;

/// Write the fabric as a containerlab topology
///
/// The topology refers to files of `ichor build`, with paths relative to the folder `fabric` of a build.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let network = BgpTopology::from_plan(&project.cluster, &project.plan).map_err(Refusal::reasons)?;
    if fabric::is_empty(&network) {
        bail!("{} has no fabric: no node has `routing`", args.cluster.file.display());
    }
    let text = containerlab::render(&project.plan, &network);
    let omitted = containerlab::omitted(&project.plan, &network);
    if !omitted.is_empty() {
        style::say(&format!("not included, because they do not run FRR: {}", summarize_names(omitted)));
    }
    match &args.out {
        Some(path) => fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?,
        None => out.write_all(text.as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}
