//! The state of a node's routing, as the agent tells it.
//!
//! A [`Status`] has three forms: one line of JSON in the log ([`Status::line`], found again by [`Status::find`]), a table for
//! people ([`Status::table`]) and Prometheus' text ([`Status::metrics`]). [`changes`] are what happened between two of them.
//!
//! Not here: where the values come from, and who is told: `crates/agent`.

mod change;
mod health;
mod metrics;
mod table;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::gate::Position;
use super::{Session, Trouble};
pub use change::{Change, changes};
use ichor_values::Backend;
use ichor_values::Moment;

/// What a status line begins with, whatever a log puts before it.
const MARK: &str = r#"{"ichor":"status","#;

/// The state of a node's routing at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What the agent is about.
    pub stage: Stage,
    /// Why it drains or leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is missing, in plain words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<String>,
    /// Sessions with the fabric and with the speaker.
    #[serde(default)]
    pub sessions: Vec<Told>,
    /// Anycast addresses that depend on a health check; none without a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anycast: Option<Anycast>,
    /// The daemon's processes.
    #[serde(default)]
    pub daemons: Vec<Daemon>,
    /// What came of the last change of the daemon's configuration while it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reload: Option<Reload>,
    /// Routes that another program took out of the kernel, and that were put back.
    #[serde(default)]
    pub restored: u64,
}

/// What the agent is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
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
    pub const ALL: [Self; 4] = [Self::Starting, Self::Running, Self::Draining, Self::Leaving];
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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Told {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// Who is at the other end.
    pub with: With,
    /// What is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
}

/// The other end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Anycast {
    /// Where the gate is.
    pub gate: Position,
    /// What the last bad answer was, unless a good one came after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A process of the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Daemon {
    /// Its name.
    pub name: String,
    /// Its number; none while it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Whether it answers.
    pub answers: bool,
    /// How often it was started again.
    #[serde(default)]
    pub restarts: u32,
    /// Since when it runs, or does not.
    pub since: Moment,
}

/// What came of a change of the daemon's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Reload {
    /// When it was tried.
    pub time: Moment,
    /// Why it was refused; none when it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// When it is tried again, where what is in its way passes; none when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Moment>,
}

/// A status line that is not what an agent writes.
#[derive(Debug, thiserror::Error)]
#[error("not a status of an agent")]
pub struct NotStatus(#[source] serde_json::Error);

impl Status {
    /// The sessions, each once: what two of the same name and domain mean, nobody could tell.
    fn each_once(&self) -> Vec<&Told> {
        let mut seen = BTreeSet::new();
        self.sessions.iter().filter(|told| seen.insert((&told.session.peer, &told.session.domain))).collect()
    }

    /// The status as one line of JSON without a line end; the same status is always the same line.
    pub fn line(&self) -> String {
        let json = serde_json::to_string(self).expect("keys are texts, and no value can fail to be written");
        json.replacen('{', MARK, 1)
    }

    /// The status in a line of a log; none when the line is about something else.
    pub fn find(line: &str) -> Option<Result<Self, NotStatus>> {
        let (_, rest) = line.split_once(MARK)?;
        let json = format!("{{{rest}");
        // What a log puts behind a line is no part of it.
        let first = serde_json::Deserializer::from_str(&json).into_iter().next();
        Some(first.unwrap_or_else(|| serde_json::from_str("")).map_err(NotStatus))
    }
}

#[cfg(test)]
pub(super) mod tests;
