//! One change: what a daemon is told.

use super::daemon::FrrDaemon;
use super::line::Line;

/// When a change is made. The order keeps what is used in place and lets nothing through in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
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
    /// What used others and is not meant any more: instances, maps between protocols and the kernel, static routes.
    Release,
    /// Route maps that nothing uses now.
    Retire,
    /// Lists that nothing matches now, BFD profiles, and the rest.
    Forget,
}

/// A line to tell a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// When.
    pub phase: Phase,
    /// The line, with the lines that open the contexts it is told in.
    pub line: Line,
}

impl ConfigChange {
    /// What is sent, one after the other; `enable` was sent before. After one that is refused, only [`ConfigChange::END`] may follow:
    /// FRR would look for the rest in whatever context it is in.
    pub fn commands(&self) -> Vec<String> {
        let mut commands = vec!["configure terminal".to_owned()];
        commands.extend(self.line.path());
        commands.push(Self::END.to_owned());
        commands
    }

    /// The command that leads out of every context.
    pub const END: &str = "end";
}

/// The changes of several daemons in one order: nothing is used before every daemon knows it.
pub fn in_order(
    changes: impl IntoIterator<Item = (FrrDaemon, Vec<ConfigChange>)>,
) -> Vec<(FrrDaemon, ConfigChange)> {
    let of = |(daemon, changes): (FrrDaemon, Vec<ConfigChange>)| {
        changes.into_iter().map(move |change| (daemon, change))
    };
    let mut all: Vec<_> = changes.into_iter().flat_map(of).collect();
    all.sort_by_key(|(_, change)| change.phase);
    all
}
