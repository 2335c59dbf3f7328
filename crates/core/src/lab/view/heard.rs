//! What a machine says of itself.

use ipnet::IpNet;

use crate::probe::ProbeError;
use ichor_bgp::agent::{AgentStatus, Session};
use ichor_values::Issue;

/// What was heard of one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineReport {
    /// What its daemon or its agent says, or why that says nothing.
    pub said: Result<DaemonReport, ProbeError>,
    /// What its speaker says, or why it says nothing; none without a speaker.
    pub speaker: Option<Result<Vec<Session>, ProbeError>>,
    /// The routes that BGP gave its kernel.
    pub routes: Vec<InstalledRoute>,
    /// Bytes that its processes keep for themselves.
    pub memory: u64,
}

/// Who speaks for a machine.
#[derive(Clone, Debug, PartialEq)]
pub enum DaemonReport {
    /// A router's FRR.
    Router(Vec<Session>),
    /// A node's agent.
    Node(Box<AgentStatus>),
    /// Nobody: the machine is there, and that is all.
    Here,
}

impl DaemonReport {
    /// The session with a neighbour of this name: a port, or an address; and what is wrong with it, where somebody judges.
    pub fn session(&self, peer: &str) -> Option<(&Session, Option<&Issue>)> {
        // A neighbour out of a range is known by the address it was found at.
        let is_of = |session: &Session| session.peer == peer || session.address.as_deref() == Some(peer);
        match self {
            Self::Router(sessions) => sessions.iter().find(|session| is_of(session)).map(|it| (it, None)),
            Self::Node(status) => {
                let told = status.sessions.iter().find(|told| is_of(&told.session))?;
                Some((&told.session, told.trouble.as_ref()))
            }
            Self::Here => None,
        }
    }
}

/// A route of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InstalledRoute {
    /// Where to.
    pub prefix: IpNet,
    /// Its table.
    pub table: u32,
    /// By how many ways at once.
    pub paths: usize,
}

impl MachineReport {
    /// Why it is not ready; none when it is.
    pub(super) fn trouble(&self) -> Option<String> {
        let speaker = || Some(self.speaker.as_ref()?.as_ref().err()?.to_string());
        match &self.said {
            Err(error) => Some(error.to_string()),
            Ok(DaemonReport::Node(status)) => {
                status.health().err().map(|error| error.to_string()).or_else(speaker)
            }
            Ok(DaemonReport::Router(_) | DaemonReport::Here) => speaker(),
        }
    }
}
