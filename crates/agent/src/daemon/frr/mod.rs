//! FRR on a node: a suite of daemons that is started, configured, supervised and stopped.
//!
//! [`FrrInstallation::find`] finds FRR, and [`check`] validates a configuration: neither changes anything.
//! [`FrrRunDir::create`] is the directory of its sockets. [`Suite::start`] starts and configures the daemons;
//! [`Suite::supervise`] is awaited from then on: it detects daemons that end or hang, and recovers them.
//! [`Suite::reload`] changes the configuration, [`Suite::stop`] ends it all.
//!
//! All communication uses the daemons' own sockets (`vty`, `load`): no shell, no vtysh, no file. A complete
//! configuration and a change of one word are the same: the differences are sent.
//!
//! Not here: the content of a configuration (`core`), the kernel's links and routes, router solicitations.

mod check;
mod liveness;
mod load;
mod run_dir;
mod vty;

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::{join_all, select_all};
use ichor_bgp::agent::Session;
use ichor_bgp::agent::detection;
use ichor_bgp::agent::frr;
use ichor_bgp::agent::frr::{DaemonRun, DaemonsFileError, InstalledRoute, ReplyError};
use ichor_bgp::reload::FrrDaemon;
use ichor_bgp::render::Service;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

pub use check::{FrrCheckError, check};
pub use load::RejectedLines;
pub(super) use run_dir::PROGRAMS;
pub use run_dir::{FrrInstallError, FrrInstallation, FrrRunDir};
pub use vty::{Vty, VtyError, VtyReply};

use super::process::{OnSigterm, Program, StartError, SupervisedProcess, leftover};
use super::{StopReason, bfd_silence};
use crate::log;
use liveness::{LivenessProbe, UnresponsiveProcess};
use load::{TargetConfig, load};

/// How long a daemon may take to respond after its start.
const START_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a daemon may take to end. Talos gives the agent and its daemons 10 s.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The pause before another attempt to configure a daemon.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// FRR failed.
#[derive(Debug, thiserror::Error)]
pub enum FrrError {
    /// Its `daemons` file is invalid.
    #[error(transparent)]
    Daemons(#[from] DaemonsFileError),
    /// A daemon cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A daemon ended during its start.
    #[error("{daemon} ended while it was started: {status}")]
    Ended {
        /// The daemon.
        daemon: FrrDaemon,
        /// Its exit status.
        status: String,
    },
    /// A daemon does not respond after its start.
    #[error("{daemon} has not answered within {} s of its start", START_TIMEOUT.as_secs())]
    NeverReady {
        /// The daemon.
        daemon: FrrDaemon,
    },
    /// A daemon cannot be reached.
    #[error(transparent)]
    Talk(#[from] VtyError),
    /// A daemon's reply cannot be parsed.
    #[error(transparent)]
    Strange(#[from] ReplyError),
    /// The configuration was rejected, and the previous one runs again.
    #[error("FRR refuses the configuration and keeps the previous one")]
    Refused(#[source] RejectedLines),
    /// The configuration was rejected, and the previous one could not be restored.
    #[error("FRR refuses the configuration, and the previous one cannot be restored ({back})")]
    Stuck {
        /// What differs from the previous configuration.
        back: String,
        /// What was rejected.
        source: RejectedLines,
    },
}

impl FrrError {
    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Refused(rejected) | Self::Stuck { source: rejected, .. } => rejected.is_transient(),
            Self::Talk(error) => error.is_transient(),
            Self::Ended { .. } | Self::NeverReady { .. } => true,
            Self::Daemons(_) | Self::Start(_) | Self::Strange(_) => false,
        }
    }
}

/// A daemon that failed and recovered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredDaemon {
    /// The daemon.
    pub daemon: FrrDaemon,
    /// What was wrong.
    pub reason: String,
}

/// FRR's daemons.
#[derive(Debug)]
pub struct Suite {
    run_dir: FrrRunDir,
    target: TargetConfig,
    members: Vec<SuiteMember>,
    unresponsive: mpsc::Receiver<UnresponsiveProcess>,
    to_unresponsive: mpsc::Sender<UnresponsiveProcess>,
    rejected: Option<RejectedLines>,
}

#[derive(Debug)]
struct SuiteMember {
    run: DaemonRun,
    process: SupervisedProcess,
    watch: Option<LivenessProbe>,
    /// The deadline for its first response, until it responds.
    due: Option<Instant>,
    /// Whether it has received its configuration.
    is_configured: bool,
    /// What was wrong, until it has recovered.
    failure: Option<String>,
}

impl SuiteMember {
    fn new(run_dir: &FrrRunDir, run: DaemonRun) -> Self {
        let mut arguments = run.options.clone();
        arguments.extend(run_dir.arguments(run.daemon));
        let path = run_dir.install().program(run.daemon);
        // bgpd would withdraw its routes from a zebra that still runs, and its neighbours from bfdd. bfdd would signal
        // neighbours that the path is down, and they would drop the node's routes before bgpd has closed its sessions.
        let is_stopped_by_agent = matches!(run.daemon, FrrDaemon::Bgpd | FrrDaemon::Bfdd);
        let on_sigterm = if is_stopped_by_agent { OnSigterm::Blocked } else { OnSigterm::Default };
        let program = Program { name: run.daemon.to_string(), path, arguments, on_sigterm };
        Self {
            run,
            process: SupervisedProcess::new(program),
            watch: None,
            due: None,
            is_configured: false,
            failure: None,
        }
    }

    fn start(&mut self, run_dir: &FrrRunDir) -> Result<(), StartError> {
        if self.process.pid().is_none() {
            run_dir.remove_leftovers(self.run.daemon);
            self.due = None;
            self.is_configured = false;
        }
        self.process.start()
    }

    /// Waits until the daemon responds and other daemons can connect to it. The deadline stays the same if this is
    /// cancelled.
    async fn wait_until_ready(&mut self, run_dir: &FrrRunDir) -> Result<(), FrrError> {
        let daemon = self.run.daemon;
        let (socket, service_sockets) = (run_dir.socket(daemon), run_dir.service_sockets(daemon));
        let responds = async {
            loop {
                let is_open = service_sockets.iter().all(|socket| socket.exists()) && socket.exists();
                if is_open && Vty::open(daemon.name(), &socket).await.is_ok() {
                    return;
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        let due = *self.due.get_or_insert_with(|| Instant::now() + START_TIMEOUT);
        let status = tokio::select! {
            done = timeout_at(due, responds) => match done {
                Ok(()) => {
                    self.due = None;
                    return Ok(());
                }
                Err(_) => {
                    self.process.kill();
                    return Err(FrrError::NeverReady { daemon });
                }
            },
            status = self.process.ended() => status,
        };
        self.record_end(&status);
        Err(FrrError::Ended { daemon, status })
    }

    /// Stops the process: bfdd without a signal to neighbours.
    async fn stop(&mut self) {
        if self.run.daemon == FrrDaemon::Bfdd {
            self.process.kill_and_wait().await;
        } else {
            self.process.stop(STOP_TIMEOUT).await;
        }
    }

    /// Waits until the process ends or, without one, until it may be started again.
    async fn wait_for_change(&mut self) {
        if self.process.pid().is_none() {
            return self.process.may_start().await;
        }
        let status = self.process.ended().await;
        log::warn(format_args!("{} has ended: {status}", self.run.daemon));
        self.record_end(&status);
    }

    fn record_end(&mut self, status: &str) {
        self.failure.get_or_insert_with(|| format!("it ended: {status}"));
        self.watch = None;
        self.is_configured = false;
    }

    fn watch(&mut self, run_dir: &FrrRunDir, to: &mpsc::Sender<UnresponsiveProcess>) {
        let daemon = self.run.daemon;
        self.watch = self
            .process
            .pid()
            .map(|pid| LivenessProbe::start(daemon, pid, run_dir.socket(daemon), to.clone()));
    }
}

impl Suite {
    /// Starts the daemons of a service and configures them. Leftovers of an earlier run are stopped first.
    ///
    /// Lines that the daemons reject are in [`Suite::rejected`]: a node with incomplete routing is better than an
    /// unreachable one.
    pub async fn start(run_dir: FrrRunDir, service: &Service) -> Result<Self, FrrError> {
        let (runs, target) = parse_service(&run_dir, service)?;
        end_leftovers(&run_dir).await;
        let members = runs.into_iter().map(|run| SuiteMember::new(&run_dir, run)).collect();
        let (to_unresponsive, unresponsive) = mpsc::channel(8);
        let mut suite = Self { run_dir, target, members, unresponsive, to_unresponsive, rejected: None };
        suite.bring_up().await?;
        suite.configure_fresh().await?;
        Ok(suite)
    }

    /// The directory of its sockets.
    pub fn run_dir(&self) -> &FrrRunDir {
        &self.run_dir
    }

    /// Its daemons, each with its process id while it runs.
    pub fn daemons(&self) -> impl Iterator<Item = (&'static str, Option<u32>)> {
        self.members.iter().map(|member| (member.run.daemon.name(), member.process.pid()))
    }

    /// zebra's socket, while it runs.
    pub fn zebra(&self) -> Option<PathBuf> {
        let runs = |(name, pid): (&str, Option<u32>)| name == FrrDaemon::Zebra.name() && pid.is_some();
        self.daemons().any(runs).then(|| self.run_dir.socket(FrrDaemon::Zebra))
    }

    /// The release of FRR.
    pub fn version(&self) -> (u16, u16) {
        self.run_dir.install().version()
    }

    /// Lines that should run and do not, or the other way round; none if the configuration is complete.
    pub fn rejected(&self) -> Option<&RejectedLines> {
        self.rejected.as_ref()
    }

    /// Waits until failed daemons have recovered. Cancel safe.
    pub async fn supervise(&mut self) -> Vec<RecoveredDaemon> {
        loop {
            if let Err(error) = self.bring_up().await {
                log::error(error);
            }
            match self.configure_fresh().await {
                Ok(recovered) if !recovered.is_empty() => return recovered,
                Ok(_) => self.wait_for_failure().await,
                Err(error) => {
                    log::error(error);
                    let _ = timeout(RETRY_INTERVAL, self.wait_for_failure()).await;
                }
            }
        }
    }

    /// Changes to the configuration of a service. Sessions stay up where FRR supports it. If the daemons reject a part,
    /// the previous configuration is restored. Must not be cancelled.
    pub async fn reload(&mut self, service: &Service) -> Result<(), FrrError> {
        let (runs, target) = parse_service(&self.run_dir, service)?;
        let before = (self.members.iter().map(|member| member.run.clone()).collect(), self.target.clone());
        let Some(rejected) = self.switch_to(runs, target).await? else {
            self.rejected = None;
            return Ok(());
        };
        match self.switch_to(before.0, before.1).await {
            Ok(None) => Err(FrrError::Refused(rejected)),
            Ok(Some(back)) => {
                let reason = back.to_string();
                self.rejected = Some(back);
                Err(FrrError::Stuck { back: reason, source: rejected })
            }
            Err(error) => Err(FrrError::Stuck { back: error.to_string(), source: rejected }),
        }
    }

    /// Stops every daemon.
    pub async fn stop(mut self, reason: StopReason) {
        self.members.iter_mut().for_each(|member| member.watch = None);
        let is_watched = reason == StopReason::Planned && self.member(FrrDaemon::Bfdd).is_some();
        match reason {
            // zebra stops before bgpd, which would otherwise withdraw its routes. bgpd does not close its sessions, so
            // neighbours wait for it. bfdd stops after both: FRR drops the routes of an established session when BFD
            // goes down, even as AdminDown (RFC 5882, section 4.1, says otherwise), and keeps those that wait for a
            // restart.
            StopReason::Planned => {
                self.stop_daemon(FrrDaemon::Zebra, false).await;
                self.stop_daemon(FrrDaemon::Bgpd, true).await;
            }
            StopReason::Leaving => {
                if let Err(error) = self.close_sessions().await {
                    log::warn(format_args!("cannot close the BGP sessions of the leaving node: {error}"));
                }
                self.stop_daemon(FrrDaemon::Bgpd, false).await;
            }
        }
        join_all(self.members.iter_mut().map(SuiteMember::stop)).await;
        self.members.iter().for_each(|member| self.run_dir.remove_leftovers(member.run.daemon));
        bfd_silence::wait_until_detected(
            is_watched.then(|| detection::frr_detection_time(&self.target.configuration)),
        )
        .await;
    }

    /// The BGP sessions.
    pub async fn sessions(&self) -> Result<Vec<Session>, FrrError> {
        let neighbors = self.query(FrrDaemon::Bgpd, frr::NEIGHBORS).await?;
        let bfd = self.members.iter().any(|member| member.run.daemon == FrrDaemon::Bfdd);
        let peers = if bfd { Some(self.query(FrrDaemon::Bfdd, frr::PEERS).await?) } else { None };
        Ok(frr::sessions(&neighbors, peers.as_deref())?)
    }

    /// The BGP routes in the kernel, according to zebra.
    pub async fn routes(&self) -> Result<Vec<InstalledRoute>, FrrError> {
        let [v4, v6] = frr::ROUTES;
        let v4 = self.query(FrrDaemon::Zebra, v4).await?;
        let v6 = self.query(FrrDaemon::Zebra, v6).await?;
        Ok(frr::routes([&v4, &v6])?)
    }

    /// Closes every session, because the node leaves: with graceful restart, bgpd itself would end without closing
    /// them.
    async fn close_sessions(&self) -> Result<(), FrrError> {
        let mut vty = Vty::open(FrrDaemon::Bgpd.name(), &self.run_dir.socket(FrrDaemon::Bgpd)).await?;
        let mut commands = vec!["enable", "configure terminal"];
        let lines = self.target.configuration.lines().iter();
        let instances = lines.filter(|line| line.above.is_empty() && line.text.starts_with("router bgp "));
        commands
            .extend(instances.flat_map(|line| [line.text.as_str(), "bgp shutdown message leaving", "exit"]));
        vty.send(&commands).await?;
        Ok(())
    }

    async fn query(&self, daemon: FrrDaemon, command: &str) -> Result<String, VtyError> {
        let mut vty = Vty::open(daemon.name(), &self.run_dir.socket(daemon)).await?;
        // bfdd replies to nothing without this.
        vty.query("enable").await?;
        vty.query(command).await
    }

    fn member(&mut self, daemon: FrrDaemon) -> Option<&mut SuiteMember> {
        self.members.iter_mut().find(|member| member.run.daemon == daemon)
    }

    async fn stop_daemon(&mut self, daemon: FrrDaemon, kill: bool) {
        let Some(member) = self.member(daemon) else { return };
        member.watch = None;
        member.is_configured = false;
        if kill { member.process.kill_and_wait().await } else { member.stop().await }
    }

    /// Starts the daemons that are due. A daemon that does not find another retries much later, so the others are
    /// started first.
    async fn bring_up(&mut self) -> Result<(), FrrError> {
        for stage in [
            &[FrrDaemon::Mgmtd][..],
            &[FrrDaemon::Zebra],
            &[FrrDaemon::Bfdd, FrrDaemon::Staticd, FrrDaemon::Bgpd],
        ] {
            let run_dir = &self.run_dir;
            let due = |member: &&mut SuiteMember| {
                stage.contains(&member.run.daemon)
                    && member.process.pid().is_none()
                    && member.process.is_due()
            };
            let mut started: Vec<_> = self.members.iter_mut().filter(due).collect();
            for member in &mut started {
                member.start(run_dir)?;
            }
            for result in join_all(started.into_iter().map(|member| member.wait_until_ready(run_dir))).await {
                result?;
            }
        }
        Ok(())
    }

    /// Configures the daemons that have not been configured since their start.
    async fn configure_fresh(&mut self) -> Result<Vec<RecoveredDaemon>, FrrError> {
        let unconfigured =
            |member: &&mut SuiteMember| member.process.pid().is_some() && !member.is_configured;
        let run_dir = &self.run_dir;
        for result in join_all(
            self.members.iter_mut().filter(unconfigured).map(|member| member.wait_until_ready(run_dir)),
        )
        .await
        {
            result?;
        }
        self.members
            .iter_mut()
            .filter(unconfigured)
            .for_each(|member| member.watch(run_dir, &self.to_unresponsive));
        let fresh: Vec<FrrDaemon> =
            self.members.iter_mut().filter(unconfigured).map(|member| member.run.daemon).collect();
        if fresh.is_empty() {
            return Ok(Vec::new());
        }
        let loaded = load(&self.target, self.sockets(&fresh), true).await?;
        self.rejected = self.collect_rejected(loaded);
        if let Some(rejected) = &self.rejected {
            log::error(format_args!("FRR does not run its complete configuration: {rejected}"));
        }
        let mut recovered = Vec::new();
        for member in self.members.iter_mut().filter(|member| fresh.contains(&member.run.daemon)) {
            member.is_configured = true;
            recovered.extend(
                member.failure.take().map(|reason| RecoveredDaemon { daemon: member.run.daemon, reason }),
            );
        }
        let zebra = recovered.iter().any(|recovered| recovered.daemon == FrrDaemon::Zebra);
        if zebra && !fresh.contains(&FrrDaemon::Bgpd) {
            self.resend_routes().await?;
        }
        Ok(recovered)
    }

    /// Makes bgpd send its routes to a restarted zebra. bgpd of FRR 8 does not do so itself: it has to learn them
    /// again.
    async fn resend_routes(&mut self) -> Result<(), FrrError> {
        if self.version().0 >= 9 {
            return Ok(());
        }
        self.stop_daemon(FrrDaemon::Bgpd, true).await;
        self.bring_up().await?;
        Box::pin(self.configure_fresh()).await?;
        Ok(())
    }

    fn sockets(&self, daemons: &[FrrDaemon]) -> Vec<(FrrDaemon, std::path::PathBuf)> {
        daemons.iter().map(|&daemon| (daemon, self.run_dir.socket(daemon))).collect()
    }

    /// The rejected lines, and the lines that no daemon here accepts.
    fn collect_rejected(&self, loaded: Result<(), RejectedLines>) -> Option<RejectedLines> {
        let daemons: Vec<FrrDaemon> = self.members.iter().map(|member| member.run.daemon).collect();
        let unaccepted = self.target.unaccepted_lines(&daemons);
        let mut found = loaded.err().unwrap_or_default();
        found.missing.extend(unaccepted.into_iter().map(|line| (None, line)));
        (!found.missing.is_empty() || !found.extra.is_empty()).then_some(found)
    }

    /// Waits until a daemon ends or hangs, or may be started again.
    async fn wait_for_failure(&mut self) {
        let changes = select_all(self.members.iter_mut().map(|member| Box::pin(member.wait_for_change())));
        let found = tokio::select! {
            _ = changes => return,
            found = self.unresponsive.recv() => found,
        };
        let same =
            |member: &&mut SuiteMember| found.as_ref().is_some_and(|it| member.process.pid() == Some(it.pid));
        if let Some(member) = self.members.iter_mut().find(same) {
            log::error(format_args!("{} does not respond; replacing it", member.run.daemon));
            member.failure = Some("it did not answer".to_owned());
            member.watch = None;
            member.process.kill();
        }
    }

    /// Runs these daemons with this configuration; returns the rejected lines.
    async fn switch_to(
        &mut self,
        runs: Vec<DaemonRun>,
        target: TargetConfig,
    ) -> Result<Option<RejectedLines>, FrrError> {
        let is_new_profile = self.target.profile() != target.profile();
        self.target = target;
        let wanted: Vec<FrrDaemon> = runs.iter().map(|run| run.daemon).collect();
        for run in runs {
            let same = |member: &SuiteMember| member.run == run && !is_new_profile;
            match self.members.iter_mut().find(|member| member.run.daemon == run.daemon) {
                Some(member) if same(member) => {}
                Some(member) => {
                    member.watch = None;
                    member.stop().await;
                    *member = SuiteMember::new(&self.run_dir, run);
                }
                None => self.members.push(SuiteMember::new(&self.run_dir, run)),
            }
        }
        self.members.sort_by_key(|member| member.run.daemon);
        self.bring_up().await?;
        let is_running = |member: &&SuiteMember| member.is_configured && wanted.contains(&member.run.daemon);
        let configured: Vec<FrrDaemon> =
            self.members.iter().filter(is_running).map(|member| member.run.daemon).collect();
        let restarted =
            self.members.iter().any(|member| member.run.daemon == FrrDaemon::Zebra && !member.is_configured);
        self.configure_fresh().await?;
        let loaded = load(&self.target, self.sockets(&configured), false).await?;
        let mut gone: Vec<SuiteMember> = Vec::new();
        for member in std::mem::take(&mut self.members) {
            if wanted.contains(&member.run.daemon) { self.members.push(member) } else { gone.push(member) }
        }
        join_all(gone.iter_mut().map(SuiteMember::stop)).await;
        if restarted {
            self.resend_routes().await?;
        }
        let fresh = self.rejected.take();
        Ok(self.collect_rejected(loaded).or(fresh))
    }
}

fn parse_service(run_dir: &FrrRunDir, service: &Service) -> Result<(Vec<DaemonRun>, TargetConfig), FrrError> {
    let version = run_dir.install().version();
    Ok((frr::daemons(service.daemons(), version)?, TargetConfig::parse(service.text(), version)))
}

/// Stops the daemons of a killed agent.
async fn end_leftovers(run_dir: &FrrRunDir) {
    for &daemon in FrrDaemon::in_release(run_dir.install().version()) {
        // These block SIGTERM.
        let blocks_sigterm = matches!(daemon, FrrDaemon::Bgpd | FrrDaemon::Bfdd);
        let timeout = if blocks_sigterm { Duration::from_millis(100) } else { STOP_TIMEOUT };
        leftover::stop_leftovers(&[daemon.name()], &[&run_dir.pid_argument(daemon)], timeout).await;
    }
}
