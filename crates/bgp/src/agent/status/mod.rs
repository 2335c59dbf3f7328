//! The state of a node's routing, as the agent tells it.
//!
//! A [`Status`] has three forms: one line of JSON in the log ([`Status::line`], found again by [`Status::find`]), a table for
//! people ([`Status::table`]) and Prometheus' text ([`Status::metrics`]). [`changes`] are what happened between two of them.
//!
//! Not here: where the values come from, and who is told: `crates/agent`.

mod change;
mod format;
mod health;
mod metrics;
mod table;

use std::collections::BTreeSet;
use std::fmt;

use super::Session;
use super::gate::Position;
pub use change::{Change, changes};
pub use format::{StatusError, VERSION};
use ichor_values::{Backend, Issue, Moment};

/// The state of a node's routing at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// When it was so.
    pub time: Moment,
    /// The node.
    pub node: String,
    /// The agent's release.
    pub agent: String,
    /// Who speaks BGP.
    pub backend: Backend,
    /// The daemon's release, once it said so.
    pub version: Option<String>,
    /// What the agent is about.
    pub stage: Stage,
    /// Why it drains or leaves.
    pub reason: Option<String>,
    /// What is missing, in plain words.
    pub waiting: Vec<String>,
    /// Sessions with the fabric and with the speaker.
    pub sessions: Vec<Told>,
    /// Anycast addresses that depend on a health check; none without a check.
    pub anycast: Option<Anycast>,
    /// The daemon's processes.
    pub daemons: Vec<Daemon>,
    /// What came of the last change of the daemon's configuration while it ran.
    pub reload: Option<Reload>,
    /// Routes that another program took out of the kernel, and that were put back.
    pub restored: u64,
}

/// What the agent is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Bringing links and daemons up.
    Starting,
    /// Routing.
    Running,
    /// Routing, and announcing nothing.
    Draining,
    /// The node reboots, shuts down, is reset or upgraded: everything is withdrawn.
    Leaving,
}

impl Stage {
    /// Every stage.
    pub(crate) const ALL: [Self; 4] = [Self::Starting, Self::Running, Self::Draining, Self::Leaving];
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Draining => "draining",
            Self::Leaving => "leaving",
        })
    }
}

/// A session, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The session.
    pub session: Session,
    /// Who is at the other end.
    pub with: With,
    /// What is wrong.
    pub trouble: Option<Issue>,
}

/// The other end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// A router of the fabric.
    Fabric,
    /// The speaker on the node.
    Speaker,
}

impl fmt::Display for With {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fabric => "fabric",
            Self::Speaker => "speaker",
        })
    }
}

/// Whether anycast addresses are announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anycast {
    /// Where the gate is.
    pub gate: Position,
    /// What the last bad answer was, unless a good one came after it.
    pub reason: Option<String>,
}

/// A process of the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Daemon {
    /// Its name.
    pub name: String,
    /// Its number; none while it does not run.
    pub pid: Option<u32>,
    /// Whether it answers.
    pub answers: bool,
    /// How often it was started again.
    pub restarts: u32,
    /// Since when it runs, or does not.
    pub since: Moment,
}

/// What came of a change of the daemon's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reload {
    /// When it was tried.
    pub time: Moment,
    /// Why it was refused; none when it was taken.
    pub refused: Option<String>,
    /// When it is tried again, where what is in its way passes; none when it is not.
    pub again: Option<Moment>,
}

impl Status {
    /// The sessions, each once: what two of the same name and domain mean, nobody could tell.
    fn each_once(&self) -> Vec<&Told> {
        let mut seen = BTreeSet::new();
        self.sessions.iter().filter(|told| seen.insert((&told.session.peer, &told.session.domain))).collect()
    }
}

#[cfg(test)]
pub(super) mod tests;
