//! The events between two statuses, as log lines.

use std::fmt;

use super::{AgentStage, AgentStatus, AnycastStatus, DaemonStatus, SessionStatus};
use crate::agent::health_gate::GateState;
use crate::setting::LogLevel;

/// An event: one line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusChange {
    /// The log level.
    pub level: LogLevel,
    /// The text.
    pub words: String,
}

impl fmt::Display for StatusChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

fn change(level: LogLevel, words: String) -> StatusChange {
    StatusChange { level, words }
}

/// The events between two statuses. Times and prefix counts always change and are ignored.
pub fn changes(before: &AgentStatus, after: &AgentStatus) -> Vec<StatusChange> {
    let mut found = Vec::new();
    found.extend(stage(before, after));
    for what in after.waiting.iter().filter(|what| !before.waiting.contains(what)) {
        found.push(change(LogLevel::Warn, format!("waiting: {what}")));
    }
    for what in before.waiting.iter().filter(|what| !after.waiting.contains(what)) {
        found.push(change(LogLevel::Info, format!("resolved: {what}")));
    }
    for now in &after.daemons {
        found.extend(daemon(before.daemons.iter().find(|was| was.name == now.name), now));
    }
    let (was, is) = (before.unique_sessions(), after.unique_sessions());
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
            format!("restored {more} routes that another program removed from the kernel"),
        ));
    }
    found
}

fn stage(before: &AgentStatus, after: &AgentStatus) -> Option<StatusChange> {
    if (before.stage, &before.reason) == (after.stage, &after.reason) {
        return None;
    }
    let level = if after.stage == AgentStage::Leaving { LogLevel::Warn } else { LogLevel::Info };
    let reason = after.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(change(level, format!("{}{reason}", after.stage)))
}

fn same(one: &SessionStatus, other: &SessionStatus) -> bool {
    (&one.session.peer, &one.session.domain) == (&other.session.peer, &other.session.domain)
}

fn name(status: &SessionStatus) -> String {
    let domain = status.session.domain.as_ref().map(|domain| format!(" in {domain}")).unwrap_or_default();
    format!("session {}{domain}", status.session.peer)
}

fn session(before: Option<&SessionStatus>, now: &SessionStatus) -> Option<StatusChange> {
    let (name, state) = (name(now), now.session.state);
    let trouble = now.trouble.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    let was = before.map(|was| (was.session.is_established(), was.session.established, was.trouble.as_ref()));
    let is = (now.session.is_established(), now.session.established, now.trouble.as_ref());
    if was == Some(is) {
        // States on the way up and down are worth a line only in the debug log.
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

fn daemon(before: Option<&DaemonStatus>, now: &DaemonStatus) -> Option<StatusChange> {
    let name = &now.name;
    match (before, now.pid) {
        (Some(was), pid) if (was.pid, was.answers, was.restarts) == (pid, now.answers, now.restarts) => None,
        (_, None) => Some(change(LogLevel::Error, format!("{name} is not running"))),
        (_, Some(pid)) if !now.answers => {
            Some(change(LogLevel::Warn, format!("{name} does not respond (pid {pid})")))
        }
        (Some(was), Some(pid)) if was.restarts < now.restarts => Some(change(
            LogLevel::Warn,
            format!("{name} was restarted (pid {pid}, restart {})", now.restarts),
        )),
        (_, Some(pid)) => Some(change(LogLevel::Info, format!("{name} is running (pid {pid})"))),
    }
}

fn anycast(before: Option<&AnycastStatus>, after: Option<&AnycastStatus>) -> Option<StatusChange> {
    let after = after?;
    if before.map(|was| was.gate) == Some(after.gate) {
        return None;
    }
    let reason = after.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(match after.gate {
        GateState::Open => change(LogLevel::Info, "announcing anycast addresses".to_owned()),
        GateState::Closed => change(LogLevel::Warn, format!("withdrew anycast addresses{reason}")),
    })
}

fn reload(before: &AgentStatus, after: &AgentStatus) -> Option<StatusChange> {
    let now = after.reload.as_ref().filter(|_| before.reload != after.reload)?;
    Some(match (&now.refused, now.again) {
        (None, _) => change(LogLevel::Info, "the daemon accepted the new configuration".to_owned()),
        (Some(why), Some(again)) => {
            let words = format!("the daemon rejected the new configuration; next attempt at {again}: {why}");
            change(LogLevel::Warn, words)
        }
        (Some(why), None) => change(LogLevel::Error, format!("the new configuration was rejected: {why}")),
    })
}
