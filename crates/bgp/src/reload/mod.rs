//! Reloading FRR without losing a session: what of a running configuration has to change, and whether it did.
//!
//! Each daemon is asked for what it runs (`show running-config`). [`FrrConfig::parse`] reads that, and the file that is
//! meant, into the same normal form; [`FrrConfig::of`] takes out of it what a [`FrrDaemon`] is told; [`difference`] is what
//! turns the one into the other, and [`in_order`] puts what several daemons are told into one order. Each [`ConfigChange`] is sent as
//! its [commands](Change::commands). Afterwards [`compare`] says which lines did not take, and which are left over.
//!
//! What holds on the way:
//!
//! * No neighbour is removed and made again to change something about it, unless FRR knows no other way: its group or its kind
//!   is another. What FRR itself resets a session for, such as a password, it still does.
//! * What is used exists: lists before the maps that match them, maps before the neighbours that use them, instances before the
//!   ones that import them. What is not used any more goes last.
//! * Nothing passes in between that neither configuration lets through: see [`Phase`].
//!
//! Which daemon is told what depends on the release, and was found by asking them. A daemon answers with status 2 to what it
//! does not know:
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
//! 9.x, 10.0 to 10.2 and what follows 10.3 are from vtysh's own table (`vtysh/vtysh.h`), the rest was seen. zebra of FRR 10 prints the
//! prefix lists that mgmtd gave it, and takes none.
//!
//! Not here: sockets, waiting, and what to do about a line that a daemon refuses.

mod change;
mod context;
mod daemon;
mod difference;
mod instance;
mod line;
mod list;
mod map;
mod normal;
mod statement;

pub use change::{ConfigChange, Phase, in_order};
pub use daemon::FrrDaemon;
pub use line::{Line, without_secret};

use statement::{StatementKind, heading, statement};

/// What FRR runs, or shall run, in the form in which it prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrrConfig(Vec<Line>);

impl FrrConfig {
    /// Reads a file, or what a daemon or vtysh prints. Every text is one: what is not understood is kept as it is.
    pub fn parse(text: &str) -> Self {
        Self(normal::normal(line::parse(text)))
    }

    /// The part that a daemon of a release is told.
    #[must_use]
    pub fn of(&self, daemon: FrrDaemon, version: (u16, u16)) -> Self {
        Self(self.0.iter().filter(|line| daemon.takes(version, line)).cloned().collect())
    }

    /// The lines, each after those it is below.
    pub fn lines(&self) -> &[Line] {
        &self.0
    }

    /// The lines that no daemon of a release is told. They are meant for another program, or a mistake.
    pub fn of_nobody(&self, version: (u16, u16)) -> Vec<&Line> {
        let taken = |line: &&Line| FrrDaemon::of(version).iter().any(|daemon| daemon.takes(version, line));
        self.0.iter().filter(|line| !taken(line)).collect()
    }
}

/// What tells two configurations apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Lines that are meant and do not run.
    pub missing: Vec<Line>,
    /// Lines that run and are not meant.
    pub extra: Vec<Line>,
}

impl Comparison {
    /// Whether what runs is what is meant.
    pub fn is_same(&self) -> bool {
        self.missing.is_empty() && self.extra.is_empty()
    }
}

/// Compares what runs with what is meant, line by line. The order does not matter: FRR prints its own.
pub fn compare(running: &FrrConfig, intended: &FrrConfig) -> Comparison {
    let without = |one: &FrrConfig, other: &FrrConfig| {
        let mut lines = one.0.clone();
        let other: std::collections::BTreeSet<_> = other.0.iter().collect();
        lines.retain(|line| !other.contains(line));
        lines
    };
    Comparison { missing: without(intended, running), extra: without(running, intended) }
}

/// What turns the running configuration of a daemon into the intended one, in the order of [`Phase`].
pub fn difference(running: &FrrConfig, intended: &FrrConfig) -> Vec<ConfigChange> {
    // A text may have what FRR never runs, such as two AS numbers in one VRF: where nothing differs, nothing has to change.
    if running == intended {
        return Vec::new();
    }
    difference::difference(&running.0, &intended.0)
}

/// What tells a line apart from those that do not take its place: its contexts, and the words that are no value.
fn key(line: &Line) -> (Vec<String>, String) {
    let above = line.above.iter().map(|above| heading(above)).collect();
    match statement(line) {
        StatementKind::One(key) => (above, key),
        StatementKind::Many | StatementKind::Unknown => (above, line.text.clone()),
    }
}
