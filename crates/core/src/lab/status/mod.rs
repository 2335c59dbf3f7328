//! The status of a running lab: every session from both ends, every machine, and the routers' number of paths to each prefix.
//!
//! [`LabStatus::new`] combines a [`LabTopology`] with a [`MachineReport`] per machine. It is printed as [`StatusTables`] or
//! JSON; [`changes`] are the differences between two of them.
//!
//! Not here: querying machines, which is in `crates/cli`.

mod cables;
mod change;
mod machine_report;
mod paths;
mod sessions;
pub mod speaker;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use ipnet::IpNet;
use serde::{Serialize, Serializer};

use super::topology::{LabMachine, LabTopology, MachineRole};
pub use cables::{CableState, CutCable};
pub use change::{ChangeTone, StatusChange, changes};
use ichor_bgp::agent::session::SessionState;
use ichor_values::Moment;
pub use machine_report::{DaemonReport, InstalledRoute, MachineReport};
pub use tables::StatusTables;

/// The status of a lab at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabStatus {
    /// The lab's name.
    pub lab: String,
    /// The time of the status.
    pub time: Moment,
    /// Whether all expected sessions are up and all machines ready.
    pub ok: bool,
    /// Every session, in the order of the topology.
    pub sessions: Vec<LabSessionStatus>,
    /// Every machine, in the order of the topology.
    pub machines: Vec<LabMachineStatus>,
    /// Prefixes that routers have routes to, or should have.
    pub prefixes: Vec<PrefixStatus>,
    /// Cut cables.
    #[serde(rename = "failed_links")]
    pub cut: Vec<CutCable>,
}

/// A session, from both ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabSessionStatus {
    /// The local end: a node, or the first of two routers.
    #[serde(rename = "local")]
    pub one: SessionEndStatus,
    /// The remote end.
    #[serde(rename = "remote")]
    pub other: SessionEndStatus,
    /// Whether it is established and, if configured, BFD is up.
    pub up: bool,
    /// Why it is expected to be down.
    #[serde(rename = "expected_down", skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The status of a session at one end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SessionEndStatus {
    /// Name of the machine; of a speaker, `cp1:metallb`.
    #[serde(rename = "machine")]
    pub name: String,
    /// The neighbour's name in its daemon.
    pub peer: String,
    /// The state; none if unknown.
    #[serde(serialize_with = "lower_case")]
    pub state: Option<SessionState>,
    /// Seconds since it was established.
    #[serde(rename = "uptime_seconds", skip_serializing_if = "Option::is_none")]
    pub uptime: Option<u64>,
    /// Prefixes received.
    #[serde(rename = "prefixes_received", skip_serializing_if = "Option::is_none")]
    pub received: Option<u32>,
    /// Prefixes sent; unknown for a speaker.
    #[serde(rename = "prefixes_sent", skip_serializing_if = "Option::is_none")]
    pub sent: Option<u32>,
    /// Whether BFD is up; none without BFD.
    #[serde(rename = "bfd_up", skip_serializing_if = "Option::is_none")]
    pub bfd: Option<bool>,
    /// The problem.
    #[serde(rename = "problem", skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The remedy.
    #[serde(rename = "help", skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    clippy::ref_option,
    reason = "serde gives a reference to the field"
)]
fn lower_case<S: Serializer>(state: &Option<SessionState>, to: S) -> Result<S::Ok, S::Error> {
    state.map(|state| state.to_string().to_lowercase()).serialize(to)
}

/// The status of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabMachineStatus {
    /// Its name.
    #[serde(rename = "machine")]
    pub name: String,
    /// Its role.
    #[serde(rename = "role")]
    pub part: &'static str,
    /// Why it is not ready; none if it is.
    #[serde(rename = "problem", skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The number of IPv4 routes that BGP installed in its kernel.
    #[serde(rename = "ipv4_route_count")]
    pub ipv4: usize,
    /// The number of IPv6 routes.
    #[serde(rename = "ipv6_route_count")]
    pub ipv6: usize,
    /// Private memory of its processes, in bytes.
    #[serde(rename = "memory_bytes")]
    pub memory: u64,
}

/// A prefix in the fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrefixStatus {
    /// The prefix.
    pub prefix: IpNet,
    /// The machines that have it.
    #[serde(rename = "origins")]
    pub of: Vec<String>,
    /// The number of paths by router, for routers that have a route.
    #[serde(rename = "path_counts")]
    pub paths: BTreeMap<String, usize>,
}

impl LabStatus {
    /// Combines the reports of the topology's machines, in their order.
    pub fn new(
        lab: &str,
        topology: &LabTopology,
        reports: &[MachineReport],
        cut: Vec<CutCable>,
        time: Moment,
    ) -> Self {
        let sessions = sessions::session_statuses(topology, reports);
        let machines: Vec<_> =
            topology.machines.iter().zip(reports).map(|(it, report)| machine_status(it, report)).collect();
        let ok = sessions.iter().all(|it| it.up || it.fault.is_some())
            && machines.iter().all(|it| it.trouble.is_none());
        let prefixes = paths::prefix_statuses(topology, reports);
        Self { lab: lab.to_owned(), time, ok, sessions, machines, prefixes, cut }
    }

    /// The number of expected sessions that are up, and of all expected sessions.
    pub fn session_counts(&self) -> (usize, usize) {
        let expected = self.sessions.iter().filter(|it| it.fault.is_none());
        (expected.clone().filter(|it| it.up).count(), expected.count())
    }

    /// Formats the status as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("all keys are strings, and every value can be serialized")
    }
}

fn machine_status(machine: &LabMachine, report: &MachineReport) -> LabMachineStatus {
    let route_count =
        |v4: bool| report.routes.iter().filter(|it| matches!(it.prefix, IpNet::V4(_)) == v4).count();
    LabMachineStatus {
        name: machine.name.clone(),
        part: match machine.part {
            MachineRole::Router { .. } => "router",
            MachineRole::Node { .. } => "node",
            MachineRole::Guest(_) => "guest",
            MachineRole::Outside { .. } => "outside",
        },
        trouble: report.problem(),
        ipv4: route_count(true),
        ipv6: route_count(false),
        memory: report.memory,
    }
}
