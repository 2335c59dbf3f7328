//! The status as tables and text.

use super::{LabMachineStatus, LabSessionStatus, LabStatus, PrefixStatus, SessionEndStatus};
use crate::table;

/// The number of routers that have their own columns.
const MAX_COLUMNS: usize = 7;
/// The number of machines with one address that are named.
const NAMED: usize = 2;

/// The heading and rows of each table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusTables {
    /// One row for each session.
    pub sessions: (Vec<String>, Vec<Vec<String>>),
    /// One row for each machine.
    pub machines: (Vec<String>, Vec<Vec<String>>),
    /// One row for each prefix, one column for each router.
    pub prefixes: (Vec<String>, Vec<Vec<String>>),
}

impl LabSessionStatus {
    /// The session's name: both ends.
    pub fn name(&self) -> String {
        // A port is part of the name, an address is not.
        let end = |side: &SessionEndStatus| match side.peer.parse::<std::net::IpAddr>() {
            Ok(_) => side.name.clone(),
            Err(_) => format!("{} {}", side.name, side.peer),
        };
        format!("{} – {}", end(&self.one), end(&self.other))
    }

    /// Its state, or the states of both ends if they differ.
    pub fn state(&self) -> String {
        let name = |side: &SessionEndStatus| {
            side.state.map_or_else(|| "unknown".to_owned(), |state| state.to_string())
        };
        if self.one.is_unknown() {
            return name(&self.other);
        }
        let (one, other) = (name(&self.one), name(&self.other));
        if one == other { one } else { format!("{one} / {other}") }
    }

    /// The machine that reports a problem, the problem and its remedy; none for a session that is up or expected to be down.
    pub fn problem(&self) -> Option<(&str, &str, Option<&str>)> {
        let has_problem = |side: &'_ SessionEndStatus| side.trouble.is_some();
        let side = [&self.one, &self.other].into_iter().find(|side| has_problem(side))?;
        let words = side.trouble.as_deref()?;
        self.fault.is_none().then_some((side.name.as_str(), words, side.remedy.as_deref()))
    }

    pub(super) fn row(&self) -> Vec<String> {
        let count = |count: Option<u32>| count.map(|count| count.to_string()).unwrap_or_default();
        // If the local end is unknown: the remote end sent what it received.
        let (received, sent) = if self.one.is_unknown() {
            (self.other.sent, self.other.received)
        } else {
            (self.one.received, self.one.sent)
        };
        let bfd = [self.one.bfd, self.other.bfd].into_iter().flatten().min();
        let state =
            if self.fault.is_some() { format!("{}, as expected", self.state()) } else { self.state() };
        vec![
            self.name(),
            state,
            self.one
                .uptime
                .max(self.other.uptime)
                .filter(|_| self.up)
                .map(ichor_values::duration)
                .unwrap_or_default(),
            count(received),
            count(sent),
            bfd.map(|up| if up { "up" } else { "down" }.to_owned()).unwrap_or_default(),
        ]
    }
}

impl SessionEndStatus {
    /// Whether the status is unknown because the machine is a virtual machine that cannot be inspected.
    pub(super) fn is_unknown(&self) -> bool {
        self.state.is_none() && self.trouble.is_none()
    }
}

impl LabMachineStatus {
    fn row(&self) -> Vec<String> {
        let memory =
            if self.memory == 0 { String::new() } else { format!("{} MiB", self.memory.div_ceil(1 << 20)) };
        vec![
            self.name.clone(),
            self.part.to_owned(),
            self.trouble.clone().unwrap_or_else(|| "ready".to_owned()),
            self.ipv4.to_string(),
            self.ipv6.to_string(),
            memory,
        ]
    }
}

impl PrefixStatus {
    fn row(&self, routers: &[&str]) -> Vec<String> {
        let owners = match self.of.as_slice() {
            names if names.len() > NAMED => format!("{} machines", names.len()),
            names => names.join(", "),
        };
        let mut row = vec![self.prefix.to_string(), owners];
        if routers.len() > MAX_COLUMNS {
            row.push(self.summarize_paths(routers.len()));
        } else {
            let at = |router: &&str| self.paths.get(*router).map_or_else(|| "–".to_owned(), usize::to_string);
            row.extend(routers.iter().map(at));
        }
        row
    }

    /// The paths of many routers in one cell.
    fn summarize_paths(&self, routers: usize) -> String {
        let has = self.paths.len();
        match (self.paths.values().min(), self.paths.values().max()) {
            (Some(least), Some(most)) if least == most => format!("{least} at {has} of {routers} routers"),
            (Some(least), Some(most)) => format!("{least} to {most} at {has} of {routers} routers"),
            _ => format!("at none of {routers} routers"),
        }
    }
}

impl LabStatus {
    /// The rows of all tables.
    pub fn tables(&self) -> StatusTables {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let routers: Vec<&str> =
            self.machines.iter().filter(|it| it.part == "router").map(|it| it.name.as_str()).collect();
        let mut heading = words(&["PREFIX", "ORIGIN"]);
        heading.extend(if routers.len() > MAX_COLUMNS { words(&["PATHS"]) } else { words(&routers) });
        StatusTables {
            sessions: (
                words(&["SESSION", "STATE", "UPTIME", "RECEIVED", "SENT", "BFD"]),
                self.sessions.iter().map(LabSessionStatus::row).collect(),
            ),
            machines: (
                words(&["MACHINE", "ROLE", "STATE", "IPV4 ROUTES", "IPV6 ROUTES", "MEMORY"]),
                self.machines.iter().map(LabMachineStatus::row).collect(),
            ),
            prefixes: (heading, self.prefixes.iter().map(|prefix| prefix.row(&routers)).collect()),
        }
    }

    /// One line with the number of sessions and machines.
    pub fn summary(&self) -> String {
        let (up, expected) = self.session_counts();
        let ready = self.machines.iter().filter(|it| it.trouble.is_none()).count();
        let cut = match self.cut.len() {
            0 => String::new(),
            1 => ", 1 link cut".to_owned(),
            many => format!(", {many} links cut"),
        };
        format!(
            "{}: {up} of {expected} sessions up, {ready} of {} machines ready{cut}",
            self.lab,
            self.machines.len()
        )
    }

    /// Formats all tables as text, followed by the problems. Ends with a newline.
    pub fn to_text(&self) -> String {
        let StatusTables { sessions, machines, prefixes } = self.tables();
        let mut text = format!("{}\n", self.summary());
        for (heading, rows) in [sessions, machines, prefixes] {
            let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
            if !rows.is_empty() {
                text.push_str(&format!("\n{}\n", table::text(&heading, &rows)));
            }
        }
        let mut below: Vec<String> = self.cut.iter().map(|cut| format!("{cut}\n")).collect();
        for session in &self.sessions {
            if let Some((who, words, remedy)) = session.problem() {
                let hint = remedy.map(|remedy| format!("hint: {remedy}\n")).unwrap_or_default();
                below.push(format!("{}: {who}: {words}\n{hint}", session.name()));
            } else if let Some(fault) = &session.fault {
                below.push(format!("{}: expected down: {fault}\n", session.name()));
            }
        }
        if !below.is_empty() {
            text.push_str(&format!("\n{}", below.concat()));
        }
        text
    }
}
