//! `machine make`, `start`, `stop`, `eject` and `delete`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::bail;

use super::{MachineSelection, SelectedMachines, check};
use crate::argument::ImagesFolder;
use crate::machines::{Creation, MachineError, MachineProvider, MediaFolders, PowerOff, ProgressSink};
use crate::progress::Progress;
use crate::style;

/// Create missing machines and insert their boot media
///
/// Everything is checked before the first machine is created. Existing machines are not changed, and no machine is powered on. Boot
/// media come from the folders of `ichor build` and `ichor image build`.
#[derive(Debug, clap::Args)]
pub(super) struct MakeArgs {
    #[command(flatten)]
    which: MachineSelection,
    /// Folder with the output of `ichor build`
    #[arg(long, value_name = "DIR", default_value = "build")]
    build: PathBuf,
    #[command(flatten)]
    images: ImagesFolder,
}

/// Power machines on
#[derive(Debug, clap::Args)]
pub(super) struct StartArgs {
    #[command(flatten)]
    which: MachineSelection,
}

/// Power machines off
#[derive(Debug, clap::Args)]
pub(super) struct StopArgs {
    #[command(flatten)]
    which: MachineSelection,
    /// Cut the power instead of shutting down
    #[arg(long)]
    cut: bool,
}

/// Eject boot media and delete media with a node's configuration
#[derive(Debug, clap::Args)]
pub(super) struct EjectArgs {
    #[command(flatten)]
    which: MachineSelection,
}

/// Delete virtual machines with their disks
///
/// Only machines that were created by ichor or from its VM definitions are deleted; ichor identifies them by UUID.
#[derive(Debug, clap::Args)]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    which: MachineSelection,
    /// Confirm the deletion; without it, machines are only listed
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
    let shelf =
        MediaFolders { build, images: args.images.images.clone(), file: chosen.project.name().to_owned() };
    let watcher = UploadProgress::default();
    each(&chosen, out, |provider, node| {
        let capabilities = provider.capabilities();
        let made = if capabilities.creates_vms {
            provider.create(node, &shelf, &watcher)?
        } else {
            Creation::Existed
        };
        if capabilities.attaches_media {
            provider.attach(node, &shelf, &watcher)?;
        }
        Ok(if made == Creation::Created { "created" } else { "exists" })
    })
}

pub(super) fn start(args: &StartArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    with(&args.which, out, |provider, node| provider.start(node).map(|()| "on"))
}

pub(super) fn stop(args: &StopArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let how = if args.cut { PowerOff::Forced } else { PowerOff::Graceful };
    with(&args.which, out, |provider, node| provider.stop(node, how).map(|()| "off"))
}

pub(super) fn eject(args: &EjectArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    with(&args.which, out, |provider, node| provider.eject(node).map(|()| "ejected"))
}

pub(super) fn delete(args: &DeleteArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let chosen = args.which.open()?;
    if !args.yes {
        for (node, provider) in chosen.each().filter(|(_, provider)| provider.capabilities().creates_vms) {
            writeln!(out, "{node} at {}", provider.location())?;
        }
        bail!("the machines above would be deleted with all their disks; pass --yes to confirm");
    }
    each(&chosen, out, |provider, node| {
        if !provider.capabilities().creates_vms {
            return Ok("kept (physical machine)");
        }
        provider.delete(node).map(|()| "deleted")
    })
}

fn with(
    which: &MachineSelection,
    out: &mut dyn Write,
    act: impl Fn(&dyn MachineProvider, &str) -> Result<&'static str, MachineError>,
) -> anyhow::Result<ExitCode> {
    each(&which.open()?, out, act)
}

fn each(
    chosen: &SelectedMachines,
    out: &mut dyn Write,
    act: impl Fn(&dyn MachineProvider, &str) -> Result<&'static str, MachineError>,
) -> anyhow::Result<ExitCode> {
    for (node, provider) in chosen.each() {
        let done = act(provider, node)?;
        writeln!(out, "{node}: {done}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows the progress of an upload.
#[derive(Default)]
struct UploadProgress(Mutex<Option<CurrentUpload>>);

struct CurrentUpload {
    what: String,
    done: u64,
    progress: Progress,
}

impl ProgressSink for UploadProgress {
    fn transferred(&self, what: &str, done: u64, total: u64) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_none_or(|shown| shown.what != what) {
            *held = Some(CurrentUpload {
                what: what.to_owned(),
                done: 0,
                progress: Progress::bytes(what, total),
            });
        }
        if let Some(shown) = &mut *held {
            shown.progress.steps(done.saturating_sub(shown.done));
            shown.done = done;
        }
        if done >= total {
            *held = None;
        }
    }

    fn message(&self, text: &str) {
        style::say(text);
    }
}
