//! Init processes of a lab: one for the lab's PID namespace, and one per machine.
//!
//! Each is started in two steps: a process creates the namespaces, starts the init process in them and exits. The init
//! process of the lab holds the lock as its stdin, and a socket to `ichor lab up` as its stdout. Until it receives
//! [`KEEP_ALIVE`], the lab ends when that socket is closed.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use ichor_core::lab::topology::MachineRole;
use ichor_system::lock::LockFile;
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::waitpid;
use nix::unistd::setsid;

use super::record::LabRecord;
use super::registry::LabDir;

/// Message that keeps the lab running without `ichor lab up`.
pub(crate) const KEEP_ALIVE: u8 = b'+';

/// Prefix of error lines.
pub(crate) const ERROR_PREFIX: &str = "!";

/// Creates the namespaces of a lab or of one of its machines, and starts their init process.
pub(crate) fn spawn(dir: &Path, machine: Option<usize>) -> io::Result<()> {
    let mut flags = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS;
    match machine {
        Some(_) => flags |= CloneFlags::CLONE_NEWUTS,
        None => drop(setsid()?),
    }
    if !machine.map_or(Ok(false), |nth| is_guest(dir, nth))? {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags)?;
    let mut command = own_executable();
    command.args(["lab", "hold", "--first"]).arg(dir);
    command.args(machine.map(|nth| format!("--machine={nth}")));
    command.spawn()?;
    Ok(())
}

/// Whether a machine is a VM, whose ports are in the switch namespace.
fn is_guest(dir: &Path, nth: usize) -> io::Result<bool> {
    let record = LabRecord::read(&LabDir::from_path(dir.to_owned())).map_err(io::Error::other)?;
    Ok(matches!(record.topology.machines[nth].part, MachineRole::Guest(_)))
}

/// This program, even if its path no longer exists.
pub(crate) fn own_executable() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("ichor");
    command
}

/// PID of this process outside of the namespace: `/proc` is still that of the parent.
pub(crate) fn own_pid() -> io::Result<i32> {
    let link = fs::read_link("/proc/self")?;
    let number = link.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| io::Error::other("/proc/self is not a PID"))
}

/// Runs the init process of a lab until it is killed.
pub(crate) fn run_lab(dir: &LabDir) -> io::Result<()> {
    let mut lock = LockFile::from_inherited(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    let mut line = UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
    let pid = own_pid()?;
    // The switch must be silent on the cables: GoBGP takes the only IPv6 neighbour it discovers as its peer.
    for which in ["all", "default"] {
        fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1")?;
    }
    lock.write_holder(pid)?;
    writeln!(line, "switch {pid}")?;
    let machines = LabRecord::read(dir).map_err(io::Error::other)?.topology.machines;
    for (nth, machine) in machines.iter().enumerate() {
        // The console of a VM writes to it as well.
        let log = File::options().create(true).append(true).open(dir.log(&machine.name))?;
        let mut command = own_executable();
        command.args(["lab", "hold"]).arg(dir.path()).arg(format!("--machine={nth}"));
        command.stdin(Stdio::null()).stderr(log).spawn()?;
    }
    let dir = dir.clone();
    thread::spawn(move || {
        let mut message = [0];
        if !matches!(line.read(&mut message), Ok(1)) || message[0] != KEEP_ALIVE {
            let _ = dir.remove();
            std::process::exit(1);
        }
    });
    reap_all()
}

/// Reaps child processes until none is left.
fn reap_all() -> io::Result<()> {
    loop {
        match waitpid(None, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
