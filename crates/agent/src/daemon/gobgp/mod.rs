//! GoBGP as the node's daemon.
//!
//! A [`Gobgp`] is started with a [`Service`], reloaded with another, polled for its sessions and paths, and stopped. It
//! is queried over its API ([`api`]), and configured by its file and a signal.
//!
//! The order on a node: ports up, router advertisements on them, the routers' addresses in the kernel's neighbour
//! table, then gobgpd, with a file without neighbours on ports where no router was discovered
//! ([`without_undiscovered`](ichor_bgp::agent::gobgp::without_undiscovered)). When a router is discovered later, or its
//! address changes, [`Gobgp::reload`] loads a newly rendered file.
//!
//! Not here: kernel routes, which follow from [`Gobgp::paths`] whenever [`Gobgp::changes`] reports a change.

pub mod api;
mod dialect;
mod message;
mod peer;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ichor_bgp::agent::gobgp;
use ichor_bgp::agent::gobgp::GobgpConfig;
use ichor_bgp::agent::{Session, detection};
use ichor_bgp::render::Service;
use ichor_system::file::ReplaceError;
use ipnet::IpNet;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use super::paths::{ConfigCheckError, DaemonPaths, options};
use super::process::{OnSigterm, Program, StartError, leftover};
use super::single_process::SingleProcess;
use super::{StopReason, bfd_silence};
use crate::log;
use api::{Api, ApiError, TableChanges};

/// How long gobgpd may take to run the configuration of its file.
const APPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a running gobgpd may take for that after a signal.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(3);
/// How long it may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// gobgpd and its process.
#[derive(Debug)]
pub struct Gobgp {
    paths: DaemonPaths,
    process: SingleProcess,
    /// The service that it runs.
    service: Service,
    /// The node's own addresses that it announces.
    own: BTreeSet<IpNet>,
}

/// An operation on gobgpd failed.
#[derive(Debug, thiserror::Error)]
pub enum GobgpError {
    /// gobgpd rejected the file.
    #[error(transparent)]
    Check(#[from] ConfigCheckError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] ReplaceError),
    /// The process cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The process ended before gobgpd responded.
    #[error("gobgpd ended during its start: {0}; its output is in the log")]
    Ended(String),
    /// gobgpd does not respond.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The running configuration differs from the file.
    #[error("gobgpd does not run its configuration: {}; its output is in the log", .0.join(", "))]
    Differs(Vec<String>),
}

/// Validates a file with gobgpd's own parser, and changes nothing.
pub async fn check(paths: &DaemonPaths, service: &Service) -> Result<(), ConfigCheckError> {
    paths.check(service, "gobgpd", &["-d", "-p", "-f"]).await
}

impl Gobgp {
    /// Validates and writes its file, starts it with the node's own addresses, and waits until it runs the
    /// configuration.
    ///
    /// After an unclean exit of an earlier gobgpd, neighbours may still have its routes: gobgpd then recovers from a
    /// restart.
    pub async fn start(
        paths: DaemonPaths,
        service: &Service,
        own: BTreeSet<IpNet>,
    ) -> Result<Self, GobgpError> {
        check(&paths, service).await?;
        paths.write(service)?;
        let mut gobgp = Self { paths, process: SingleProcess::default(), service: service.clone(), own };
        if let Ok(mut leftover_api) = Api::connect(&gobgp.socket()).await {
            let _ = leftover_api.pause().await;
        }
        leftover::stop_leftovers(&["gobgpd"], &[&gobgp.listen_address()], STOP_TIMEOUT).await;
        gobgp.ensure_running().await.map(|()| gobgp)
    }

    /// Starts gobgpd unless it is starting already, waits until it runs its configuration, and adds the node's own
    /// addresses.
    async fn ensure_running(&mut self) -> Result<(), GobgpError> {
        if !self.process.is_starting() {
            DaemonPaths::clear(&self.socket())?;
            let recovers = self.paths.record_start()?;
            self.process.start(self.program(recovers))?;
        }
        let start = Instant::now();
        loop {
            match self.differences().await {
                Ok(missing) if missing.is_empty() => break,
                Ok(missing) if start.elapsed() >= APPLY_TIMEOUT => return Err(GobgpError::Differs(missing)),
                Err(error) if start.elapsed() >= APPLY_TIMEOUT => return Err(error.into()),
                _ => {}
            }
            tokio::select! {
                status = self.process.ended() => return Err(GobgpError::Ended(status)),
                () = sleep(POLL_INTERVAL) => {}
            }
        }
        self.announce_own().await?;
        self.process.record_recovery();
        Ok(())
    }

    fn program(&self, recovers: bool) -> Program {
        let file = self.paths.file(&self.service).to_string_lossy().into_owned();
        let mut arguments = vec!["-p".to_owned(), "-f".to_owned(), file];
        arguments.extend(recovers.then(|| "-r".to_owned()));
        arguments.extend(options(&self.service, "gobgpd"));
        // The last value counts: the agent uses its own socket.
        arguments.extend(["--api-hosts".to_owned(), self.listen_address()]);
        let (name, path) = ("gobgpd".to_owned(), self.paths.program.clone());
        Program { name, path, arguments, on_sigterm: OnSigterm::KillSilently }
    }

    /// The differences between the file and the running configuration.
    async fn differences(&self) -> Result<Vec<String>, ApiError> {
        let mut api = Api::connect(&self.socket()).await?;
        if api.asn().await?.is_none() {
            return Ok(vec!["it has not started".to_owned()]);
        }
        Ok(GobgpConfig::parse(self.service.text()).missing_in(&api.running().await?))
    }

    /// Waits until gobgpd fails, restarts it, and returns what was wrong. Cancel safe.
    pub async fn supervise(&mut self) -> String {
        loop {
            let socket = self.socket();
            let alive = async || responds(&socket).await;
            let reason = self.process.wait_for_failure(alive).await;
            match self.ensure_running().await {
                Ok(()) => return reason,
                Err(error) => {
                    log::error(format_args!("cannot restart gobgpd: {error}"));
                    self.process.abandon();
                }
            }
        }
    }

    /// Loads another file into the running gobgpd. Sessions stay up as far as the change permits.
    ///
    /// gobgpd applies most changes, but of several neighbours with changed settings only the first. So it is restarted,
    /// as planned, if it does not run the complete configuration. A file that it cannot parse changes nothing.
    pub async fn reload(&mut self, service: &Service) -> Result<(), GobgpError> {
        check(&self.paths, service).await?;
        self.paths.write(service)?;
        let before = std::mem::replace(&mut self.service, service.clone());
        if let Some(pid) = self.process.pid().and_then(|pid| i32::try_from(pid).ok()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGHUP);
        }
        let start = Instant::now();
        while start.elapsed() < RELOAD_TIMEOUT {
            if self.differences().await?.is_empty() {
                return Ok(());
            }
            sleep(POLL_INTERVAL).await;
        }
        log::warn("gobgpd does not run its complete configuration; restarting it");
        self.kill().await;
        bfd_silence::wait_until_detected(detection::gobgp_detection_time(before.text())).await;
        self.ensure_running().await
    }

    /// Announces exactly these addresses of the node from now on.
    pub async fn announce(&mut self, own: BTreeSet<IpNet>) -> Result<(), ApiError> {
        self.own = own;
        self.announce_own().await
    }

    async fn announce_own(&self) -> Result<(), ApiError> {
        let mut api = Api::connect(&self.socket()).await?;
        let added = api.paths().await?.into_iter().filter(|path| path.from.is_none());
        let has: BTreeSet<IpNet> = added.map(|path| path.net).collect();
        for net in self.own.difference(&has) {
            api.add_path(*net).await?;
        }
        for net in has.difference(&self.own) {
            api.delete_path(*net).await?;
        }
        Ok(())
    }

    /// The BGP sessions.
    pub async fn sessions(&self) -> Result<Vec<Session>, ApiError> {
        Api::connect(&self.socket()).await?.sessions().await
    }

    /// The paths of its table.
    pub async fn paths(&self) -> Result<Vec<gobgp::BgpPath>, ApiError> {
        Api::connect(&self.socket()).await?.paths().await
    }

    /// Sends all routes to neighbours again, including withdrawals.
    pub async fn readvertise(&self) -> Result<(), ApiError> {
        Api::connect(&self.socket()).await?.readvertise().await
    }

    /// Changes of its table from now on.
    pub async fn changes(&self) -> Result<TableChanges, ApiError> {
        Ok(Api::connect(&self.socket()).await?.changes())
    }

    /// Whether it responds.
    pub async fn alive(&self) -> bool {
        responds(&self.socket()).await
    }

    /// The process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// Stops gobgpd.
    pub async fn stop(mut self, reason: StopReason) {
        match reason {
            StopReason::Planned => {
                self.kill().await;
                bfd_silence::wait_until_detected(detection::gobgp_detection_time(self.service.text())).await;
            }
            StopReason::Leaving => {
                if let Err(error) = self.close_sessions().await {
                    log::warn(format_args!("cannot close the BGP sessions of the leaving node: {error}"));
                }
                self.kill().await;
                self.paths.record_clean_stop();
            }
        }
    }

    /// Closes its sessions, so that neighbours drop the node's routes immediately.
    async fn close_sessions(&self) -> Result<(), ApiError> {
        Api::connect(&self.socket()).await?.close().await
    }

    /// Ends the process without closing sessions.
    async fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill_and_wait().await;
        }
    }

    fn socket(&self) -> PathBuf {
        self.paths.run("gobgpd.sock")
    }

    fn listen_address(&self) -> String {
        format!("unix://{}", self.socket().display())
    }
}

async fn responds(socket: &Path) -> bool {
    let reply = async { Api::connect(socket).await?.asn().await };
    matches!(reply.await, Ok(Some(_)))
}
