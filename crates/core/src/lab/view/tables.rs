//! The view for people: rows, and the text of them all.

use super::{LabMachineStatus, LabSessionStatus, LabStatus, PrefixStatus, SessionEndStatus};
use crate::table;

/// More routers than this do not fit beside each other.
const BESIDE: usize = 7;
/// More machines than this that have the same address are counted.
const NAMED: usize = 2;

/// The rows of each table, the first of each being its heading.
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
    /// What it is called: both ends.
    pub fn name(&self) -> String {
        // A port is told; an address is none of the names people gave.
        let end = |side: &SessionEndStatus| match side.peer.parse::<std::net::IpAddr>() {
            Ok(_) => side.name.clone(),
            Err(_) => format!("{} {}", side.name, side.peer),
        };
        format!("{} – {}", end(&self.one), end(&self.other))
    }

    /// How far it is; from both ends, where they do not agree.
    pub fn state(&self) -> String {
        let name = |side: &SessionEndStatus| {
            side.state.map_or_else(|| "unknown".to_owned(), |state| state.to_string())
        };
        if self.one.is_silent() {
            return name(&self.other);
        }
        let (one, other) = (name(&self.one), name(&self.other));
        if one == other { one } else { format!("{one} / {other}") }
    }

    /// What is wrong with it, who says so, and what helps; none while it stands, or where it shall not.
    pub fn trouble(&self) -> Option<(&str, &str, Option<&str>)> {
        let told = |side: &'_ SessionEndStatus| side.trouble.is_some();
        let side = [&self.one, &self.other].into_iter().find(|side| told(side))?;
        let words = side.trouble.as_deref()?;
        self.fault.is_none().then_some((side.name.as_str(), words, side.remedy.as_deref()))
    }

    pub(super) fn row(&self) -> Vec<String> {
        let count = |count: Option<u32>| count.map(|count| count.to_string()).unwrap_or_default();
        // Of an end that does not tell: what the other sent came in there.
        let (received, sent) = if self.one.is_silent() {
            (self.other.sent, self.other.received)
        } else {
            (self.one.received, self.one.sent)
        };
        let bfd = [self.one.bfd, self.other.bfd].into_iter().flatten().min();
        let state = if self.fault.is_some() { format!("{}, as meant", self.state()) } else { self.state() };
        vec![
            self.name(),
            state,
            self.one
                .uptime
                .max(self.other.uptime)
                .filter(|_| self.stands)
                .map(ichor_values::duration)
                .unwrap_or_default(),
            count(received),
            count(sent),
            bfd.map(|up| if up { "up" } else { "down" }.to_owned()).unwrap_or_default(),
        ]
    }
}

impl SessionEndStatus {
    /// Whether nobody there tells how it is: it is a virtual machine that nobody sees into.
    pub(super) fn is_silent(&self) -> bool {
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
        let of = match self.of.as_slice() {
            of if of.len() > NAMED => format!("{} machines", of.len()),
            of => of.join(", "),
        };
        let mut row = vec![self.prefix.to_string(), of];
        if routers.len() > BESIDE {
            row.push(self.crowd(routers.len()));
        } else {
            let at = |router: &&str| self.paths.get(*router).map_or_else(|| "–".to_owned(), usize::to_string);
            row.extend(routers.iter().map(at));
        }
        row
    }

    /// What many routers have in common.
    fn crowd(&self, routers: usize) -> String {
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
        let mut heading = words(&["prefix", "of"]);
        heading.extend(if routers.len() > BESIDE { words(&["paths"]) } else { words(&routers) });
        StatusTables {
            sessions: (
                words(&["session", "state", "for", "in", "out", "BFD"]),
                self.sessions.iter().map(LabSessionStatus::row).collect(),
            ),
            machines: (
                words(&["machine", "is", "state", "IPv4", "IPv6", "memory"]),
                self.machines.iter().map(LabMachineStatus::row).collect(),
            ),
            prefixes: (heading, self.prefixes.iter().map(|prefix| prefix.row(&routers)).collect()),
        }
    }

    /// In one line, whether it stands.
    pub fn summary(&self) -> String {
        let (standing, meant) = self.standing();
        let ready = self.machines.iter().filter(|it| it.trouble.is_none()).count();
        let cut = match self.cut.len() {
            0 => String::new(),
            1 => ", 1 link cut".to_owned(),
            many => format!(", {many} links cut"),
        };
        format!(
            "{}: {standing} of {meant} sessions stand, {ready} of {} machines ready{cut}",
            self.lab,
            self.machines.len()
        )
    }

    /// All of it as text that ends with a line end, with what is wrong below.
    pub fn text(&self) -> String {
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
            if let Some((who, words, remedy)) = session.trouble() {
                let hint = remedy.map(|remedy| format!("hint: {remedy}\n")).unwrap_or_default();
                below.push(format!("{}: {who}: {words}\n{hint}", session.name()));
            } else if let Some(fault) = &session.fault {
                below.push(format!("{}: shall not stand: {fault}\n", session.name()));
            }
        }
        if !below.is_empty() {
            text.push_str(&format!("\n{}", below.concat()));
        }
        text
    }
}
