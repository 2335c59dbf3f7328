//! The processes that hold a lab: the first of its PID namespace, and the first of each machine's.
//!
//! Each comes in two steps. The first process makes namespaces and starts the second in them, which is then their first, and
//! ends. The holder of a lab has the lock as its stdin, and as its stdout a line to whoever brings the lab up: until that has
//! said that the lab shall stay, its end is the lab's end.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use ichor_core::lab::scene::MachineRole;
use ichor_system::lock::LockFile;
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::waitpid;
use nix::unistd::setsid;

use super::record::LabRecord;
use super::registry::LabDir;

/// What whoever brings a lab up says when it shall stay.
pub(crate) const KEEP_ALIVE: u8 = b'+';

/// What begins a line that says what went wrong.
pub(crate) const ERROR_PREFIX: &str = "!";

/// Makes the namespaces of a lab, or of one of its machines, and starts their first process.
pub(crate) fn spawn(place: &Path, machine: Option<usize>) -> io::Result<()> {
    let mut flags = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS;
    match machine {
        Some(_) => flags |= CloneFlags::CLONE_NEWUTS,
        None => drop(setsid()?),
    }
    if !machine.map_or(Ok(false), |nth| is_guest(place, nth))? {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags)?;
    let mut command = own_executable();
    command.args(["lab", "hold", "--first"]).arg(place);
    command.args(machine.map(|nth| format!("--machine={nth}")));
    command.spawn()?;
    Ok(())
}

/// Whether a machine is a virtual one: its ports are in the network of the hub.
fn is_guest(place: &Path, nth: usize) -> io::Result<bool> {
    let record = LabRecord::read(&LabDir::from_path(place.to_owned())).map_err(io::Error::other)?;
    Ok(matches!(record.scene.machines[nth].part, MachineRole::Guest(_)))
}

/// This program, also where its path leads nowhere.
pub(crate) fn own_executable() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("ichor");
    command
}

/// The process's number as this machine counts: `/proc` is still that of whoever started the lab.
pub(crate) fn own_pid() -> io::Result<i32> {
    let link = fs::read_link("/proc/self")?;
    let number = link.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| io::Error::other("/proc/self is no number"))
}

/// Holds a lab until it is killed.
pub(crate) fn run_lab(place: &LabDir) -> io::Result<()> {
    let mut lock = LockFile::inherited(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    let mut line = UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
    let pid = own_pid()?;
    // What is in the hub says nothing on the cables: GoBGP takes the only one it hears for its neighbour.
    for which in ["all", "default"] {
        fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1")?;
    }
    lock.write_holder(pid)?;
    writeln!(line, "hub {pid}")?;
    let machines = LabRecord::read(place).map_err(io::Error::other)?.scene.machines;
    for (nth, machine) in machines.iter().enumerate() {
        // A virtual machine's console writes to it too.
        let log = File::options().create(true).append(true).open(place.log(&machine.name))?;
        let mut command = own_executable();
        command.args(["lab", "hold"]).arg(place.path()).arg(format!("--machine={nth}"));
        command.stdin(Stdio::null()).stderr(log).spawn()?;
    }
    let place = place.clone();
    thread::spawn(move || {
        let mut said = [0];
        if !matches!(line.read(&mut said), Ok(1)) || said[0] != KEEP_ALIVE {
            let _ = place.remove();
            std::process::exit(1);
        }
    });
    reap_all()
}

/// Takes in every process that ends, until there is none.
fn reap_all() -> io::Result<()> {
    loop {
        match waitpid(None, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
