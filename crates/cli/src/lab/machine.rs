//! Init process of a machine: creates its file system, reports readiness, starts the services once the cables are
//! connected, and reaps processes.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use ichor_core::lab::topology::{LabMachine, MachineRole};
use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use super::init::{ERROR_PREFIX, own_pid};
use super::record::LabRecord;
use super::registry::LabDir;
use super::{guest, mounts, services};
use crate::disk;

/// Search path in a machine.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Signal that all cables are connected.
pub(crate) const CABLES_READY: Signal = Signal::SIGUSR1;

/// The talosconfig of the outside host, for VMs.
pub(crate) const TALOSCONFIG: &str = "/run/lab/talosconfig";

/// Runs the init process of machine `nth`.
pub(crate) fn run(dir: &LabDir, nth: usize) -> io::Result<()> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    signals.add(CABLES_READY);
    signals.thread_block()?;
    let record = LabRecord::read(dir).map_err(io::Error::other)?;
    let machine = &record.topology.machines[nth];
    let pid = own_pid();
    let made = pid.and_then(|pid| {
        if matches!(machine.part, MachineRole::Guest(_)) {
            return Ok(pid);
        }
        let client = fs::read(dir.client()).ok();
        // The outside host runs no daemons; its clients are programs of this machine.
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
                    (MachineRole::Guest(_), Some(guests)) => guest::start(dir, &record.topology, nth, guests),
                    _ => services::start(machine, &record),
                };
                report(nth, started.map(|()| "runs").as_ref())?;
            }
            _ if reap_children()? && matches!(machine.part, MachineRole::Guest(_)) => {
                report(nth, Err::<&str, _>(&io::Error::other("the virtual machine exited")))?;
            }
            _ => {}
        }
    }
}

/// Reports to `ichor lab up`; later messages have no reader.
fn report(nth: usize, result: Result<impl ToString, &io::Error>) -> io::Result<()> {
    let text = match result {
        Ok(text) => text.to_string(),
        Err(error) => format!("{ERROR_PREFIX} {error}"),
    };
    match writeln!(io::stdout(), "{nth} {text}").and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Sets the sysctls of a machine before links exist.
fn set_sysctls(machine: &LabMachine) -> io::Result<()> {
    let set = |key: &str, value: &str| match fs::write(format!("/proc/sys/{key}"), value) {
        Err(error) => Err(io::Error::new(error.kind(), format!("/proc/sys/{key}: {error}"))),
        result => result,
    };
    set("kernel/hostname", &machine.name)?;
    for which in ["all", "default"] {
        // Addresses on cables are unique, so duplicate detection would only delay them.
        set(&format!("net/ipv6/conf/{which}/accept_dad"), "0")?;
        set(&format!("net/ipv6/conf/{which}/disable_ipv6"), "0")?;
        // Routing may be asymmetric.
        set(&format!("net/ipv4/conf/{which}/rp_filter"), "0")?;
        if matches!(machine.part, MachineRole::Router { .. }) {
            set(&format!("net/ipv6/conf/{which}/forwarding"), "1")?;
        }
    }
    if matches!(machine.part, MachineRole::Router { .. }) {
        set("net/ipv4/ip_forward", "1")?;
        // Multipath routes hash on ports.
        set("net/ipv4/fib_multipath_hash_policy", "1")?;
        set("net/ipv6/fib_multipath_hash_policy", "1")?;
    }
    Ok(())
}

/// Reaps exited processes; returns whether there were any.
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
