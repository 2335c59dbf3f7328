//! `lab test`: inject every failure in turn and compare the lab with the predictions of `prove`.

mod junit;
mod text;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_core::lab::comparison::{Comparison, CutMode};
use ichor_core::lab::prediction::lab_proof_model;
use ichor_core::lab::{Prediction, report};
use ichor_core::prove::ProofModel;
use ichor_core::render::topology;

use super::up::digests;
use crate::argument::OutputFormat;
use crate::commands::prove::failures;
use crate::lab::fabric_test::FabricTest;
use crate::lab::signals::TerminationSignals;
use crate::lab::{Lab, LabDir, LabError, LabRecord, vm};
use crate::project::{self, Project};
use crate::refusal::Refusal;

/// Test a running lab: inject every failure and compare with `ichor prove`
///
/// The command compares sessions, routes with their number of paths, and real packets from outside and between nodes with what
/// `ichor prove` computes. Then it fails every router, node, link and speaker in turn, restores it, and measures the longest packet
/// loss to destinations that should stay reachable. Cables are cut silently: they drop packets while both ends keep their carrier.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 everything matches the prediction, 1 something differs, 2 the test\ncould not run.\n\n\
                        Examples:\n  ichor lab test\n  ichor lab test --fail leaf1 --fail cp1:fab0\n  ichor lab test --carrier\n  \
                        ichor lab test --html report.html --junit report.xml"
)]
pub(crate) struct Args {
    /// Name of the lab or its cluster file [default: the only running lab]
    #[arg(value_name = "NAME|FILE")]
    lab: Option<String>,
    /// Inject only this failure (repeatable, in sequence)
    #[arg(long, value_name = "NAME")]
    fail: Vec<String>,
    /// Number of simultaneous failures: 0 or 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=1), conflicts_with = "fail")]
    k: u8,
    /// Cut cables with loss of carrier, and let speakers close their sessions
    #[arg(long)]
    carrier: bool,
    #[command(flatten)]
    format: OutputFormat,
    /// Write a JUnit report to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write an HTML report with the topology and a chart of the outages
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let dir = find_lab(args.lab.as_deref())?;
    let files: Vec<PathBuf> = args.junit.iter().chain(&args.html).cloned().collect();
    if !vm::is_inside() {
        files.iter().try_for_each(|path| check_writable(path))?;
    }
    if vm::is_in_vm(&dir) {
        return Ok(vm::rerun_in_vm(&dir, None, &files)?);
    }
    let lab = Lab::open(Some(dir.name()))?;
    if lab.record.guests.is_some() {
        bail!("cannot test {}: its nodes are virtual machines; use a lab without --image", dir.name());
    }
    let project = project::open(&lab.record.file)?;
    check_sources(&lab, &project)?;
    let subject = ProofModel::from_plan(&project.cluster, &project.plan).map_err(Refusal::reasons)?;
    let subject = lab_proof_model(&subject, &project.plan, lab.topology(), &lab.record.host);
    let verdict = run_trials(args, &lab, &project, &subject)?;
    // Reports are written first, so that a full disk is reported.
    if let Some(path) = &args.junit {
        write(path, &junit::report(&verdict)?)?;
    }
    if let Some(path) = &args.html {
        let picture = topology::render(&project.cluster, &project.plan);
        write(path, report::html(&verdict, &picture).as_bytes())?;
    }
    if args.format.json {
        serde_json::to_writer_pretty(&mut *out, &text::object(&verdict))?;
        writeln!(out)?;
    } else {
        text::print(&verdict, out)?;
    }
    Ok(ExitCode::from(u8::from(!verdict.is_match())))
}

/// Refuses a file that cannot be written before the test starts.
fn check_writable(path: &Path) -> anyhow::Result<()> {
    let is_fresh = !path.exists();
    if is_fresh || path.is_file() {
        let opened = File::options().append(true).create(true).open(path);
        opened.with_context(|| format!("cannot write {}", path.display()))?;
    }
    if is_fresh {
        fs::remove_file(path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Finds the lab by its name or by its cluster file.
fn find_lab(named: Option<&str>) -> anyhow::Result<LabDir> {
    let Some(text) = named else { return Ok(LabDir::only_running()?) };
    if !Path::new(text).is_file() {
        return Ok(LabDir::named(text)?);
    }
    let file = fs::canonicalize(text).with_context(|| text.to_owned())?;
    let is_of_file = |dir: &LabDir| match vm::lab_summary(dir) {
        Some(content) => content.file == file,
        None => LabRecord::read(dir).is_ok_and(|record| record.file == file),
    };
    let alive = LabDir::all()?.into_iter().filter(LabDir::is_alive);
    let mut dirs: Vec<LabDir> = alive.filter(is_of_file).collect();
    match dirs.len() {
        0 => bail!("no lab of {text} is running; start one with `ichor lab up {text}`"),
        1 => Ok(dirs.remove(0)),
        _ => Err(LabError::Several(dirs.iter().map(|dir| dir.name().to_owned()).collect()).into()),
    }
}

/// Refuses a lab whose cluster file has changed: predictions would be of another fabric.
fn check_sources(lab: &Lab, project: &Project) -> anyhow::Result<()> {
    // Paths may differ between working folders; only the contents count.
    let sorted = |mut all: Vec<String>| {
        all.sort();
        all
    };
    let built: Vec<String> = lab.record.sources.values().cloned().collect();
    let now: Vec<String> = digests(project).into_values().collect();
    if sorted(built) == sorted(now) {
        return Ok(());
    }
    let (file, name) = (lab.record.file.display(), lab.dir.name());
    bail!(
        "{file} has changed since the lab was built; rebuild it with `ichor lab up --replace --name {name} {file}`"
    )
}

fn run_trials(args: &Args, lab: &Lab, project: &Project, subject: &ProofModel) -> anyhow::Result<Comparison> {
    let wanted = match (&args.fail[..], args.k) {
        ([], 0) => Vec::new(),
        ([], _) => subject.failures(),
        (names, _) => failures(subject, names)?,
    };
    let topology = lab.topology();
    let foreseen = Prediction::new(subject, &project.plan, topology);
    let cut = if args.carrier { CutMode::Carrier } else { CutMode::Silent };
    let signals = TerminationSignals::catch().context("cannot handle signals")?;
    let mut trial = FabricTest::start(lab, subject, &foreseen, cut, &signals)?;
    let mut verdict = Comparison {
        cluster: topology.cluster.clone(),
        emulated: lab.record.emulated,
        resolution: trial.probe.intervals.frequent,
        cut,
        deviations: topology.deviations.clone(),
        flows: foreseen.flows.len(),
        rows: Vec::new(),
    };
    let count = wanted.len();
    let intact = trial.test_intact()?;
    text::print_step(0, count, &intact, &verdict);
    verdict.rows.push(intact);
    for (nth, failure) in wanted.into_iter().enumerate() {
        let row = trial.test_failure(failure)?;
        text::print_step(nth + 1, count, &row, &verdict);
        verdict.rows.push(row);
    }
    Ok(verdict)
}
