//! One change: what a daemon is told.

use super::daemon::Daemon;
use super::line::Line;

/// When a change is made. The order keeps what is used in place and lets nothing through in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Instances go that have to come back with another AS number.
    Clear,
    /// Ports, BFD profiles, lists. A list that is used is never empty, and what it refuses comes before what it permits.
    Define,
    /// Route maps, entry by entry. A new one that permits refuses until it knows what it matches.
    Policy,
    /// Instances of BGP: what is told to neighbours first, those that go last. A family is activated after its filters are there.
    Instance,
    /// What needs all of these: imports between instances, the maps between protocols and the kernel, static routes.
    Use,
    /// What is not meant any more and nothing uses now.
    Forget,
}

/// A line to tell a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub stage: Stage,
    /// The line, with the lines that open the contexts it is told in.
    pub line: Line,
}

impl Change {
    /// What is sent, from `configure terminal` on and back to there.
    pub fn commands(&self) -> Vec<String> {
        let depth = self.line.above.len() + usize::from(self.line.opens().is_some());
        let mut commands = self.line.path();
        commands.extend(std::iter::repeat_n("exit".to_owned(), depth));
        commands
    }
}

/// The changes of several daemons in one order: nothing is used before every daemon knows it.
pub fn in_order(changes: impl IntoIterator<Item = (Daemon, Vec<Change>)>) -> Vec<(Daemon, Change)> {
    let of =
        |(daemon, changes): (Daemon, Vec<Change>)| changes.into_iter().map(move |change| (daemon, change));
    let mut all: Vec<_> = changes.into_iter().flat_map(of).collect();
    all.sort_by_key(|(_, change)| change.stage);
    all
}
