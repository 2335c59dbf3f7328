//! What happened between two states.

use std::fmt;

use super::{Anycast, Daemon, Stage, Status, Told};
use crate::agent::gate::Position;
use crate::setting::LogLevel;

/// One thing that happened: a line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// How much it matters.
    pub level: LogLevel,
    /// What happened.
    pub words: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

fn change(level: LogLevel, words: String) -> Change {
    Change { level, words }
}

/// What happened between two states; nothing for what always moves: times and numbers of prefixes.
pub fn changes(before: &Status, after: &Status) -> Vec<Change> {
    let mut found = Vec::new();
    found.extend(stage(before, after));
    for what in after.waiting.iter().filter(|what| !before.waiting.contains(what)) {
        found.push(change(LogLevel::Warn, format!("waiting: {what}")));
    }
    for what in before.waiting.iter().filter(|what| !after.waiting.contains(what)) {
        found.push(change(LogLevel::Info, format!("no longer waiting: {what}")));
    }
    for now in &after.daemons {
        found.extend(daemon(before.daemons.iter().find(|was| was.name == now.name), now));
    }
    let (was, is) = (before.each_once(), after.each_once());
    for now in &is {
        found.extend(session(was.iter().find(|was| same(was, now)).copied(), now));
    }
    for gone in was.iter().filter(|was| !is.iter().any(|now| same(was, now))) {
        found.push(change(LogLevel::Info, format!("{}: no longer configured", name(gone))));
    }
    found.extend(anycast(before.anycast.as_ref(), after.anycast.as_ref()));
    found.extend(reload(before, after));
    if after.restored > before.restored {
        let more = after.restored - before.restored;
        found.push(change(
            LogLevel::Warn,
            format!("put back {more} routes that another program took out of the kernel"),
        ));
    }
    found
}

fn stage(before: &Status, after: &Status) -> Option<Change> {
    if (before.stage, &before.reason) == (after.stage, &after.reason) {
        return None;
    }
    let level = if after.stage == Stage::Leaving { LogLevel::Warn } else { LogLevel::Info };
    let reason = after.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(change(level, format!("{}{reason}", after.stage)))
}

fn same(one: &Told, other: &Told) -> bool {
    (&one.session.peer, &one.session.domain) == (&other.session.peer, &other.session.domain)
}

fn name(told: &Told) -> String {
    let domain = told.session.domain.as_ref().map(|domain| format!(" in {domain}")).unwrap_or_default();
    format!("session {}{domain}", told.session.peer)
}

fn session(before: Option<&Told>, now: &Told) -> Option<Change> {
    let (name, state) = (name(now), now.session.state);
    let trouble = now.trouble.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    let was = before.map(|was| (was.session.is_established(), was.session.established, was.trouble.as_ref()));
    let is = (now.session.is_established(), now.session.established, now.trouble.as_ref());
    if was == Some(is) {
        // On the way up and down again are states nobody wants a line for, unless they ask why.
        let moved = before.is_some_and(|was| was.session.state != state);
        return moved.then(|| change(LogLevel::Debug, format!("{name}: {state}")));
    }
    let level = match (was.is_some_and(|was| was.0), is) {
        (_, (true, _, None)) => LogLevel::Info,
        (true, (false, ..)) | (_, (_, _, Some(_))) => LogLevel::Warn,
        _ => LogLevel::Info,
    };
    Some(change(level, format!("{name}: {state}{trouble}")))
}

fn daemon(before: Option<&Daemon>, now: &Daemon) -> Option<Change> {
    let name = &now.name;
    match (before, now.pid) {
        (Some(was), pid) if (was.pid, was.answers, was.restarts) == (pid, now.answers, now.restarts) => None,
        (_, None) => Some(change(LogLevel::Error, format!("{name} does not run"))),
        (_, Some(pid)) if !now.answers => {
            Some(change(LogLevel::Warn, format!("{name} does not answer (process {pid})")))
        }
        (Some(was), Some(pid)) if was.restarts < now.restarts => Some(change(
            LogLevel::Warn,
            format!("{name} runs again (process {pid}, restart {})", now.restarts),
        )),
        (_, Some(pid)) => Some(change(LogLevel::Info, format!("{name} answers (process {pid})"))),
    }
}

fn anycast(before: Option<&Anycast>, after: Option<&Anycast>) -> Option<Change> {
    let after = after?;
    if before.map(|was| was.gate) == Some(after.gate) {
        return None;
    }
    let reason = after.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(match after.gate {
        Position::Open => change(LogLevel::Info, "anycast addresses are announced".to_owned()),
        Position::Shut => change(LogLevel::Warn, format!("anycast addresses are not announced{reason}")),
    })
}

fn reload(before: &Status, after: &Status) -> Option<Change> {
    let now = after.reload.as_ref().filter(|_| before.reload != after.reload)?;
    Some(match (&now.refused, now.again) {
        (None, _) => change(LogLevel::Info, "the daemon took its new configuration".to_owned()),
        (Some(why), Some(again)) => {
            let words = format!("the new configuration was not taken, and is tried again at {again}: {why}");
            change(LogLevel::Warn, words)
        }
        (Some(why), None) => change(LogLevel::Error, format!("the new configuration was refused: {why}")),
    })
}
