//! What is seen of a lab that runs: every session from both ends, every machine, and by how many paths routers reach what.
//!
//! [`LabStatus::of`] puts together a [`LabTopology`] and what was [`MachineReport`] of each machine. It is told as [`StatusTables`] and as JSON;
//! [`changes`] are what happened between two of them.
//!
//! Not here: asking machines, which is `crates/cli`.

mod change;
mod cut;
mod heard;
mod paths;
mod sides;
pub mod speaker;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use ipnet::IpNet;
use serde::{Serialize, Serializer};

use super::scene::{LabMachine, LabTopology, MachineRole};
pub use change::{ChangeTone, StatusChange, changes};
pub use cut::{CableState, CutCable};
pub use heard::{DaemonReport, InstalledRoute, MachineReport};
use ichor_bgp::agent::session::SessionState;
use ichor_values::Moment;
pub use tables::StatusTables;

/// What is seen of a lab at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabStatus {
    /// The lab's name.
    pub lab: String,
    /// When it was so.
    pub time: Moment,
    /// Whether all that shall stand stands.
    #[serde(rename = "ok")]
    pub stands: bool,
    /// Every session, in the order of the scene.
    pub sessions: Vec<LabSessionStatus>,
    /// Every machine, in the order of the scene.
    pub machines: Vec<LabMachineStatus>,
    /// What routers have routes to, and what they should.
    pub prefixes: Vec<PrefixStatus>,
    /// Cables that do not carry.
    #[serde(rename = "failed_links")]
    pub cut: Vec<CutCable>,
}

/// A session, from both ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabSessionStatus {
    /// One end: a node, or the first of two routers.
    #[serde(rename = "local")]
    pub one: SessionEndStatus,
    /// The other.
    #[serde(rename = "remote")]
    pub other: SessionEndStatus,
    /// Whether it stands, and BFD with it.
    #[serde(rename = "up")]
    pub stands: bool,
    /// Why it shall not stand.
    #[serde(rename = "expected_down", skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// What one end says of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SessionEndStatus {
    /// Name of the machine; of a speaker, `cp1:metallb`.
    #[serde(rename = "machine")]
    pub name: String,
    /// What its daemon calls the other end.
    pub peer: String,
    /// How far it is; none where nobody tells.
    #[serde(serialize_with = "lower_case")]
    pub state: Option<SessionState>,
    /// Seconds since it was established.
    #[serde(rename = "uptime_seconds", skip_serializing_if = "Option::is_none")]
    pub uptime: Option<u64>,
    /// Prefixes that came in.
    #[serde(rename = "prefixes_received", skip_serializing_if = "Option::is_none")]
    pub received: Option<u32>,
    /// Prefixes that went out; a speaker does not tell.
    #[serde(rename = "prefixes_sent", skip_serializing_if = "Option::is_none")]
    pub sent: Option<u32>,
    /// Whether BFD says the path works; none without BFD.
    #[serde(rename = "bfd_up", skip_serializing_if = "Option::is_none")]
    pub bfd: Option<bool>,
    /// What is wrong.
    #[serde(rename = "problem", skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// What helps.
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

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabMachineStatus {
    /// Its name.
    #[serde(rename = "machine")]
    pub name: String,
    /// What it is.
    #[serde(rename = "role")]
    pub part: &'static str,
    /// Why it is not ready; none when it is.
    #[serde(rename = "problem", skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// How many IPv4 routes BGP gave its kernel.
    #[serde(rename = "ipv4_routes")]
    pub ipv4: usize,
    /// How many IPv6 routes.
    #[serde(rename = "ipv6_routes")]
    pub ipv6: usize,
    /// Bytes that its processes keep for themselves.
    #[serde(rename = "memory_bytes")]
    pub memory: u64,
}

/// Something routers have routes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrefixStatus {
    /// Where to.
    pub prefix: IpNet,
    /// The machines that have it.
    #[serde(rename = "origins")]
    pub of: Vec<String>,
    /// By how many paths each router reaches it; none for one that does not.
    pub paths: BTreeMap<String, usize>,
}

impl LabStatus {
    /// Puts together what was heard of the scene's machines, each in its place.
    pub fn of(
        lab: &str,
        scene: &LabTopology,
        heard: &[MachineReport],
        cut: Vec<CutCable>,
        time: Moment,
    ) -> Self {
        let sessions = sides::sessions(scene, heard);
        let machines: Vec<_> =
            scene.machines.iter().zip(heard).map(|(it, heard)| machine(it, heard)).collect();
        let stands = sessions.iter().all(|it| it.stands || it.fault.is_some())
            && machines.iter().all(|it| it.trouble.is_none());
        let prefixes = paths::prefixes(scene, heard);
        Self { lab: lab.to_owned(), time, stands, sessions, machines, prefixes, cut }
    }

    /// How many of the sessions that shall stand do, and how many they are.
    pub fn standing(&self) -> (usize, usize) {
        let meant = self.sessions.iter().filter(|it| it.fault.is_none());
        (meant.clone().filter(|it| it.stands).count(), meant.count())
    }

    /// The view as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("keys are texts, and no value can fail to be written")
    }
}

fn machine(machine: &LabMachine, heard: &MachineReport) -> LabMachineStatus {
    let of = |v4: bool| heard.routes.iter().filter(|it| matches!(it.prefix, IpNet::V4(_)) == v4).count();
    LabMachineStatus {
        name: machine.name.clone(),
        part: match machine.part {
            MachineRole::Router { .. } => "router",
            MachineRole::Node { .. } => "node",
            MachineRole::Guest(_) => "guest",
            MachineRole::Outside { .. } => "outside",
        },
        trouble: heard.trouble(),
        ipv4: of(true),
        ipv6: of(false),
        memory: heard.memory,
    }
}
