//! Observes a lab: kernel routes, sessions of daemons, and probe packets.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ichor_core::lab::kernel::{self, IpRouteError};
use ichor_core::lab::outage::EchoSample;
use ichor_core::lab::state::{FabricState, PathCount, Reachability};
use ichor_core::lab::topology::{LabMachine, MachineRole};
use ichor_system::program::ProgramRun;
use ipnet::IpNet;

use super::probe::Probe;
use super::{Lab, PATIENCE, established, switch};

/// Number of machines queried in parallel.
const THREADS: usize = 4;

/// Errors of observing a fabric.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FabricObserveError {
    #[error("cannot query the routes of {machine}")]
    Ask { machine: String, source: io::Error },
    #[error("cannot parse the routes of {machine}")]
    Understand { machine: String, source: IpRouteError },
}

type MachineRoutes = BTreeMap<IpNet, PathCount>;

/// Observes the current state. The state of failed machines is copied from `expected`, and so are a machine's own
/// prefixes, for which its kernel uses no other route. Packets sent since `since` count.
pub(crate) fn observe(
    lab: &Lab,
    probe: &Probe,
    expected: &FabricState,
    since: u64,
) -> Result<FabricState, FabricObserveError> {
    let up = established::established_sessions(lab);
    let mut routes = all_routes(lab, &expected.gone)?;
    for machine in &lab.topology().machines {
        let (Some(want), Some(seen)) = (expected.routes.get(&machine.name), routes.get_mut(&machine.name))
        else {
            continue;
        };
        let has = |net: &IpNet| machine.addresses.iter().any(|(_, own)| IpNet::from(own.addr()) == *net);
        let own = want.iter().filter(|(net, paths)| **paths == PathCount::Own || has(net));
        seen.extend(own.map(|(net, paths)| (*net, *paths)));
    }
    Ok(FabricState {
        gone: expected.gone.clone(),
        routes,
        sessions: (0..lab.topology().sessions.len()).map(|nth| up.contains(&nth)).collect(),
        flows: flow_states(probe, expected.flows.len(), since),
    })
}

/// Reachability of every flow, from the packets sent since `since`.
pub(crate) fn flow_states(probe: &Probe, count: usize, since: u64) -> Vec<Reachability> {
    (0..count).map(|nth| reach(&probe.since(nth, since))).collect()
}

fn reach(samples: &[EchoSample]) -> Reachability {
    match samples.iter().filter(|sample| sample.answered).count() {
        0 => Reachability::None,
        answered if answered == samples.len() => Reachability::All,
        _ => Reachability::Some,
    }
}

/// Routes of all running routers and nodes.
fn all_routes(
    lab: &Lab,
    gone: &BTreeSet<String>,
) -> Result<BTreeMap<String, MachineRoutes>, FabricObserveError> {
    let machines: Vec<(usize, &LabMachine)> = lab
        .topology()
        .machines
        .iter()
        .enumerate()
        .filter(|(_, machine)| {
            !matches!(machine.part, MachineRole::Outside { .. }) && !gone.contains(&machine.name)
        })
        .collect();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| {
                while let Some((nth, machine)) = machines.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let read = machine_routes(machine, lab.record.machine_pids[*nth]);
                    let read = read.map(|routes| (machine.name.clone(), routes));
                    found.lock().unwrap_or_else(PoisonError::into_inner).push(read);
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect()
}

/// Kernel routes installed by the routing daemon of a machine.
fn machine_routes(machine: &LabMachine, pid: i32) -> Result<MachineRoutes, FabricObserveError> {
    let vrf = match &machine.part {
        MachineRole::Router { vrf, .. } => vrf.as_deref(),
        MachineRole::Node { .. } | MachineRole::Guest(_) | MachineRole::Outside { .. } => None,
    };
    let mut routes = MachineRoutes::new();
    for v6 in [false, true] {
        let failed = |source| FabricObserveError::Ask { machine: machine.name.clone(), source };
        let mut command = switch::enter_netns(pid);
        command.args(["ip", if v6 { "-6" } else { "-4" }, "-json", "route", "show"]);
        match vrf {
            Some(vrf) => command.args(["vrf", vrf]),
            None => command.args(["table", "main"]),
        };
        let output = ProgramRun::new(command, PATIENCE).run().map_err(|error| failed(error.into()))?;
        if !output.status.success() {
            let message = output.stderr_text().trim().to_owned();
            return Err(failed(io::Error::other(message)));
        }
        let answers = kernel::parse_routes(&output.stdout_text(), v6);
        routes.extend(
            answers
                .map_err(|source| FabricObserveError::Understand { machine: machine.name.clone(), source })?,
        );
    }
    Ok(routes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reachability_is_all_some_or_none() {
        let of = |answers: &[bool]| {
            let samples: Vec<EchoSample> =
                answers.iter().map(|answered| EchoSample { at: 0, answered: *answered }).collect();
            reach(&samples)
        };

        assert_eq!(
            [of(&[true, true]), of(&[true, false]), of(&[false]), of(&[])],
            [Reachability::All, Reachability::Some, Reachability::None, Reachability::None]
        );
    }
}
