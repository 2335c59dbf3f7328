//! The status of a node's routing, as the agent reports it.
//!
//! A [`AgentStatus`] has three forms: a line of JSON in the log ([`AgentStatus::line`], read back by [`AgentStatus::find`]), a table for
//! operators ([`AgentStatus::table`]) and Prometheus metrics ([`AgentStatus::metrics`]). [`changes`] lists the events between two statuses.
//!
//! Not here: collecting and publishing the status, which `crates/agent` does.

mod change;
mod format;
mod health;
mod metrics;
mod table;

use std::collections::BTreeSet;
use std::fmt;

use super::Session;
use super::health_gate::GateState;
pub use change::{StatusChange, changes};
pub use format::{StatusError, VERSION};
use ichor_values::{Backend, Issue, Moment};

/// The status of a node's routing at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentStatus {
    /// The time of the status.
    pub time: Moment,
    /// The node's name.
    pub node: String,
    /// The agent's release.
    pub agent: String,
    /// The routing daemon.
    pub backend: Backend,
    /// The daemon's release, once it is known.
    pub version: Option<String>,
    /// The stage of the agent.
    pub stage: AgentStage,
    /// Why the node drains or leaves.
    pub reason: Option<String>,
    /// Missing and failing parts, one message each.
    pub waiting: Vec<String>,
    /// Sessions with the fabric and with the load balancer.
    pub sessions: Vec<SessionStatus>,
    /// Anycast addresses that depend on a health check; none without a check.
    pub anycast: Option<AnycastStatus>,
    /// The daemon's processes.
    pub daemons: Vec<DaemonStatus>,
    /// The result of the last reload of the daemon's configuration.
    pub reload: Option<ReloadStatus>,
    /// Routes that another program removed from the kernel, and that the agent restored.
    pub restored: u64,
}

/// The stage of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentStage {
    /// Setting up links and starting daemons.
    Starting,
    /// Routing.
    Running,
    /// Routing without announcing anything.
    Draining,
    /// The node reboots, shuts down, is reset or upgraded: everything is withdrawn.
    Leaving,
}

impl AgentStage {
    /// Every stage.
    pub(crate) const ALL: [Self; 4] = [Self::Starting, Self::Running, Self::Draining, Self::Leaving];
}

impl fmt::Display for AgentStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Draining => "draining",
            Self::Leaving => "leaving",
        })
    }
}

/// A session and its problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// The session.
    pub session: Session,
    /// The role of the peer.
    pub with: PeerRole,
    /// The problem; none if the session works.
    pub trouble: Option<Issue>,
}

/// The role of a session's peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerRole {
    /// A router of the fabric.
    Fabric,
    /// The load balancer on the node.
    Speaker,
}

impl fmt::Display for PeerRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fabric => "fabric",
            Self::Speaker => "speaker",
        })
    }
}

/// Whether anycast addresses are announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnycastStatus {
    /// Whether they are announced.
    pub gate: GateState,
    /// The last failure of the health check, unless a success followed.
    pub reason: Option<String>,
}

/// A process of the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonStatus {
    /// Its name.
    pub name: String,
    /// Its process id; none while it does not run.
    pub pid: Option<u32>,
    /// Whether it responds.
    pub answers: bool,
    /// The number of restarts.
    pub restarts: u32,
    /// When it started or ended.
    pub since: Moment,
}

/// The result of a reload of the daemon's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReloadStatus {
    /// The time of the reload.
    pub time: Moment,
    /// Why the daemon rejected it; none if it was accepted.
    pub refused: Option<String>,
    /// The time of the next attempt after a transient failure; none if there is no other attempt.
    pub again: Option<Moment>,
}

impl AgentStatus {
    /// The sessions without duplicates of the same peer and domain, which could not be distinguished.
    fn unique_sessions(&self) -> Vec<&SessionStatus> {
        let mut seen = BTreeSet::new();
        self.sessions
            .iter()
            .filter(|status| seen.insert((&status.session.peer, &status.session.domain)))
            .collect()
    }
}

#[cfg(test)]
pub(super) mod tests;
