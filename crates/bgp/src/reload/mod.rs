//! Reloading FRR without losing a session: which lines of a running configuration have to change, and whether they did.
//!
//! [`FrrConfig::parse`] brings the running configuration of each daemon (`show running-config`) and the intended file
//! into the same normal form; [`FrrConfig::for_daemon`] selects the lines of a [`FrrDaemon`]; [`difference`] computes
//! the changes between the two, and [`order_changes`] merges those of several daemons. Each [`ConfigChange`] is sent as
//! its [commands](ConfigChange::commands). Afterwards [`compare`] lists the lines that are missing, and those that are
//! left over.
//!
//! Guarantees during the changes:
//!
//! * No neighbour is removed and recreated to change a setting, unless FRR offers no other way: another group or
//!   another kind of neighbour. Changes for which FRR itself resets a session, such as a password, still reset it.
//! * Used objects exist: lists before the route maps that match them, route maps before the neighbours that use them,
//!   instances before those that import them. Unused objects are removed last.
//! * Nothing is permitted in between that neither configuration permits: see [`Phase`].
//!
//! Which daemon accepts a statement depends on the release, and was determined by testing. A daemon returns status 2
//! for a statement that it does not know:
//!
//! | statement | 8.x | 9.x | from 10.0 on |
//! |---|---|---|---|
//! | `interface`, `vrf`, `ip protocol`, `ip nht`, `ip router-id` | zebra | zebra | mgmtd |
//! | `ip route` | staticd | mgmtd | mgmtd |
//! | `ip prefix-list`, `access-list` | zebra, bgpd, bfdd | the same | mgmtd, bgpd; bfdd up to 10.6 |
//! | `route-map` with what both know | zebra, bgpd | the same | mgmtd, bgpd |
//! | in it `set src`, `match source-instance` … | zebra | zebra | mgmtd |
//! | in it `match as-path`, `set community` … | bgpd | bgpd | bgpd |
//! | `key chain` | none of ours | none of ours | mgmtd (from 10.1 on) |
//! | `router bgp`, `bgp …` | bgpd | bgpd | bgpd |
//! | `bfd` | bfdd | bfdd | bfdd |
//!
//! 9.x, 10.0 to 10.2 and releases after 10.3 are from vtysh's own table (`vtysh/vtysh.h`), the rest was observed. zebra
//! of FRR 10 prints the prefix lists that mgmtd gave it, and accepts none.
//!
//! Not here: sockets, timeouts, and what to do about a line that a daemon rejects.

mod change;
mod context;
mod daemon;
mod difference;
mod instance;
mod line;
mod list;
mod normalize;
mod route_map;
mod statement;

pub use change::{ConfigChange, Phase, order_changes};
pub use daemon::FrrDaemon;
pub use line::{Line, redact_secrets};

use statement::{StatementKind, heading, statement};

/// The running or the intended configuration of FRR, in the form in which FRR prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrrConfig(Vec<Line>);

impl FrrConfig {
    /// Parses a file, or the output of a daemon or vtysh. Every text is valid: unknown statements are kept as they are.
    pub fn parse(text: &str) -> Self {
        Self(normalize::normalize(line::parse(text)))
    }

    /// The lines for one daemon of a release.
    #[must_use]
    pub fn for_daemon(&self, daemon: FrrDaemon, version: (u16, u16)) -> Self {
        Self(self.0.iter().filter(|line| daemon.accepts(version, line)).cloned().collect())
    }

    /// The lines, each after those it is below.
    pub fn lines(&self) -> &[Line] {
        &self.0
    }

    /// The lines that no daemon of a release accepts: they are for another program, or a mistake.
    pub fn unaccepted_lines(&self, version: (u16, u16)) -> Vec<&Line> {
        let accepted =
            |line: &&Line| FrrDaemon::in_release(version).iter().any(|daemon| daemon.accepts(version, line));
        self.0.iter().filter(|line| !accepted(line)).collect()
    }
}

/// The differences between two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Intended lines that do not run.
    pub missing: Vec<Line>,
    /// Running lines that are not intended.
    pub extra: Vec<Line>,
}

impl Comparison {
    /// Whether the two are the same.
    pub fn is_same(&self) -> bool {
        self.missing.is_empty() && self.extra.is_empty()
    }
}

/// Compares two configurations line by line. The order does not matter: FRR prints its own.
pub fn compare(running: &FrrConfig, intended: &FrrConfig) -> Comparison {
    let only_in = |one: &FrrConfig, other: &FrrConfig| {
        let mut lines = one.0.clone();
        let other: std::collections::BTreeSet<_> = other.0.iter().collect();
        lines.retain(|line| !other.contains(line));
        lines
    };
    Comparison { missing: only_in(intended, running), extra: only_in(running, intended) }
}

/// The changes that turn the running configuration of a daemon into the intended one, ordered by [`Phase`].
pub fn difference(running: &FrrConfig, intended: &FrrConfig) -> Vec<ConfigChange> {
    // A text may contain what FRR never runs, such as two AS numbers in one VRF: equal texts need no changes.
    if running == intended {
        return Vec::new();
    }
    difference::difference(&running.0, &intended.0)
}

/// The key of a line, which lines share that replace each other: its contexts, and its words except for values.
fn key(line: &Line) -> (Vec<String>, String) {
    let above = line.above.iter().map(|above| heading(above)).collect();
    match statement(line) {
        StatementKind::One(key) => (above, key),
        StatementKind::Many | StatementKind::Unknown => (above, line.text.clone()),
    }
}
