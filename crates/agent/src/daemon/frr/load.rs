//! Bringing running daemons to a configuration: what differs is told, and what runs then is compared with what is meant.
//!
//! A daemon that was just started is told in the same way: everything differs.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use ichor_bgp::reload::{ConfigChange, FrrConfig, FrrDaemon, Line, compare, difference, in_order};
use tokio::time::{Instant, sleep};

use super::vty::{Vty, VtyError, VtyReply};
use crate::log;

/// mgmtd hands on what it was told after it has answered.
const SETTLING: Duration = Duration::from_secs(1);
/// The time that somebody else may write the configuration, and the pause between two looks whether they still do.
const LOCKED: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(20);

/// Lines that say how a daemon reads all others. They are told first, to every daemon, and once: they are not compared.
const FIRST: [&str; 7] = [
    "frr defaults",
    "hostname",
    "domainname",
    "service",
    "ip forwarding",
    "ipv6 forwarding",
    "zebra nexthop kernel",
];

/// What shall run, for a release.
#[derive(Clone, Debug)]
pub(super) struct TargetConfig {
    pub(super) version: (u16, u16),
    pub(super) first: Vec<String>,
    pub(super) configuration: FrrConfig,
}

impl TargetConfig {
    pub(super) fn of(text: &str, version: (u16, u16)) -> Self {
        let bare = |line: &str| line.strip_prefix("no ").unwrap_or(line).to_owned();
        let is_first = |line: &&str| FIRST.iter().any(|first| bare(line).starts_with(first));
        let first = text.lines().map(str::trim_end).filter(is_first).map(str::to_owned).collect();
        Self { version, first, configuration: FrrConfig::parse(text) }
    }

    /// The lines that none of these daemons is told.
    pub(super) fn of_nobody(&self, daemons: &[FrrDaemon]) -> Vec<Line> {
        let taken = |line: &&Line| daemons.iter().any(|daemon| daemon.takes(self.version, line));
        self.configuration.lines().iter().filter(|line| !taken(line)).cloned().collect()
    }

    /// The line that only a start can change.
    pub(super) fn profile(&self) -> Option<&str> {
        self.first.iter().map(String::as_str).find(|line| line.starts_with("frr defaults"))
    }
}

/// What daemons were meant to run and do not, or the other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct RejectedLines {
    /// Lines that a daemon should run; no daemon where none here would take the line.
    pub missing: Vec<(Option<FrrDaemon>, Line)>,
    /// Lines that a daemon should not run any more.
    pub extra: Vec<(FrrDaemon, Line)>,
    /// What the daemons said, in their own words.
    pub said: Vec<String>,
}

/// What mgmtd of FRR 10.3 says when not the line is wrong: what it was told a moment ago is gone, as with a port that the daemon behind
/// it did not know so far; or somebody else writes.
const PASSING: [&str; 2] = ["deleted by another process", "could not lock"];

impl RejectedLines {
    /// Whether the same may be taken when it is told again. What mgmtd does not run although nobody said no is lost, and not refused: as
    /// with a port that went and came back at once (FRR 10.3).
    pub fn passes(&self) -> bool {
        let of_mgmtd = |daemon: Option<FrrDaemon>| daemon == Some(FrrDaemon::Mgmtd);
        let is_lost = self.missing.iter().all(|(daemon, _)| of_mgmtd(*daemon))
            && self.extra.iter().all(|(daemon, _)| of_mgmtd(Some(*daemon)));
        if self.said.is_empty() {
            return is_lost;
        }
        self.said.iter().any(|said| PASSING.iter().any(|words| said.contains(words)))
    }
}

impl fmt::Display for RejectedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.missing.iter().map(|(daemon, line)| match daemon {
            Some(daemon) => format!("{daemon} has not taken `{line}`"),
            None => format!("no daemon that runs here takes `{line}`"),
        });
        let extra = self.extra.iter().map(|(daemon, line)| format!("{daemon} keeps `{line}`"));
        let said = self.said.iter().cloned();
        f.write_str(&missing.chain(extra).chain(said).collect::<Vec<_>>().join("; "))
    }
}

/// A daemon that is told.
pub(super) struct ConfigSession {
    daemon: FrrDaemon,
    vty: Vty,
}

impl ConfigSession {
    async fn open(daemon: FrrDaemon, socket: PathBuf) -> Result<Self, VtyError> {
        let mut vty = Vty::open(daemon.name(), &socket).await?;
        vty.ask("enable").await?;
        Ok(Self { daemon, vty })
    }

    /// What it runs of what it can be told.
    async fn running(&mut self, version: (u16, u16)) -> Result<FrrConfig, VtyError> {
        let text = self.vty.ask("show running-config").await?;
        Ok(FrrConfig::parse(&text).of(self.daemon, version))
    }

    /// Opens the configuration, as vtysh does: with a file to start with, FRR from 9 on wants it locked for a file.
    async fn begin(&mut self, intent: &TargetConfig, fresh: bool) -> Result<(), VtyError> {
        let lock = if fresh && intent.version.0 >= 9 { " file-lock" } else { "" };
        self.open_configuration(&format!("configure terminal{lock}")).await?;
        if fresh {
            self.vty.ask("XFRR_start_configuration").await?;
        }
        // Not all of them know all of these.
        self.vty.tell(&intent.first).await?;
        if !fresh {
            self.vty.ask(ConfigChange::END).await?;
        }
        Ok(())
    }

    /// mgmtd lets one write at a time, and is itself one of those who do for a moment after its start.
    async fn open_configuration(&mut self, command: &str) -> Result<(), VtyError> {
        let start = Instant::now();
        loop {
            match self.vty.ask(command).await {
                Err(error) if error.is_locked() && start.elapsed() < LOCKED => sleep(PAUSE).await,
                done => return done.map(drop),
            }
        }
    }

    /// Tells changes in one go; what was not done is returned.
    async fn tell(&mut self, changes: Vec<ConfigChange>, fresh: bool) -> Result<Vec<String>, VtyError> {
        let commands: Vec<Vec<String>> = changes.iter().map(|change| commands(change, fresh)).collect();
        let answers = self.vty.tell(&commands.concat()).await?;
        let mut answers = answers.iter();
        let mut against = Vec::new();
        for (change, commands) in changes.iter().zip(&commands) {
            let refusals = answers.by_ref().take(commands.len()).filter_map(VtyReply::refusal);
            against.extend(
                refusals.map(|refusal| format!("{} on `{}`: {refusal}", self.daemon, change.line)).take(1),
            );
        }
        Ok(against)
    }
}

/// What is sent for a change. What a daemon starts with is one file to it, and may not be closed in between.
fn commands(change: &ConfigChange, fresh: bool) -> Vec<String> {
    if !fresh {
        return change.commands();
    }
    let mut commands = change.line.path();
    let deep = change.line.above.len() + usize::from(change.line.opens().is_some());
    commands.extend(std::iter::repeat_n("exit".to_owned(), deep));
    commands
}

/// Brings daemons to what is meant. `fresh` ones read it as the file they start with: bgpd connects to nobody before its end.
pub(super) async fn load(
    intent: &TargetConfig,
    daemons: Vec<(FrrDaemon, PathBuf)>,
    fresh: bool,
) -> Result<Result<(), RejectedLines>, VtyError> {
    let mut told =
        try_join_all(daemons.into_iter().map(|(daemon, socket)| ConfigSession::open(daemon, socket))).await?;
    let running = told.iter_mut().map(|told| async {
        let running = told.running(intent.version).await?;
        told.begin(intent, fresh).await?;
        Ok::<_, VtyError>((told.daemon, running))
    });
    let running = try_join_all(running).await?;
    let changes = running.iter().map(|(daemon, running)| {
        (*daemon, difference(running, &intent.configuration.of(*daemon, intent.version)))
    });
    let said = make(&mut told, in_order(changes), fresh).await;
    if fresh {
        join_all(told.iter_mut().map(|told| told.vty.tell(&["XFRR_end_configuration", ConfigChange::END])))
            .await;
    }
    let said = said?;
    if !said.is_empty() {
        log::debug(format_args!("said on the way: {}", said.join("; ")));
    }
    settled(intent, &mut told, said).await
}

/// Makes changes, one phase after the other.
async fn make(
    told: &mut [ConfigSession],
    changes: Vec<(FrrDaemon, ConfigChange)>,
    fresh: bool,
) -> Result<Vec<String>, VtyError> {
    let mut said = Vec::new();
    for phase in changes.chunk_by(|(_, one), (_, other)| one.phase == other.phase) {
        let all = told.iter_mut().map(|told| {
            let own = phase.iter().filter(|(daemon, _)| *daemon == told.daemon);
            let own: Vec<ConfigChange> = own.map(|(_, change)| change.clone()).collect();
            told.tell(own, fresh)
        });
        said.extend(try_join_all(all).await?.concat());
    }
    Ok(said)
}

/// Compares until what runs is what is meant, or time is up.
async fn settled(
    intent: &TargetConfig,
    told: &mut [ConfigSession],
    said: Vec<String>,
) -> Result<Result<(), RejectedLines>, VtyError> {
    let start = Instant::now();
    loop {
        let mut result = RejectedLines { missing: Vec::new(), extra: Vec::new(), said: said.clone() };
        for told in told.iter_mut() {
            let running = told.running(intent.version).await?;
            let found = compare(&running, &intent.configuration.of(told.daemon, intent.version));
            result.missing.extend(found.missing.into_iter().map(|line| (Some(told.daemon), line)));
            result.extra.extend(found.extra.into_iter().map(|line| (told.daemon, line)));
        }
        if result.missing.is_empty() && result.extra.is_empty() {
            break;
        }
        if start.elapsed() > SETTLING {
            return Ok(Err(result));
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_taken(daemon: Option<FrrDaemon>, said: &[&str]) -> RejectedLines {
        let line = FrrConfig::parse("interface eth1\n no ipv6 nd suppress-ra\nexit\n").lines()[0].clone();
        let said = said.iter().map(|said| (*said).to_owned()).collect();
        RejectedLines { missing: vec![(daemon, line)], extra: Vec::new(), said }
    }

    #[test]
    fn only_what_was_in_the_way_for_a_moment_passes() {
        let mgmtd = Some(FrrDaemon::Mgmtd);
        let gone = "mgmtd on `x`: Current configuration object was deleted by another process.";
        let locked = "mgmtd on `x`: % command failed, could not lock candidate DS";

        for passing in [not_taken(mgmtd, &[]), not_taken(mgmtd, &[gone]), not_taken(mgmtd, &[locked])] {
            assert!(passing.passes(), "{passing}");
        }
        let wrong = "mgmtd on `x`: % Unknown command: x";
        for refused in
            [not_taken(mgmtd, &[wrong]), not_taken(Some(FrrDaemon::Bgpd), &[]), not_taken(None, &[])]
        {
            assert!(!refused.passes(), "{refused}");
        }
    }
}
