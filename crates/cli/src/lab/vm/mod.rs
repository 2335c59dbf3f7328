//! The virtual machine of a lab, used if the kernel has no VRFs or the user is not root.
//!
//! Commands run inside transparently ([`run_in_vm`]), with the same arguments, streams, terminal, signals, exit code and
//! files. Files that a command writes are lost with the VM, except its declared output files.
//!
//! [`boot_files`] are the kernel and the initramfs. [`qemu`] is the process, which holds the lab's lock. The ports of the
//! VM are sockets in the lab's folder. Inside, a [`console`] per port runs one [`command`] at a time. A [`session`] is the
//! client, and [`frame`] the protocol.

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

/// Maximum number of concurrent commands.
const PORTS: usize = 8;

/// Prefix of port names.
const PORT: &str = "ichor.";

/// Record of the virtual machine in the lab's folder.
const RECORD: &str = "vm.json";

/// Environment variables set inside the virtual machine, and if its processor is emulated.
const INSIDE: &str = "ICHOR_LAB_VM";
const EMULATED: &str = "ICHOR_LAB_EMULATED";

/// Errors of running a command in the virtual machine of a lab.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VmError {
    #[error("no folder {}", folder.display())]
    NoFolder { folder: PathBuf, source: io::Error },
    #[error("{} is not a file path", .0.display())]
    NoName(PathBuf),
    #[error("cannot find the working directory")]
    WorkingFolder(#[source] io::Error),
    #[error("cannot find the path of this program")]
    Program(#[source] io::Error),
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    #[error(transparent)]
    Boot(#[from] VmBootError),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Talk(#[from] CommandSessionError),
    /// With the last lines of the console.
    #[error("{error}{last_words}")]
    Ended { error: CommandSessionError, last_words: String },
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// Whether this process runs inside the virtual machine.
pub(crate) fn is_inside() -> bool {
    env::var_os(INSIDE).is_some()
}

/// Whether the processor of this virtual machine is emulated.
pub(crate) fn is_emulated() -> bool {
    env::var_os(EMULATED).is_some()
}

/// Whether a lab runs in a virtual machine.
pub(crate) fn is_in_vm(dir: &LabDir) -> bool {
    dir.is_alive() && dir.path().join(RECORD).exists()
}

/// Summary of a lab in a virtual machine, for the host.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct LabSummary {
    /// Absolute path of the cluster file.
    #[serde(rename = "cluster_file")]
    pub file: PathBuf,
    /// Number of nodes.
    #[serde(rename = "node_count")]
    pub nodes: usize,
    /// Number of routers.
    #[serde(rename = "router_count")]
    pub routers: usize,
}

/// Summary of the lab in a virtual machine.
pub(crate) fn lab_summary(dir: &LabDir) -> Option<LabSummary> {
    boot::lab_summary(dir)
}

/// Requested virtual machine for a lab without one.
#[derive(Clone, Debug)]
pub(crate) struct VmRequest {
    /// Number of machines in the lab.
    pub machines: usize,
    /// Summary of the lab, if the VM is for more than one command.
    pub content: Option<LabSummary>,
    /// Accelerator; the best available one if none.
    pub accelerator: Option<Accelerator>,
    /// Whether the VM keeps running if its first command fails.
    pub keep: bool,
}

/// Runs a command in the virtual machine of a lab, and then copies its output files to the host.
pub(crate) fn run_in_vm(
    dir: &LabDir,
    wanted: Option<VmRequest>,
    arguments: Vec<OsString>,
    files: &[PathBuf],
) -> Result<ExitCode, VmError> {
    let files: Vec<_> = files.iter().map(|path| resolve(path)).collect::<Result<_, VmError>>()?;
    let request = CommandRequest::new(arguments, files.iter().map(|path| path.clone().into()).collect())
        .map_err(VmError::WorkingFolder)?;
    let keep = wanted.as_ref().is_some_and(|wanted| wanted.keep);
    let boot = wanted.map(|wanted| VmBoot::prepare(dir, wanted)).transpose()?.flatten();
    let relay = SignalRelay::start().map_err(VmError::Signals)?;
    let is_fresh = boot.is_some();
    // The port is held for the duration of the command.
    let BootedVm { port: _port, stream } = match boot {
        Some(boot) => boot.run(&relay)?,
        None => {
            let port = CommandPort::acquire(dir.path())?;
            BootedVm { stream: port.connect()?, port }
        }
    };
    let result =
        session::run(stream, &request, &files, &relay).map_err(|error| with_last_words(error, dir.path()));
    if is_fresh && !matches!(result, Ok(0)) && !keep {
        dir.end()?;
    }
    Ok(ExitCode::from(result?))
}

/// Runs this program with its arguments in the virtual machine of a lab.
pub(crate) fn rerun_in_vm(
    dir: &LabDir,
    wanted: Option<VmRequest>,
    files: &[PathBuf],
) -> Result<ExitCode, VmError> {
    let program = env::current_exe().map_err(VmError::Program)?;
    let arguments = [program.into()].into_iter().chain(env::args_os().skip(1)).collect();
    run_in_vm(dir, wanted, arguments, files)
}

/// Resolves symlinks in the folder of a path.
fn resolve(path: &Path) -> Result<PathBuf, VmError> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let real =
        fs::canonicalize(folder).map_err(|source| VmError::NoFolder { folder: folder.to_owned(), source })?;
    let name = path.file_name().ok_or_else(|| VmError::NoName(path.to_owned()))?;
    Ok(real.join(name))
}

/// Adds the last lines of the console if the virtual machine has exited.
fn with_last_words(error: CommandSessionError, folder: &Path) -> VmError {
    match error {
        CommandSessionError::Gone => VmError::Ended { error, last_words: QemuProcess::last_words(folder) },
        _ => error.into(),
    }
}
