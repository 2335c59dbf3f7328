//! `lab test`: break everything in turn, and compare with the proof.

mod junit;
mod text;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_core::lab::foreseen::as_built;
use ichor_core::lab::verdict::{Cut, Verdict};
use ichor_core::lab::{Foreseen, report};
use ichor_core::prove::Subject;
use ichor_core::render::topology;

use super::up::digests;
use crate::argument::Format;
use crate::commands::prove::failures;
use crate::lab::signals::Signals;
use crate::lab::trial::Trial;
use crate::lab::{Lab, LabError, Place, Record, vm};
use crate::project::{self, Project};
use crate::refused::Refused;

/// Check a running lab against the proof: the whole fabric, then without every router, node, link and speaker
///
/// Sessions, routes with their number of paths, and real packets from outside and between nodes are compared with what `ichor prove`
/// computes. Then one thing after the other is taken away and given back, and the longest outage of packets is measured to
/// which a way is left. Cables are cut silently: they lose packets, and both ends keep their carrier.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 all is as foreseen, 1 something differs, 2 it could not be tested.\n\n\
                        Examples:\n  ichor lab test\n  ichor lab test --fail leaf1 --fail cp1:fab0\n  ichor lab test --carrier\n  \
                        ichor lab test --html report.html --junit report.xml"
)]
pub(crate) struct Args {
    /// Name of the lab, or its cluster file; the only lab that runs when left out
    #[arg(value_name = "NAME|FILE")]
    lab: Option<String>,
    /// Take only this away; may be given more than once, for one after the other
    #[arg(long, value_name = "NAME")]
    fail: Vec<String>,
    /// How many things fail at once: 0 or 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=1), conflicts_with = "fail")]
    k: u8,
    /// Cut cables so that both ends lose their carrier, and let speakers close their sessions
    #[arg(long)]
    carrier: bool,
    #[command(flatten)]
    format: Format,
    /// Write a report for CI servers
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a report for people, with the topology and a chart of the outages
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let place = place(args.lab.as_deref())?;
    let files: Vec<PathBuf> = args.junit.iter().chain(&args.html).cloned().collect();
    if !vm::is_here() {
        files.iter().try_for_each(|path| is_writable(path))?;
    }
    if vm::holds(&place) {
        return Ok(vm::hand_over_all(&place, None, &files)?);
    }
    let lab = Lab::open(Some(place.name()))?;
    if lab.record.guests.is_some() {
        bail!(
            "the nodes of {} are virtual machines, into which nobody sees; a lab without --image can be tested",
            place.name()
        );
    }
    let project = project::open(&lab.record.file)?;
    judge_sources(&lab, &project)?;
    let subject = Subject::of(&project.cluster, &project.plan).map_err(Refused::reasons)?;
    let subject = as_built(&subject, &project.plan, lab.scene(), &lab.record.here);
    let verdict = try_all(args, &lab, &project, &subject)?;
    // Every report before the answer: a full disk is told as well.
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
    Ok(ExitCode::from(u8::from(!verdict.holds())))
}

/// Refuses a file that cannot be written, before the time is spent of which it shall tell.
fn is_writable(path: &Path) -> anyhow::Result<()> {
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

/// The place of the lab that is meant: by its name, or by the file it was built from.
fn place(named: Option<&str>) -> anyhow::Result<Place> {
    let Some(text) = named else { return Ok(Place::only()?) };
    if !Path::new(text).is_file() {
        return Ok(Place::of(text)?);
    }
    let file = fs::canonicalize(text).with_context(|| text.to_owned())?;
    let is_of_file = |place: &Place| match vm::content(place) {
        Some(content) => content.file == file,
        None => Record::read(place).is_ok_and(|record| record.file == file),
    };
    let alive = Place::all()?.into_iter().filter(Place::is_alive);
    let mut places: Vec<Place> = alive.filter(is_of_file).collect();
    match places.len() {
        0 => bail!("no lab of {text} runs; `ichor lab up {text}` brings one up"),
        1 => Ok(places.remove(0)),
        _ => Err(LabError::Several(places.iter().map(|place| place.name().to_owned()).collect()).into()),
    }
}

/// What is foreseen is foreseen of what was built.
fn judge_sources(lab: &Lab, project: &Project) -> anyhow::Result<()> {
    // Files may be called otherwise from here; what is in them counts.
    let sorted = |mut all: Vec<String>| {
        all.sort();
        all
    };
    let built: Vec<String> = lab.record.sources.values().cloned().collect();
    let now: Vec<String> = digests(project).into_values().collect();
    if sorted(built) == sorted(now) {
        return Ok(());
    }
    let (file, name) = (lab.record.file.display(), lab.place.name());
    bail!(
        "{file} has changed since the lab was built; `ichor lab up --replace --name {name} {file}` builds it anew"
    )
}

fn try_all(args: &Args, lab: &Lab, project: &Project, subject: &Subject) -> anyhow::Result<Verdict> {
    let wanted = match (&args.fail[..], args.k) {
        ([], 0) => Vec::new(),
        ([], _) => subject.failures(),
        (names, _) => failures(subject, names)?,
    };
    let scene = lab.scene();
    let foreseen = Foreseen::of(subject, &project.plan, scene);
    let cut = if args.carrier { Cut::Carrier } else { Cut::Silent };
    let signals = Signals::catch().context("cannot hear signals")?;
    let mut trial = Trial::begin(lab, subject, &foreseen, cut, &signals)?;
    let mut verdict = Verdict {
        cluster: scene.cluster.clone(),
        emulated: lab.record.emulated,
        resolution: trial.probe.pace.often,
        cut,
        differs: scene.differs.clone(),
        flows: foreseen.flows.len(),
        rows: Vec::new(),
    };
    let count = wanted.len();
    let whole = trial.whole()?;
    text::step(0, count, &whole, &verdict);
    verdict.rows.push(whole);
    for (nth, failure) in wanted.into_iter().enumerate() {
        let row = trial.without(failure)?;
        text::step(nth + 1, count, &row, &verdict);
        verdict.rows.push(row);
    }
    Ok(verdict)
}
