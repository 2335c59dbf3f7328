//! What is done with machines, one after the other.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::bail;

use super::{Chosen, Which, check};
use crate::argument::ImagesFolder;
use crate::machines::{Folders, MachineError, Machines, Made, Onlooker, Stop};
use crate::progress::Progress;
use crate::style;

/// Make machines that are not there, and put their media in
///
/// Everything is checked before the first is made. One that is there stays as it is; nothing is started. What is put in comes from
/// the folders of `ichor build` and `ichor image build`.
#[derive(Debug, clap::Args)]
pub(super) struct MakeArgs {
    #[command(flatten)]
    which: Which,
    /// Folder that `ichor build` wrote to
    #[arg(long, value_name = "DIR", default_value = "build")]
    build: PathBuf,
    #[command(flatten)]
    images: ImagesFolder,
}

/// Switch machines on
#[derive(Debug, clap::Args)]
pub(super) struct StartArgs {
    #[command(flatten)]
    which: Which,
}

/// Switch machines off
#[derive(Debug, clap::Args)]
pub(super) struct StopArgs {
    #[command(flatten)]
    which: Which,
    /// Do not wait for what runs on them
    #[arg(long)]
    cut: bool,
}

/// Take media out of machines; those that hold a node's configuration are deleted
#[derive(Debug, clap::Args)]
pub(super) struct EjectArgs {
    #[command(flatten)]
    which: Which,
}

/// Take machines away for good, with their disks
///
/// Only machines that ichor, or what it wrote, has made: they are known by their UUID.
#[derive(Debug, clap::Args)]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    which: Which,
    /// Do it; without this they are only named
    #[arg(long)]
    yes: bool,
}

pub(super) fn make(args: &MakeArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let chosen = args.which.open()?;
    let nodes: Vec<_> = chosen.nodes.iter().map(String::as_str).collect();
    let obstacles = chosen.fleet.check(&nodes);
    if !obstacles.is_empty() {
        writeln!(out, "{}", check::lines(&obstacles))?;
        style::say("nothing was changed");
        return Ok(ExitCode::FAILURE);
    }
    let build = args.build.join(chosen.project.plan.cluster.name.as_str());
    let shelf = Folders { build, images: args.images.images.clone(), file: chosen.project.name().to_owned() };
    let watcher = Watcher::default();
    each(&chosen, out, |provider, node| {
        let powers = provider.powers();
        let made = if powers.makes { provider.make(node, &shelf, &watcher)? } else { Made::Before };
        if powers.media {
            provider.attach(node, &shelf, &watcher)?;
        }
        Ok(if made == Made::Now { "made" } else { "was there" })
    })
}

pub(super) fn start(args: &StartArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    with(&args.which, out, |provider, node| provider.start(node).map(|()| "on"))
}

pub(super) fn stop(args: &StopArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let how = if args.cut { Stop::Cut } else { Stop::Asked };
    with(&args.which, out, |provider, node| provider.stop(node, how).map(|()| "off"))
}

pub(super) fn eject(args: &EjectArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    with(&args.which, out, |provider, node| provider.eject(node).map(|()| "ejected"))
}

pub(super) fn delete(args: &DeleteArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let chosen = args.which.open()?;
    if !args.yes {
        for (node, provider) in chosen.each().filter(|(_, provider)| provider.powers().makes) {
            writeln!(out, "{node} at {}", provider.place())?;
        }
        bail!("these machines and all that is on their disks would be gone; say --yes to do it");
    }
    each(&chosen, out, |provider, node| {
        if !provider.powers().makes {
            return Ok("a real one, which stays");
        }
        provider.delete(node).map(|()| "gone")
    })
}

fn with(
    which: &Which,
    out: &mut dyn Write,
    act: impl Fn(&dyn Machines, &str) -> Result<&'static str, MachineError>,
) -> anyhow::Result<ExitCode> {
    each(&which.open()?, out, act)
}

fn each(
    chosen: &Chosen,
    out: &mut dyn Write,
    act: impl Fn(&dyn Machines, &str) -> Result<&'static str, MachineError>,
) -> anyhow::Result<ExitCode> {
    for (node, provider) in chosen.each() {
        let done = act(provider, node)?;
        writeln!(out, "{node}: {done}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows how far a file got.
#[derive(Default)]
struct Watcher(Mutex<Option<Shown>>);

struct Shown {
    what: String,
    done: u64,
    progress: Progress,
}

impl Onlooker for Watcher {
    fn bytes(&self, what: &str, done: u64, total: u64) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_none_or(|shown| shown.what != what) {
            *held = Some(Shown { what: what.to_owned(), done: 0, progress: Progress::bytes(what, total) });
        }
        if let Some(shown) = &mut *held {
            shown.progress.steps(done.saturating_sub(shown.done));
            shown.done = done;
        }
        if done >= total {
            *held = None;
        }
    }

    fn line(&self, text: &str) {
        style::say(text);
    }
}
