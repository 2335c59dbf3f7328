//! qemu: the process that is the virtual machine.

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

/// No lab needs more processors.
const MAX_CPUS: usize = 4;

/// How much of what the kernel said is told.
const CONSOLE_LINES: usize = 20;

/// How long it may take until it is a process of its own: then its ports are there, and nothing has been booted.
const START_TIMEOUT: Duration = Duration::from_mins(2);

/// Files of a lab's folder: what the kernel says, and the number of the process.
const CONSOLE: &str = "console";
const PID: &str = "qemu.pid";

/// Why it does not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QemuError {
    #[error(
        "there is no qemu-system-x86_64 here, which a lab needs that is not built in this kernel; install it, with `apt-get install qemu-system-x86`"
    )]
    NotInstalled,
    #[error("cannot run qemu-system-x86_64")]
    Run(#[source] io::Error),
    #[error("qemu-system-x86_64 does not start: {0}")]
    Failed(String),
    #[error("the path {} has a character that a kernel's command line cannot have; move ichor elsewhere", .0.display())]
    Path(PathBuf),
}

/// What is started.
pub(super) struct QemuOptions<'o> {
    /// The lab's folder.
    pub folder: &'o Path,
    pub kit: &'o VmBootFiles,
    pub accelerator: Accelerator,
    /// MiB.
    pub memory: usize,
    /// This program.
    pub program: &'o Path,
    /// The lab's lock, which qemu holds for its life.
    pub lock: &'o LockFile,
}

/// A virtual machine that was started.
#[derive(Clone, Debug)]
pub(super) struct QemuProcess {
    pub(super) pid: Pid,
    folder: PathBuf,
}

impl QemuProcess {
    /// Starts it, and returns as soon as its ports can be connected to.
    pub(super) fn start(options: &QemuOptions<'_>) -> Result<Self, QemuError> {
        let mut command = Command::new(QEMU);
        // Names without a comma or a length to think of.
        command.current_dir(options.folder).args(qemu_args(options)?);
        // It becomes a process of its own, and says before whether it can.
        command.args(["-daemonize", "-pidfile", PID]);
        let run = || ProgramRun::new(command, START_TIMEOUT).run();
        let ran = with_inheritable(options.lock, run).map_err(QemuError::Run)?;
        ran.and_then(ProgramOutput::succeeded).map_err(|error| match error {
            ProgramError::Missing { .. } => QemuError::NotInstalled,
            ProgramError::Failed(output) => {
                let message = output.stderr_text().trim().replace('\n', "; ");
                QemuError::Failed(if message.is_empty() { output.status.to_string() } else { message })
            }
            error => QemuError::Run(error.into()),
        })?;
        let pid = fs::read_to_string(options.folder.join(PID)).map_err(QemuError::Run)?;
        let pid = pid
            .trim()
            .parse()
            .map_err(|_| QemuError::Failed("it wrote no number of its process".to_owned()))?;
        Ok(Self { pid: Pid::from_raw(pid), folder: options.folder.to_owned() })
    }

    /// Ends it. With it goes everything inside.
    pub(super) fn end(&self) {
        let _ = kill(self.pid, Signal::SIGKILL);
    }

    /// Ends it, and removes the folder of its lab.
    pub(super) fn destroy(&self) {
        self.end();
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// The last that the kernel inside said, to be put behind what is wrong.
    pub(super) fn last_words(folder: &Path) -> String {
        let text = fs::read(folder.join(CONSOLE)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return "; its console says nothing".to_owned();
        }
        format!(
            "; its console says at last:\n{}",
            lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("\n")
        )
    }
}

/// Does something while a file stays open in programs that are started.
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
    // A machine that is busy gives its timer so late that the kernel would find none.
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
