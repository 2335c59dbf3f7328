//! The qemu process of the virtual machine.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use ichor_system::lock::LockFile;
use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::boot_files::VmBootFiles;
use super::{EMULATED, INSIDE, PORT, PORTS};
use crate::lab::accelerator::{Accelerator, QEMU};

/// Maximum number of processors; no lab needs more.
const MAX_CPUS: usize = 4;

/// Number of console lines in an error.
const CONSOLE_LINES: usize = 20;

/// Time limit until qemu has daemonized. Its ports exist then, before the boot.
const START_TIMEOUT: Duration = Duration::from_mins(2);

/// Files in a lab's folder: the console output, and the PID.
const CONSOLE: &str = "console";
const PID: &str = "qemu.pid";

/// Errors of starting qemu.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QemuError {
    #[error(
        "qemu-system-x86_64, which runs the lab's virtual machine, is not installed; install it with `apt-get install qemu-system-x86`"
    )]
    NotInstalled,
    #[error("cannot run qemu-system-x86_64")]
    Run(#[source] io::Error),
    #[error("qemu-system-x86_64 does not start: {0}")]
    Failed(String),
    #[error("the path {} has a character that a kernel command line cannot contain; move ichor to another path", .0.display())]
    Path(PathBuf),
}

/// Options of the process.
pub(super) struct QemuOptions<'o> {
    /// Folder of the lab.
    pub folder: &'o Path,
    pub kit: &'o VmBootFiles,
    pub accelerator: Accelerator,
    /// Memory in MiB.
    pub memory: usize,
    /// Path of this program.
    pub program: &'o Path,
    /// The lab's lock, which qemu inherits and holds.
    pub lock: &'o LockFile,
}

/// A running virtual machine.
#[derive(Clone, Debug)]
pub(super) struct QemuProcess {
    pub(super) pid: Pid,
    folder: PathBuf,
}

impl QemuProcess {
    /// Starts qemu, and returns once its ports accept connections.
    pub(super) fn start(options: &QemuOptions<'_>) -> Result<Self, QemuError> {
        let mut command = Command::new(QEMU);
        // Relative paths need no escaping and fit the length limit of sockets.
        command.current_dir(options.folder).args(qemu_args(options)?);
        // Errors are reported before it daemonizes.
        command.args(["-daemonize", "-pidfile", PID]);
        let run = || ProgramRun::new(command, START_TIMEOUT).run();
        let ran = with_inheritable(options.lock, run).map_err(QemuError::Run)?;
        ran.and_then(ProgramOutput::require_success).map_err(|error| match error {
            ProgramError::Missing { .. } => QemuError::NotInstalled,
            ProgramError::Failed(output) => {
                let message = output.stderr_text().trim().replace('\n', "; ");
                QemuError::Failed(if message.is_empty() { output.status.to_string() } else { message })
            }
            error => QemuError::Run(error.into()),
        })?;
        let pid = fs::read_to_string(options.folder.join(PID)).map_err(QemuError::Run)?;
        let pid = pid.trim().parse().map_err(|_| QemuError::Failed("invalid PID file".to_owned()))?;
        Ok(Self { pid: Pid::from_raw(pid), folder: options.folder.to_owned() })
    }

    /// Kills the virtual machine with everything inside.
    pub(super) fn end(&self) {
        let _ = kill(self.pid, Signal::SIGKILL);
    }

    /// Kills the virtual machine and removes the folder of its lab.
    pub(super) fn destroy(&self) {
        self.end();
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// The last lines of the console, to append to an error message.
    pub(super) fn last_words(folder: &Path) -> String {
        let text = fs::read(folder.join(CONSOLE)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return "; the console is empty".to_owned();
        }
        format!(
            "; last lines of the console:\n{}",
            lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("\n")
        )
    }
}

/// Runs `work` while child processes inherit a file.
fn with_inheritable<T>(file: &impl AsFd, work: impl FnOnce() -> T) -> io::Result<T> {
    fcntl(file.as_fd(), FcntlArg::F_SETFD(FdFlag::empty()))?;
    let done = work();
    fcntl(file.as_fd(), FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(done)
}

fn qemu_args(options: &QemuOptions<'_>) -> Result<Vec<String>, QemuError> {
    let program = options.program.to_str().filter(|path| !path.contains(['"', '\n']));
    let program = program.ok_or_else(|| QemuError::Path(options.program.to_owned()))?;
    let processors = thread::available_parallelism().map_or(1, |count| count.get().min(MAX_CPUS));
    let emulated = match options.accelerator {
        Accelerator::Kvm => String::new(),
        Accelerator::Tcg => format!(" {EMULATED}=1"),
    };
    let mut args: Vec<String> = vec!["-nodefaults".into(), "-no-user-config".into(), "-no-reboot".into()];
    args.extend(options.accelerator.qemu_args().map(str::to_owned));
    let mut add = |key: &str, value: String| args.extend([key.to_owned(), value]);
    add("-display", "none".to_owned());
    add("-smp", processors.to_string());
    add("-m", options.memory.to_string());
    add("-serial", format!("file:{CONSOLE}"));
    add("-kernel", options.kit.kernel.display().to_string());
    add("-initrd", options.kit.initramfs.display().to_string());
    // no_timer_check: on a busy host the timer is too late for the kernel's check.
    add(
        "-append",
        format!(
            "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check {INSIDE}=1{emulated} -- \"{program}\" lab serve-console"
        ),
    );
    add("-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap".to_owned());
    add("-device", format!("virtio-serial-pci,max_ports={}", PORTS + 1));
    for nth in 0..PORTS {
        add("-chardev", format!("socket,id=port{nth},path=port{nth},server=on,wait=off"));
        add("-device", format!("virtserialport,chardev=port{nth},name={PORT}{nth}"));
    }
    Ok(args)
}
