//! One change of a daemon's configuration.

use super::daemon::FrrDaemon;
use super::line::Line;

/// The phase of a change. The order keeps every object until it is unused, and permits nothing extra in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Removal of instances that must be recreated with another AS number.
    Clear,
    /// Ports, BFD profiles, lists. A list in use is never empty, and its denials come before its permits.
    Define,
    /// Route maps, entry by entry. A new entry that permits denies until its matches are set.
    Policy,
    /// BGP instances: settings of neighbours first, removal of neighbours last. A family is activated after its filters
    /// exist.
    Instance,
    /// What depends on all of these: imports between instances, route maps between protocols and the kernel, static
    /// routes.
    Use,
    /// Removal of what used others and is no longer intended: instances, route maps between protocols and the kernel,
    /// static routes.
    Release,
    /// Removal of route maps that are no longer used.
    Retire,
    /// Removal of lists that nothing matches any more, BFD profiles, and the rest.
    Forget,
}

/// A configuration line to send to a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// Its phase.
    pub phase: Phase,
    /// The line, with the lines that open its contexts.
    pub line: Line,
}

impl ConfigChange {
    /// The commands to send in sequence, after `enable`. After a rejected one, only [`ConfigChange::END`] may follow:
    /// FRR would look up the rest in whatever context it is in.
    pub fn commands(&self) -> Vec<String> {
        let mut commands = vec!["configure terminal".to_owned()];
        commands.extend(self.line.path());
        commands.push(Self::END.to_owned());
        commands
    }

    /// The command that leaves every context.
    pub const END: &str = "end";
}

/// Merges the changes of several daemons by phase: nothing is used before every daemon has it.
pub fn order_changes(
    changes: impl IntoIterator<Item = (FrrDaemon, Vec<ConfigChange>)>,
) -> Vec<(FrrDaemon, ConfigChange)> {
    let with_daemon = |(daemon, changes): (FrrDaemon, Vec<ConfigChange>)| {
        changes.into_iter().map(move |change| (daemon, change))
    };
    let mut all: Vec<_> = changes.into_iter().flat_map(with_daemon).collect();
    all.sort_by_key(|(_, change)| change.phase);
    all
}
