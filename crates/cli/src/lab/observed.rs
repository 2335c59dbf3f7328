//! What is to be seen of a lab: the kernels' routes, the daemons' sessions, and packets.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ichor_core::lab::kernel::{self, RouteError};
use ichor_core::lab::outage::Sample;
use ichor_core::lab::scene::{Machine, Part};
use ichor_core::lab::state::{Paths, Reach, State};
use ichor_system::program::ProgramRun;
use ipnet::IpNet;

use super::probe::Probe;
use super::{Lab, PATIENCE, hub, seen};

/// So many machines are asked at once.
const HANDS: usize = 4;

/// What could not be seen.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObserveError {
    #[error("cannot ask {machine} for its routes")]
    Ask { machine: String, source: io::Error },
    #[error("cannot understand {machine}")]
    Understand { machine: String, source: RouteError },
}

type Routes = BTreeMap<IpNet, Paths>;

/// Everything there is to see now. Who is taken away cannot be seen, and is taken from `expected`; so is what a machine has
/// itself, to which its kernel takes no other way. Packets count that were sent since a moment.
pub(crate) fn look(lab: &Lab, probe: &Probe, expected: &State, since: u64) -> Result<State, ObserveError> {
    let up = seen::established(lab);
    let mut routes = routes(lab, &expected.gone)?;
    for machine in &lab.scene().machines {
        let (Some(meant), Some(seen)) = (expected.routes.get(&machine.name), routes.get_mut(&machine.name))
        else {
            continue;
        };
        let has = |net: &IpNet| machine.addresses.iter().any(|(_, own)| IpNet::from(own.addr()) == *net);
        let own = meant.iter().filter(|(net, paths)| **paths == Paths::Own || has(net));
        seen.extend(own.map(|(net, paths)| (*net, *paths)));
    }
    Ok(State {
        gone: expected.gone.clone(),
        routes,
        sessions: (0..lab.scene().sessions.len()).map(|nth| up.contains(&nth)).collect(),
        flows: flows(probe, expected.flows.len(), since),
    })
}

/// Of every flow whether packets that were sent since a moment came back.
pub(crate) fn flows(probe: &Probe, count: usize, since: u64) -> Vec<Reach> {
    (0..count).map(|nth| reach(&probe.since(nth, since))).collect()
}

fn reach(samples: &[Sample]) -> Reach {
    match samples.iter().filter(|sample| sample.answered).count() {
        0 => Reach::None,
        answered if answered == samples.len() => Reach::All,
        _ => Reach::Some,
    }
}

/// The routes of every router and node that is there.
fn routes(lab: &Lab, gone: &BTreeSet<String>) -> Result<BTreeMap<String, Routes>, ObserveError> {
    let machines: Vec<(usize, &Machine)> = lab
        .scene()
        .machines
        .iter()
        .enumerate()
        .filter(|(_, machine)| !matches!(machine.part, Part::Outside { .. }) && !gone.contains(&machine.name))
        .collect();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    thread::scope(|threads| {
        for _ in 0..HANDS {
            threads.spawn(|| {
                while let Some((nth, machine)) = machines.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let read = of_machine(machine, lab.record.machines[*nth]);
                    let read = read.map(|routes| (machine.name.clone(), routes));
                    found.lock().unwrap_or_else(PoisonError::into_inner).push(read);
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect()
}

/// What the routing daemon of a machine has put into the kernel.
fn of_machine(machine: &Machine, pid: i32) -> Result<Routes, ObserveError> {
    let vrf = match &machine.part {
        Part::Router { vrf, .. } => vrf.as_deref(),
        Part::Node { .. } | Part::Guest(_) | Part::Outside { .. } => None,
    };
    let mut routes = Routes::new();
    for v6 in [false, true] {
        let ask = |source| ObserveError::Ask { machine: machine.name.clone(), source };
        let mut command = hub::enter(pid);
        command.args(["ip", if v6 { "-6" } else { "-4" }, "-json", "route", "show"]);
        match vrf {
            Some(vrf) => command.args(["vrf", vrf]),
            None => command.args(["table", "main"]),
        };
        let output = ProgramRun::new(command, PATIENCE).run().map_err(|error| ask(error.into()))?;
        if !output.status.success() {
            let said = output.stderr_text().trim().to_owned();
            return Err(ask(io::Error::other(said)));
        }
        let told = kernel::routes(&output.stdout_text(), v6);
        routes.extend(
            told.map_err(|source| ObserveError::Understand { machine: machine.name.clone(), source })?,
        );
    }
    Ok(routes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_back_all_or_some_or_none() {
        let of = |told: &[bool]| {
            let samples: Vec<Sample> =
                told.iter().map(|answered| Sample { at: 0, answered: *answered }).collect();
            reach(&samples)
        };

        assert_eq!(
            [of(&[true, true]), of(&[true, false]), of(&[false]), of(&[])],
            [Reach::All, Reach::Some, Reach::None, Reach::None]
        );
    }
}
