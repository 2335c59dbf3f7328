//! The first process of a machine: makes its file system, says that it is there, starts what runs in it when its cables are
//! plugged in, and takes in what ends.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use ichor_core::lab::scene::{LabMachine, MachineRole};
use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use super::init::{ERROR_PREFIX, own_pid};
use super::record::LabRecord;
use super::registry::LabDir;
use super::{guest, mounts, services};
use crate::disk;

/// Where programs are found in a machine.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The signal that says that the cables are plugged in.
pub(crate) const CABLES_READY: Signal = Signal::SIGUSR1;

/// How the host outside reaches virtual machines with Talos.
pub(crate) const TALOSCONFIG: &str = "/run/lab/talosconfig";

/// Is the first process of machine `nth`.
pub(crate) fn run(place: &LabDir, nth: usize) -> io::Result<()> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    signals.add(CABLES_READY);
    signals.thread_block()?;
    let record = LabRecord::read(place).map_err(io::Error::other)?;
    let machine = &record.scene.machines[nth];
    let pid = own_pid();
    let made = pid.and_then(|pid| {
        if matches!(machine.part, MachineRole::Guest(_)) {
            return Ok(pid);
        }
        let client = fs::read(place.client()).ok();
        // No daemon runs outside: what asks from there is this machine's own.
        let root = record.root.as_deref().filter(|_| !matches!(machine.part, MachineRole::Outside { .. }));
        mounts::make(root, &record.agent)?;
        set_sysctls(machine)?;
        if let (MachineRole::Outside { .. }, Some(client)) = (&machine.part, client) {
            disk::create_private(Path::new(TALOSCONFIG), &client).map_err(io::Error::other)?;
        }
        Ok(pid)
    });
    report(nth, made.as_ref().map(|pid| pid.to_string()))?;
    made?;
    loop {
        match signals.wait()? {
            CABLES_READY => {
                let started = match (&machine.part, &record.guests) {
                    (MachineRole::Guest(_), Some(guests)) => guest::start(place, &record.scene, nth, guests),
                    _ => services::start(machine, &record),
                };
                report(nth, started.map(|()| "runs").as_ref())?;
            }
            _ if reap_children()? && matches!(machine.part, MachineRole::Guest(_)) => {
                report(nth, Err::<&str, _>(&io::Error::other("its virtual machine ended")))?;
            }
            _ => {}
        }
    }
}

/// Tells whoever brings the lab up; later nobody listens.
fn report(nth: usize, done: Result<impl ToString, &io::Error>) -> io::Result<()> {
    let text = match done {
        Ok(text) => text.to_string(),
        Err(error) => format!("{WRONG} {error}"),
    };
    match writeln!(io::stdout(), "{nth} {text}").and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        said => said,
    }
}

/// Turns what a machine needs in its kernel, before there is any link.
fn set_sysctls(machine: &LabMachine) -> io::Result<()> {
    let set = |key: &str, value: &str| match fs::write(format!("/proc/sys/{key}"), value) {
        Err(error) => Err(io::Error::new(error.kind(), format!("/proc/sys/{key}: {error}"))),
        done => done,
    };
    set("kernel/hostname", &machine.name)?;
    for which in ["all", "default"] {
        // Links are cables of this lab: nobody else has their addresses.
        set(&format!("net/ipv6/conf/{which}/accept_dad"), "0")?;
        set(&format!("net/ipv6/conf/{which}/disable_ipv6"), "0")?;
        // Packets may come back another way than they went.
        set(&format!("net/ipv4/conf/{which}/rp_filter"), "0")?;
        if matches!(machine.part, MachineRole::Router { .. }) {
            set(&format!("net/ipv6/conf/{which}/forwarding"), "1")?;
        }
    }
    if matches!(machine.part, MachineRole::Router { .. }) {
        set("net/ipv4/ip_forward", "1")?;
        // Of several ways a connection takes one, by its ports too.
        set("net/ipv4/fib_multipath_hash_policy", "1")?;
        set("net/ipv6/fib_multipath_hash_policy", "1")?;
    }
    Ok(())
}

/// Takes in every process that has ended, and says whether there was one.
fn reap_children() -> io::Result<bool> {
    let mut ended = false;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(ended),
            Ok(_) => ended = true,
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
