//! Reports of machines.

use ipnet::IpNet;

use crate::probe::ProbeError;
use ichor_bgp::agent::{AgentStatus, Session};
use ichor_values::Issue;

/// The report of one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineReport {
    /// The report of its daemon or agent, or why it is missing.
    pub daemon: Result<DaemonReport, ProbeError>,
    /// The sessions of its speaker, or why they are unknown; none without a speaker.
    pub speaker: Option<Result<Vec<Session>, ProbeError>>,
    /// The routes that BGP installed in its kernel.
    pub routes: Vec<InstalledRoute>,
    /// Private memory of its processes, in bytes.
    pub memory: u64,
}

/// The report of a machine's daemon.
#[derive(Clone, Debug, PartialEq)]
pub enum DaemonReport {
    /// A router's FRR.
    Router(Vec<Session>),
    /// A node's agent.
    Node(Box<AgentStatus>),
    /// The machine exists, but cannot be inspected.
    Opaque,
}

impl DaemonReport {
    /// The session with the neighbour on a port or at an address, and its diagnosis if the reporter makes one.
    pub fn find_session(&self, peer: &str) -> Option<(&Session, Option<&Issue>)> {
        // A neighbour from a listen range is named by its address.
        let is_of = |session: &Session| session.peer == peer || session.address.as_deref() == Some(peer);
        match self {
            Self::Router(sessions) => sessions.iter().find(|session| is_of(session)).map(|it| (it, None)),
            Self::Node(status) => {
                let found = status.sessions.iter().find(|status| is_of(&status.session))?;
                Some((&found.session, found.trouble.as_ref()))
            }
            Self::Opaque => None,
        }
    }
}

/// A route in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InstalledRoute {
    /// The destination.
    pub prefix: IpNet,
    /// Its table.
    pub table: u32,
    /// The number of next hops.
    pub paths: usize,
}

impl MachineReport {
    /// Why the machine is not ready; none if it is.
    pub(super) fn problem(&self) -> Option<String> {
        let speaker = || Some(self.speaker.as_ref()?.as_ref().err()?.to_string());
        match &self.daemon {
            Err(error) => Some(error.to_string()),
            Ok(DaemonReport::Node(status)) => {
                status.health().err().map(|error| error.to_string()).or_else(speaker)
            }
            Ok(DaemonReport::Router(_) | DaemonReport::Opaque) => speaker(),
        }
    }
}
