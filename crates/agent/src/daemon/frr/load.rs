//! Loading a configuration into running daemons: the differences are sent, and the result is compared with the target.
//!
//! A newly started daemon is loaded in the same way: everything differs.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use ichor_bgp::reload::{ConfigChange, FrrConfig, FrrDaemon, Line, compare, difference, order_changes};
use tokio::time::{Instant, sleep};

use super::vty::{Vty, VtyError, VtyReply};
use crate::log;

/// mgmtd replies before it has forwarded the configuration to other daemons.
const APPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// How long another client may hold the configuration lock, and the pause between two attempts.
const LOCKED: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(20);

/// Lines that affect how a daemon reads all others. They are sent first, once, and to every daemon: they are not
/// compared.
const FIRST: [&str; 7] = [
    "frr defaults",
    "hostname",
    "domainname",
    "service",
    "ip forwarding",
    "ipv6 forwarding",
    "zebra nexthop kernel",
];

/// The configuration to run, for a release.
#[derive(Clone, Debug)]
pub(super) struct TargetConfig {
    pub(super) version: (u16, u16),
    pub(super) first: Vec<String>,
    pub(super) configuration: FrrConfig,
}

impl TargetConfig {
    pub(super) fn parse(text: &str, version: (u16, u16)) -> Self {
        let without_no = |line: &str| line.strip_prefix("no ").unwrap_or(line).to_owned();
        let is_first = |line: &&str| FIRST.iter().any(|first| without_no(line).starts_with(first));
        let first = text.lines().map(str::trim_end).filter(is_first).map(str::to_owned).collect();
        Self { version, first, configuration: FrrConfig::parse(text) }
    }

    /// The lines that none of these daemons accepts.
    pub(super) fn unaccepted_lines(&self, daemons: &[FrrDaemon]) -> Vec<Line> {
        let accepted = |line: &&Line| daemons.iter().any(|daemon| daemon.accepts(self.version, line));
        self.configuration.lines().iter().filter(|line| !accepted(line)).cloned().collect()
    }

    /// The line that only a restart can change.
    pub(super) fn profile(&self) -> Option<&str> {
        self.first.iter().map(String::as_str).find(|line| line.starts_with("frr defaults"))
    }
}

/// Lines that daemons should run and do not, or the other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct RejectedLines {
    /// Lines that a daemon should run; without a daemon, lines that no running daemon accepts.
    pub missing: Vec<(Option<FrrDaemon>, Line)>,
    /// Lines that a daemon should no longer run.
    pub extra: Vec<(FrrDaemon, Line)>,
    /// The daemons' own messages.
    pub messages: Vec<String>,
}

/// Messages of mgmtd of FRR 10.3 that do not blame the line: configuration that it just received has disappeared, as
/// with a port that the daemon behind it did not know yet; or another client has the lock.
const TRANSIENT: [&str; 2] = ["deleted by another process", "could not lock"];

impl RejectedLines {
    /// Whether a retry may succeed. A line that mgmtd does not run without any message is lost rather than rejected, as
    /// with a port that disappeared and came back at once (FRR 10.3).
    pub fn is_transient(&self) -> bool {
        let of_mgmtd = |daemon: Option<FrrDaemon>| daemon == Some(FrrDaemon::Mgmtd);
        let is_lost = self.missing.iter().all(|(daemon, _)| of_mgmtd(*daemon))
            && self.extra.iter().all(|(daemon, _)| of_mgmtd(Some(*daemon)));
        if self.messages.is_empty() {
            return is_lost;
        }
        self.messages.iter().any(|message| TRANSIENT.iter().any(|words| message.contains(words)))
    }
}

impl fmt::Display for RejectedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.missing.iter().map(|(daemon, line)| match daemon {
            Some(daemon) => format!("{daemon} did not accept `{line}`"),
            None => format!("no running daemon accepts `{line}`"),
        });
        let extra = self.extra.iter().map(|(daemon, line)| format!("{daemon} keeps `{line}`"));
        let messages = self.messages.iter().cloned();
        f.write_str(&missing.chain(extra).chain(messages).collect::<Vec<_>>().join("; "))
    }
}

/// A daemon that is being configured.
pub(super) struct ConfigSession {
    daemon: FrrDaemon,
    vty: Vty,
}

impl ConfigSession {
    async fn open(daemon: FrrDaemon, socket: PathBuf) -> Result<Self, VtyError> {
        let mut vty = Vty::open(daemon.name(), &socket).await?;
        vty.query("enable").await?;
        Ok(Self { daemon, vty })
    }

    /// The part of its running configuration that can be configured.
    async fn running(&mut self, version: (u16, u16)) -> Result<FrrConfig, VtyError> {
        let text = self.vty.query("show running-config").await?;
        Ok(FrrConfig::parse(&text).for_daemon(self.daemon, version))
    }

    /// Enters configuration mode, as vtysh does: for the initial file, FRR requires a file lock from 9 on.
    async fn enter_config_mode(&mut self, target: &TargetConfig, fresh: bool) -> Result<(), VtyError> {
        let lock = if fresh && target.version.0 >= 9 { " file-lock" } else { "" };
        self.open_configuration(&format!("configure terminal{lock}")).await?;
        if fresh {
            self.vty.query("XFRR_start_configuration").await?;
        }
        // Not every daemon knows all of these.
        self.vty.send(&target.first).await?;
        if !fresh {
            self.vty.query(ConfigChange::END).await?;
        }
        Ok(())
    }

    /// mgmtd admits one writer at a time, and is a writer itself for a moment after its start.
    async fn open_configuration(&mut self, command: &str) -> Result<(), VtyError> {
        let start = Instant::now();
        loop {
            match self.vty.query(command).await {
                Err(error) if error.is_locked() && start.elapsed() < LOCKED => sleep(PAUSE).await,
                done => return done.map(drop),
            }
        }
    }

    /// Sends changes in one batch; returns the errors.
    async fn send_changes(
        &mut self,
        changes: Vec<ConfigChange>,
        fresh: bool,
    ) -> Result<Vec<String>, VtyError> {
        let commands: Vec<Vec<String>> = changes.iter().map(|change| commands(change, fresh)).collect();
        let answers = self.vty.send(&commands.concat()).await?;
        let mut answers = answers.iter();
        let mut errors = Vec::new();
        for (change, commands) in changes.iter().zip(&commands) {
            let refusals = answers.by_ref().take(commands.len()).filter_map(VtyReply::refusal);
            errors.extend(
                refusals.map(|refusal| format!("{} on `{}`: {refusal}", self.daemon, change.line)).take(1),
            );
        }
        Ok(errors)
    }
}

/// The commands for a change. The initial configuration is a single file to a daemon, which must not be closed in
/// between.
fn commands(change: &ConfigChange, fresh: bool) -> Vec<String> {
    if !fresh {
        return change.commands();
    }
    let mut commands = change.line.path();
    let depth = change.line.above.len() + usize::from(change.line.opens().is_some());
    commands.extend(std::iter::repeat_n("exit".to_owned(), depth));
    commands
}

/// Brings daemons to the target. Newly started ones (`fresh`) read it as their initial file: bgpd connects to no
/// neighbour before its end.
pub(super) async fn load(
    target: &TargetConfig,
    daemons: Vec<(FrrDaemon, PathBuf)>,
    fresh: bool,
) -> Result<Result<(), RejectedLines>, VtyError> {
    let mut sessions =
        try_join_all(daemons.into_iter().map(|(daemon, socket)| ConfigSession::open(daemon, socket))).await?;
    let running = sessions.iter_mut().map(|session| async {
        let running = session.running(target.version).await?;
        session.enter_config_mode(target, fresh).await?;
        Ok::<_, VtyError>((session.daemon, running))
    });
    let running = try_join_all(running).await?;
    let changes = running.iter().map(|(daemon, running)| {
        (*daemon, difference(running, &target.configuration.for_daemon(*daemon, target.version)))
    });
    let messages = apply_phases(&mut sessions, order_changes(changes), fresh).await;
    if fresh {
        join_all(
            sessions
                .iter_mut()
                .map(|session| session.vty.send(&["XFRR_end_configuration", ConfigChange::END])),
        )
        .await;
    }
    let messages = messages?;
    if !messages.is_empty() {
        log::debug(format_args!("messages during the load: {}", messages.join("; ")));
    }
    wait_until_applied(target, &mut sessions, messages).await
}

/// Sends changes phase by phase.
async fn apply_phases(
    sessions: &mut [ConfigSession],
    changes: Vec<(FrrDaemon, ConfigChange)>,
    fresh: bool,
) -> Result<Vec<String>, VtyError> {
    let mut messages = Vec::new();
    for phase in changes.chunk_by(|(_, one), (_, other)| one.phase == other.phase) {
        let all = sessions.iter_mut().map(|session| {
            let own = phase.iter().filter(|(daemon, _)| *daemon == session.daemon);
            let own: Vec<ConfigChange> = own.map(|(_, change)| change.clone()).collect();
            session.send_changes(own, fresh)
        });
        messages.extend(try_join_all(all).await?.concat());
    }
    Ok(messages)
}

/// Compares until the running configuration is the target, or the time is up.
async fn wait_until_applied(
    target: &TargetConfig,
    sessions: &mut [ConfigSession],
    messages: Vec<String>,
) -> Result<Result<(), RejectedLines>, VtyError> {
    let start = Instant::now();
    loop {
        let mut result = RejectedLines { missing: Vec::new(), extra: Vec::new(), messages: messages.clone() };
        for session in sessions.iter_mut() {
            let running = session.running(target.version).await?;
            let found = compare(&running, &target.configuration.for_daemon(session.daemon, target.version));
            result.missing.extend(found.missing.into_iter().map(|line| (Some(session.daemon), line)));
            result.extra.extend(found.extra.into_iter().map(|line| (session.daemon, line)));
        }
        if result.missing.is_empty() && result.extra.is_empty() {
            break;
        }
        if start.elapsed() > APPLY_TIMEOUT {
            return Ok(Err(result));
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(daemon: Option<FrrDaemon>, messages: &[&str]) -> RejectedLines {
        let line = FrrConfig::parse("interface eth1\n no ipv6 nd suppress-ra\nexit\n").lines()[0].clone();
        let messages = messages.iter().map(|message| (*message).to_owned()).collect();
        RejectedLines { missing: vec![(daemon, line)], extra: Vec::new(), messages }
    }

    #[test]
    fn only_temporary_obstacles_are_transient() {
        let mgmtd = Some(FrrDaemon::Mgmtd);
        let gone = "mgmtd on `x`: Current configuration object was deleted by another process.";
        let locked = "mgmtd on `x`: % command failed, could not lock candidate DS";

        for transient in [rejected(mgmtd, &[]), rejected(mgmtd, &[gone]), rejected(mgmtd, &[locked])] {
            assert!(transient.is_transient(), "{transient}");
        }
        let wrong = "mgmtd on `x`: % Unknown command: x";
        for refused in [rejected(mgmtd, &[wrong]), rejected(Some(FrrDaemon::Bgpd), &[]), rejected(None, &[])]
        {
            assert!(!refused.is_transient(), "{refused}");
        }
    }
}
