//! The virtual machine of a lab, where this kernel has no VRFs or where the user is not root.
//!
//! It is a shell that nobody sees: a command runs inside as it would here, with the same words, streams, terminal, signals and exit code, on
//! the same files ([`hand_over`]). Whatever it writes is gone with the virtual machine, but for the files it is said to write.
//!
//! [`kit`] is what it boots, [`qemu`] its process, which holds the lab's lock. Its ports are sockets in the lab's folder; at the other end
//! of each is [`mod@serve`], which runs one [`command`] at a time. [`talk`] is the end outside. [`frame`] is what both say.

mod boot;
mod boot_files;
mod command;
mod console;
mod frame;
mod port;
mod qemu;
mod request;
mod session;
mod signal_relay;
mod terminal;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use super::accelerator::Accelerator;
use super::{LabDir, LabError};
use boot::{BootedVm, VmBoot, VmBootError};
use port::{CommandPort, PortError};
use qemu::QemuProcess;
use request::CommandRequest;
use session::CommandSessionError;
use signal_relay::SignalRelay;

pub(crate) use console::serve;

/// How many commands can run at once.
const PORTS: usize = 8;

/// What the names of ports begin with.
const PORT: &str = "ichor.";

/// The file of a lab's folder that says that the lab is in a virtual machine.
const RECORD: &str = "vm.json";

/// Set in the virtual machine alone; and where its processor is emulated, so that times say nothing.
const INSIDE: &str = "ICHOR_LAB_VM";
const EMULATED: &str = "ICHOR_LAB_EMULATED";

/// Why no command runs in the virtual machine of a lab.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VmError {
    #[error("there is no folder {}", folder.display())]
    NoFolder { folder: PathBuf, source: io::Error },
    #[error("{} is no name of a file", .0.display())]
    NoName(PathBuf),
    #[error("cannot tell where this program runs")]
    WorkingFolder(#[source] io::Error),
    #[error("cannot tell where this program is")]
    Program(#[source] io::Error),
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    #[error(transparent)]
    Boot(#[from] VmBootError),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Talk(#[from] CommandSessionError),
    /// With the last that was heard of it.
    #[error("{error}{last_words}")]
    Ended { error: CommandSessionError, last_words: String },
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// Whether this is the virtual machine.
pub(crate) fn is_inside() -> bool {
    env::var_os(INSIDE).is_some()
}

/// Whether this is a machine whose processor is emulated.
pub(crate) fn is_emulated() -> bool {
    env::var_os(EMULATED).is_some()
}

/// Whether a lab is in a virtual machine.
pub(crate) fn is_in_vm(place: &LabDir) -> bool {
    place.is_alive() && place.path().join(RECORD).exists()
}

/// What is known outside of a lab in a virtual machine.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct LabSummary {
    /// The cluster file, as it is named from the root of the file system.
    #[serde(rename = "cluster_file")]
    pub file: PathBuf,
    /// How many nodes the lab has.
    #[serde(rename = "node_count")]
    pub nodes: usize,
    /// How many routers.
    #[serde(rename = "router_count")]
    pub routers: usize,
}

/// What is in the virtual machine of a lab.
pub(crate) fn lab_summary(place: &LabDir) -> Option<LabSummary> {
    boot::lab_summary(place)
}

/// The virtual machine that a lab gets which has none.
#[derive(Clone, Debug)]
pub(crate) struct VmRequest {
    /// For so many machines.
    pub machines: usize,
    /// With this in it, if it is for more than one command.
    pub content: Option<LabSummary>,
    /// Run by this; by the best there is when nothing is said.
    pub accelerator: Option<Accelerator>,
    /// Whether it stays also when the command fails it is booted for.
    pub keep: bool,
}

/// Runs a command in the virtual machine of a lab. The files it is said to write are moved here when it ended.
pub(crate) fn run_in_vm(
    place: &LabDir,
    wanted: Option<VmRequest>,
    words: Vec<OsString>,
    files: &[PathBuf],
) -> Result<ExitCode, VmError> {
    let files: Vec<_> = files.iter().map(|path| resolve(path)).collect::<Result<_, VmError>>()?;
    let request = CommandRequest::new(words, files.iter().map(|path| path.clone().into()).collect())
        .map_err(VmError::WorkingFolder)?;
    let keep = wanted.as_ref().is_some_and(|wanted| wanted.keep);
    let boot = wanted.map(|wanted| VmBoot::prepare(place, wanted)).transpose()?.flatten();
    let relay = SignalRelay::start().map_err(VmError::Signals)?;
    let is_fresh = boot.is_some();
    // The port is ours as long as it is there.
    let BootedVm { port: _port, stream } = match boot {
        Some(boot) => boot.run(&relay)?,
        None => {
            let port = CommandPort::acquire(place.path())?;
            BootedVm { stream: port.connect()?, port }
        }
    };
    let result =
        session::run(stream, &request, &files, &relay).map_err(|error| with_last_words(error, place.path()));
    if is_fresh && !matches!(result, Ok(0)) && !keep {
        place.end()?;
    }
    Ok(ExitCode::from(result?))
}

/// Runs a command of this program, as it was called, in the virtual machine of a lab.
pub(crate) fn rerun_in_vm(
    place: &LabDir,
    wanted: Option<VmRequest>,
    files: &[PathBuf],
) -> Result<ExitCode, VmError> {
    let program = env::current_exe().map_err(VmError::Program)?;
    let words = [program.into()].into_iter().chain(env::args_os().skip(1)).collect();
    run_in_vm(place, wanted, words, files)
}

/// Where a file is once no folder above it is a link.
fn resolve(path: &Path) -> Result<PathBuf, VmError> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let real =
        fs::canonicalize(folder).map_err(|source| VmError::NoFolder { folder: folder.to_owned(), source })?;
    let name = path.file_name().ok_or_else(|| VmError::NoName(path.to_owned()))?;
    Ok(real.join(name))
}

/// The end of a virtual machine, with the last that was heard of it.
fn with_last_words(error: CommandSessionError, folder: &Path) -> VmError {
    match error {
        CommandSessionError::Gone => VmError::Ended { error, last_words: QemuProcess::last_words(folder) },
        _ => error.into(),
    }
}
