//! The status as tables.

use super::{AgentStatus, PeerRole, SessionStatus};
use crate::agent::health_gate::GateState;
use ichor_values::duration;

const SESSIONS: &[&str] = &["PEER", "VRF/NETNS", "ROLE", "ASN", "STATE", "UPTIME", "RECEIVED", "SENT", "BFD"];
const DAEMONS: &[&str] = &["DAEMON", "PID", "RESPONDS", "RESTARTS", "SINCE"];

impl AgentStatus {
    /// The status as tables, with the problems below them; ends with a line end.
    pub fn table(&self) -> String {
        let version = self.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let reason = self.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        let mut text = format!(
            "{}: {}{reason}, {}{version}, ichor-agent {}, {}\n",
            self.node, self.stage, self.backend, self.agent, self.time
        );
        self.waiting.iter().for_each(|what| text.push_str(&format!("waiting: {what}\n")));
        if let Some(anycast) = &self.anycast {
            let reason = anycast.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let state = if anycast.gate == GateState::Open { "announced" } else { "withdrawn" };
            text.push_str(&format!("anycast: {state}{reason}\n"));
        }
        if let Some(reload) = &self.reload {
            let again = reload.again.map(|again| format!(", next attempt at {again}")).unwrap_or_default();
            let refused = reload.refused.as_ref();
            let refused =
                refused.map_or_else(|| "accepted".to_owned(), |why| format!("rejected{again}: {why}"));
            text.push_str(&format!("last reload: {}, {refused}\n", reload.time));
        }
        if self.restored > 0 {
            text.push_str(&format!("routes restored: {}\n", self.restored));
        }
        if !self.sessions.is_empty() {
            let rows: Vec<_> = self.sessions.iter().map(session).collect();
            text.push_str(&format!("\n{}\n", align_columns(SESSIONS, &rows)));
        }
        if !self.daemons.is_empty() {
            text.push_str(&format!("\n{}\n", align_columns(DAEMONS, &self.daemons())));
        }
        for (status, trouble) in
            self.sessions.iter().filter_map(|status| Some((status, status.trouble.as_ref()?)))
        {
            text.push_str(&format!("\n{}: {}\n", status.session.peer, trouble.headline()));
            text.extend(trouble.help.iter().map(|help| format!("hint: {help}\n")));
        }
        text
    }

    fn daemons(&self) -> Vec<Vec<String>> {
        let row = |daemon: &super::DaemonStatus| {
            vec![
                daemon.name.clone(),
                daemon.pid.map(|pid| pid.to_string()).unwrap_or_default(),
                yes_or_no(daemon.answers),
                daemon.restarts.to_string(),
                daemon.since.to_string(),
            ]
        };
        self.daemons.iter().map(row).collect()
    }
}

fn session(status: &SessionStatus) -> Vec<String> {
    let session = &status.session;
    let peer = match &session.address {
        Some(address) => format!("{}\n{address}", session.peer),
        None => session.peer.clone(),
    };
    vec![
        peer,
        session.domain.clone().unwrap_or_default(),
        role(status.with),
        session.asn.map(|asn| asn.to_string()).unwrap_or_default(),
        session.state.to_string(),
        session.uptime.map(duration).unwrap_or_default(),
        session.received.to_string(),
        session.sent.to_string(),
        session.bfd.map(|up| if up { "up" } else { "down" }.to_owned()).unwrap_or_default(),
    ]
}

/// Rows below a heading and a rule. A cell may have several lines; empty columns are omitted.
fn align_columns(heading: &[&str], rows: &[Vec<String>]) -> String {
    let filled = |column: &usize| rows.iter().any(|row| !row[*column].is_empty());
    let filled: Vec<usize> = (0..heading.len()).filter(filled).collect();
    let width = |column: usize| {
        let cells = rows.iter().flat_map(|row| row[column].lines());
        cells.chain([heading[column]]).map(|line| line.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = filled.iter().map(|column| width(*column)).collect();
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![
        line(filled.iter().map(|column| heading[*column]).collect()),
        "─".repeat((widths.iter().sum::<usize>() + 2 * widths.len()).saturating_sub(1)),
    ];
    for row in rows {
        let height = filled.iter().map(|column| row[*column].lines().count()).max().unwrap_or_default();
        for nth in 0..height {
            let cell = |column: &usize| row[*column].lines().nth(nth).unwrap_or_default();
            lines.push(line(filled.iter().map(cell).collect()));
        }
    }
    lines.join("\n")
}

fn role(role: PeerRole) -> String {
    match role {
        PeerRole::Fabric => "fabric",
        PeerRole::Speaker => "load balancer",
    }
    .to_owned()
}

fn yes_or_no(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}
