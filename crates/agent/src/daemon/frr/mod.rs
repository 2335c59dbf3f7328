//! FRR on a node: a suite of daemons that is started, told its configuration, watched, and stopped.
//!
//! [`FrrInstallation::find`] finds FRR, and [`check`] asks it about a configuration: both touch nothing. [`FrrRunDir::take`] is a folder for its sockets.
//! [`Suite::start`] starts the daemons and tells them theirs; [`Suite::supervise`] is what the agent waits for from then on: it notices
//! what ended or hangs and puts it right. [`Suite::reload`] changes the configuration, [`Suite::stop`] ends it all.
//!
//! Everything goes over the daemons' own sockets (`vty`, `load`): no shell, no vtysh, no file. A daemon's whole
//! configuration and a change of one word are the same to it: what differs is told.
//!
//! Not here: what a configuration says (`core`), the kernel's links and routes, router solicitations.

mod check;
mod load;
mod place;
mod vty;
mod watch;

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
pub(super) use place::PROGRAMS;
pub use place::{FrrInstallError, FrrInstallation, FrrRunDir};
pub use vty::{Vty, VtyError, VtyReply};

use super::process::{OnSigterm, Program, StartError, SupervisedProcess, leftover};
use super::{StopReason, silence};
use crate::log;
use load::{TargetConfig, load};
use watch::{LivenessProbe, UnresponsiveProcess};

/// The time a daemon has to answer after its start.
const START: Duration = Duration::from_secs(15);
/// The time a daemon has to end. Talos gives the whole agent 10 s.
const END: Duration = Duration::from_secs(2);

/// The time after which a daemon that could not be told its configuration is told again.
const AGAIN: Duration = Duration::from_secs(1);

/// FRR does not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum FrrError {
    /// Its file `daemons` cannot be followed.
    #[error(transparent)]
    Daemons(#[from] DaemonsFileError),
    /// A daemon cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A daemon ended while it was started.
    #[error("{daemon} ended while it was started: {status}")]
    Ended {
        /// Which.
        daemon: FrrDaemon,
        /// How.
        status: String,
    },
    /// A daemon does not answer after its start.
    #[error("{daemon} has not answered within {} s of its start", START.as_secs())]
    NeverReady {
        /// Which.
        daemon: FrrDaemon,
    },
    /// A daemon cannot be talked to.
    #[error(transparent)]
    Talk(#[from] VtyError),
    /// A daemon answers what cannot be read.
    #[error(transparent)]
    Strange(#[from] ReplyError),
    /// The configuration was refused, and the one before runs again.
    #[error("FRR refuses the configuration, and goes on with the one before")]
    Refused(#[source] RejectedLines),
    /// The configuration was refused, and the one before could not be brought back either.
    #[error("FRR refuses the configuration, and cannot go back to the one before ({back})")]
    Stuck {
        /// What is not as it was.
        back: String,
        /// What was refused.
        source: RejectedLines,
    },
}

impl FrrError {
    /// Whether the same may be taken when it is told again.
    pub fn passes(&self) -> bool {
        match self {
            Self::Refused(refused) | Self::Stuck { source: refused, .. } => refused.passes(),
            Self::Talk(error) => error.passes(),
            Self::Ended { .. } | Self::NeverReady { .. } => true,
            Self::Daemons(_) | Self::Start(_) | Self::Strange(_) => false,
        }
    }
}

/// A daemon that was put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredDaemon {
    /// Which.
    pub daemon: FrrDaemon,
    /// What was wrong.
    pub why: String,
}

/// FRR's daemons.
#[derive(Debug)]
pub struct Suite {
    place: FrrRunDir,
    intent: TargetConfig,
    members: Vec<SuiteMember>,
    silent: mpsc::Receiver<UnresponsiveProcess>,
    to_silent: mpsc::Sender<UnresponsiveProcess>,
    refused: Option<RejectedLines>,
}

#[derive(Debug)]
struct SuiteMember {
    run: DaemonRun,
    kept: SupervisedProcess,
    watch: Option<LivenessProbe>,
    /// When it has to answer, until it does.
    due: Option<Instant>,
    /// Whether it was told its configuration.
    told: bool,
    /// What was wrong, until it is put right.
    why: Option<String>,
}

impl SuiteMember {
    fn new(place: &FrrRunDir, run: DaemonRun) -> Self {
        let mut arguments = run.options.clone();
        arguments.extend(place.options(run.daemon));
        let path = place.install().program(run.daemon);
        // bgpd would take its routes back from a zebra that still runs, and its neighbours from bfdd. bfdd would tell neighbours that
        // the path is down, and they would forget the node's routes before bgpd has closed its sessions.
        let is_told_by_agent = matches!(run.daemon, FrrDaemon::Bgpd | FrrDaemon::Bfdd);
        let on_sigterm = if is_told_by_agent { OnSigterm::Blocked } else { OnSigterm::Default };
        let program = Program { name: run.daemon.to_string(), path, arguments, on_sigterm };
        Self { run, kept: SupervisedProcess::new(program), watch: None, due: None, told: false, why: None }
    }

    fn start(&mut self, place: &FrrRunDir) -> Result<(), StartError> {
        if self.kept.pid().is_none() {
            place.clear(self.run.daemon);
            self.due = None;
            self.told = false;
        }
        self.kept.start()
    }

    /// Waits until the daemon answers, and the others can find it. Its time goes on while nobody waits.
    async fn ready(&mut self, place: &FrrRunDir) -> Result<(), FrrError> {
        let daemon = self.run.daemon;
        let (socket, doors) = (place.socket(daemon), place.doors(daemon));
        let answers = async {
            loop {
                let open = doors.iter().all(|door| door.exists()) && socket.exists();
                if open && Vty::open(daemon.name(), &socket).await.is_ok() {
                    return;
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        let due = *self.due.get_or_insert_with(|| Instant::now() + START);
        let status = tokio::select! {
            done = timeout_at(due, answers) => match done {
                Ok(()) => {
                    self.due = None;
                    return Ok(());
                }
                Err(_) => {
                    self.kept.kill();
                    return Err(FrrError::NeverReady { daemon });
                }
            },
            status = self.kept.ended() => status,
        };
        self.fell(&status);
        Err(FrrError::Ended { daemon, status })
    }

    /// Ends the process: bfdd without a word.
    async fn stop(&mut self) {
        if self.run.daemon == FrrDaemon::Bfdd { self.kept.cut().await } else { self.kept.stop(END).await }
    }

    /// Waits until the process ends or, while there is none, until there may be one again.
    async fn changed(&mut self) {
        if self.kept.pid().is_none() {
            return self.kept.may_start().await;
        }
        let status = self.kept.ended().await;
        log::warn(format_args!("{} has ended: {status}", self.run.daemon));
        self.fell(&status);
    }

    fn fell(&mut self, status: &str) {
        self.why.get_or_insert_with(|| format!("it ended: {status}"));
        self.watch = None;
        self.told = false;
    }

    fn watch(&mut self, place: &FrrRunDir, to: &mpsc::Sender<UnresponsiveProcess>) {
        let daemon = self.run.daemon;
        self.watch =
            self.kept.pid().map(|pid| LivenessProbe::start(daemon, pid, place.socket(daemon), to.clone()));
    }
}

impl Suite {
    /// Starts the daemons of a service and tells them their configuration. What an earlier run left is ended first.
    ///
    /// Lines that they do not take are told by [`Suite::refused`]: a node that routes half of what it should is better than
    /// one that cannot be reached.
    pub async fn start(place: FrrRunDir, service: &Service) -> Result<Self, FrrError> {
        let (runs, intent) = read(&place, service)?;
        end_leftovers(&place).await;
        let members = runs.into_iter().map(|run| SuiteMember::new(&place, run)).collect();
        let (to_silent, silent) = mpsc::channel(8);
        let mut suite = Self { place, intent, members, silent, to_silent, refused: None };
        suite.bring_up().await?;
        suite.tell_fresh().await?;
        Ok(suite)
    }

    /// Where it runs.
    pub fn place(&self) -> &FrrRunDir {
        &self.place
    }

    /// Its daemons, each with its process while there is one.
    pub fn daemons(&self) -> impl Iterator<Item = (&'static str, Option<u32>)> {
        self.members.iter().map(|member| (member.run.daemon.name(), member.kept.pid()))
    }

    /// zebra's socket, while it runs.
    pub fn zebra(&self) -> Option<PathBuf> {
        let runs = |(name, pid): (&str, Option<u32>)| name == FrrDaemon::Zebra.name() && pid.is_some();
        self.daemons().any(runs).then(|| self.place.socket(FrrDaemon::Zebra))
    }

    /// The release of FRR.
    pub fn version(&self) -> (u16, u16) {
        self.place.install().version()
    }

    /// What is meant and does not run, or the other way round; none when all is as it should be.
    pub fn refused(&self) -> Option<&RejectedLines> {
        self.refused.as_ref()
    }

    /// Waits until something was wrong with daemons and has been put right. Nothing is lost when it is not waited for any longer.
    pub async fn supervise(&mut self) -> Vec<RecoveredDaemon> {
        loop {
            if let Err(error) = self.bring_up().await {
                log::error(error);
            }
            match self.tell_fresh().await {
                Ok(healed) if !healed.is_empty() => return healed,
                Ok(_) => self.trouble().await,
                Err(error) => {
                    log::error(error);
                    let _ = timeout(AGAIN, self.trouble()).await;
                }
            }
        }
    }

    /// Changes what runs into what a service says. Sessions are kept where FRR can keep them. When the daemons do not take
    /// all of it, the configuration before comes back. It must be waited for to the end.
    pub async fn reload(&mut self, service: &Service) -> Result<(), FrrError> {
        let (runs, intent) = read(&self.place, service)?;
        let before = (self.members.iter().map(|member| member.run.clone()).collect(), self.intent.clone());
        let Some(refused) = self.adopt(runs, intent).await? else {
            self.refused = None;
            return Ok(());
        };
        match self.adopt(before.0, before.1).await {
            Ok(None) => Err(FrrError::Refused(refused)),
            Ok(Some(back)) => {
                let told = back.to_string();
                self.refused = Some(back);
                Err(FrrError::Stuck { back: told, source: refused })
            }
            Err(error) => Err(FrrError::Stuck { back: error.to_string(), source: refused }),
        }
    }

    /// Ends every daemon.
    pub async fn stop(mut self, why: StopReason) {
        self.members.iter_mut().for_each(|member| member.watch = None);
        let is_watched = why == StopReason::Planned && self.member(FrrDaemon::Bfdd).is_some();
        match why {
            // zebra before bgpd, which would else take its routes back. bgpd says no good-bye, so neighbours wait for it. bfdd after
            // both: FRR drops the routes of a session that stands when BFD goes down, be it as AdminDown (RFC 5882, section 4.1,
            // says otherwise), and keeps those that wait for a restart.
            StopReason::Planned => {
                self.end(FrrDaemon::Zebra, false).await;
                self.end(FrrDaemon::Bgpd, true).await;
            }
            StopReason::Leaving => {
                if let Err(error) = self.say_goodbye().await {
                    log::warn(format_args!(
                        "neighbours may not have been told that the node leaves: {error}"
                    ));
                }
                self.end(FrrDaemon::Bgpd, false).await;
            }
        }
        join_all(self.members.iter_mut().map(SuiteMember::stop)).await;
        self.members.iter().for_each(|member| self.place.clear(member.run.daemon));
        silence::noticed(is_watched.then(|| detection::frr(&self.intent.configuration))).await;
    }

    /// What BGP's sessions are like.
    pub async fn sessions(&self) -> Result<Vec<Session>, FrrError> {
        let neighbors = self.ask(FrrDaemon::Bgpd, frr::NEIGHBORS).await?;
        let bfd = self.members.iter().any(|member| member.run.daemon == FrrDaemon::Bfdd);
        let peers = if bfd { Some(self.ask(FrrDaemon::Bfdd, frr::PEERS).await?) } else { None };
        Ok(frr::sessions(&neighbors, peers.as_deref())?)
    }

    /// The routes that BGP gave the kernel, as zebra knows them.
    pub async fn routes(&self) -> Result<Vec<InstalledRoute>, FrrError> {
        let [v4, v6] = frr::ROUTES;
        let v4 = self.ask(FrrDaemon::Zebra, v4).await?;
        let v6 = self.ask(FrrDaemon::Zebra, v6).await?;
        Ok(frr::routes([&v4, &v6])?)
    }

    /// Tells every neighbour that the node leaves: with graceful restart, bgpd ends without a word.
    async fn say_goodbye(&self) -> Result<(), FrrError> {
        let mut vty = Vty::open(FrrDaemon::Bgpd.name(), &self.place.socket(FrrDaemon::Bgpd)).await?;
        let mut commands = vec!["enable", "configure terminal"];
        let lines = self.intent.configuration.lines().iter();
        let instances = lines.filter(|line| line.above.is_empty() && line.text.starts_with("router bgp "));
        commands
            .extend(instances.flat_map(|line| [line.text.as_str(), "bgp shutdown message leaving", "exit"]));
        vty.tell(&commands).await?;
        Ok(())
    }

    async fn ask(&self, daemon: FrrDaemon, question: &str) -> Result<String, VtyError> {
        let mut vty = Vty::open(daemon.name(), &self.place.socket(daemon)).await?;
        // bfdd tells nothing without.
        vty.ask("enable").await?;
        vty.ask(question).await
    }

    fn member(&mut self, daemon: FrrDaemon) -> Option<&mut SuiteMember> {
        self.members.iter_mut().find(|member| member.run.daemon == daemon)
    }

    async fn end(&mut self, daemon: FrrDaemon, cut: bool) {
        let Some(member) = self.member(daemon) else { return };
        member.watch = None;
        member.told = false;
        if cut { member.kept.cut().await } else { member.stop().await }
    }

    /// Starts what does not run and may. A daemon that looks for another in vain looks again much later, so the others are
    /// there first.
    async fn bring_up(&mut self) -> Result<(), FrrError> {
        for stage in [
            &[FrrDaemon::Mgmtd][..],
            &[FrrDaemon::Zebra],
            &[FrrDaemon::Bfdd, FrrDaemon::Staticd, FrrDaemon::Bgpd],
        ] {
            let place = &self.place;
            let due = |member: &&mut SuiteMember| {
                stage.contains(&member.run.daemon) && member.kept.pid().is_none() && member.kept.is_due()
            };
            let mut started: Vec<_> = self.members.iter_mut().filter(due).collect();
            for member in &mut started {
                member.start(place)?;
            }
            for result in join_all(started.into_iter().map(|member| member.ready(place))).await {
                result?;
            }
        }
        Ok(())
    }

    /// Tells those daemons their configuration that were not told it since they started.
    async fn tell_fresh(&mut self) -> Result<Vec<RecoveredDaemon>, FrrError> {
        let untold = |member: &&mut SuiteMember| member.kept.pid().is_some() && !member.told;
        let place = &self.place;
        for result in join_all(self.members.iter_mut().filter(untold).map(|member| member.ready(place))).await
        {
            result?;
        }
        self.members.iter_mut().filter(untold).for_each(|member| member.watch(place, &self.to_silent));
        let fresh: Vec<FrrDaemon> =
            self.members.iter_mut().filter(untold).map(|member| member.run.daemon).collect();
        if fresh.is_empty() {
            return Ok(Vec::new());
        }
        let taken = load(&self.intent, self.sockets(&fresh), true).await?;
        self.refused = self.judge(taken);
        if let Some(refused) = &self.refused {
            log::error(format_args!("FRR does not run all that is meant: {refused}"));
        }
        let mut healed = Vec::new();
        for member in self.members.iter_mut().filter(|member| fresh.contains(&member.run.daemon)) {
            member.told = true;
            healed.extend(member.why.take().map(|why| RecoveredDaemon { daemon: member.run.daemon, why }));
        }
        let zebra = healed.iter().any(|healed| healed.daemon == FrrDaemon::Zebra);
        if zebra && !fresh.contains(&FrrDaemon::Bgpd) {
            self.give_routes_again().await?;
        }
        Ok(healed)
    }

    /// After zebra was replaced. bgpd of FRR 8 does not give its routes to a new zebra: it has to learn them anew.
    async fn give_routes_again(&mut self) -> Result<(), FrrError> {
        if self.version().0 >= 9 {
            return Ok(());
        }
        self.end(FrrDaemon::Bgpd, true).await;
        self.bring_up().await?;
        Box::pin(self.tell_fresh()).await?;
        Ok(())
    }

    fn sockets(&self, daemons: &[FrrDaemon]) -> Vec<(FrrDaemon, std::path::PathBuf)> {
        daemons.iter().map(|&daemon| (daemon, self.place.socket(daemon))).collect()
    }

    /// What was not taken, and what nobody was told because nobody here would take it.
    fn judge(&self, taken: Result<(), RejectedLines>) -> Option<RejectedLines> {
        let daemons: Vec<FrrDaemon> = self.members.iter().map(|member| member.run.daemon).collect();
        let nobody = self.intent.of_nobody(&daemons);
        let mut found = taken.err().unwrap_or_default();
        found.missing.extend(nobody.into_iter().map(|line| (None, line)));
        (!found.missing.is_empty() || !found.extra.is_empty()).then_some(found)
    }

    /// Waits until a daemon ends, hangs, or may be started again.
    async fn trouble(&mut self) {
        let changes = select_all(self.members.iter_mut().map(|member| Box::pin(member.changed())));
        let found = tokio::select! {
            _ = changes => return,
            found = self.silent.recv() => found,
        };
        let same =
            |member: &&mut SuiteMember| found.as_ref().is_some_and(|it| member.kept.pid() == Some(it.pid));
        if let Some(member) = self.members.iter_mut().find(same) {
            log::error(format_args!("{} does not answer and is replaced", member.run.daemon));
            member.why = Some("it did not answer".to_owned());
            member.watch = None;
            member.kept.kill();
        }
    }

    /// Runs these daemons with this configuration; what they do not take is returned.
    async fn adopt(
        &mut self,
        runs: Vec<DaemonRun>,
        intent: TargetConfig,
    ) -> Result<Option<RejectedLines>, FrrError> {
        let anew = self.intent.profile() != intent.profile();
        self.intent = intent;
        let wanted: Vec<FrrDaemon> = runs.iter().map(|run| run.daemon).collect();
        for run in runs {
            let same = |member: &SuiteMember| member.run == run && !anew;
            match self.members.iter_mut().find(|member| member.run.daemon == run.daemon) {
                Some(member) if same(member) => {}
                Some(member) => {
                    member.watch = None;
                    member.stop().await;
                    *member = SuiteMember::new(&self.place, run);
                }
                None => self.members.push(SuiteMember::new(&self.place, run)),
            }
        }
        self.members.sort_by_key(|member| member.run.daemon);
        self.bring_up().await?;
        let told = |member: &&SuiteMember| member.told && wanted.contains(&member.run.daemon);
        let told: Vec<FrrDaemon> = self.members.iter().filter(told).map(|member| member.run.daemon).collect();
        let restarted =
            self.members.iter().any(|member| member.run.daemon == FrrDaemon::Zebra && !member.told);
        self.tell_fresh().await?;
        let taken = load(&self.intent, self.sockets(&told), false).await?;
        let mut gone: Vec<SuiteMember> = Vec::new();
        for member in std::mem::take(&mut self.members) {
            if wanted.contains(&member.run.daemon) { self.members.push(member) } else { gone.push(member) }
        }
        join_all(gone.iter_mut().map(SuiteMember::stop)).await;
        if restarted {
            self.give_routes_again().await?;
        }
        let fresh = self.refused.take();
        Ok(self.judge(taken).or(fresh))
    }
}

fn read(place: &FrrRunDir, service: &Service) -> Result<(Vec<DaemonRun>, TargetConfig), FrrError> {
    let version = place.install().version();
    Ok((frr::daemons(service.daemons(), version)?, TargetConfig::of(service.text(), version)))
}

/// Ends the daemons of an agent that was killed.
async fn end_leftovers(place: &FrrRunDir) {
    for &daemon in FrrDaemon::of(place.install().version()) {
        // These do not hear that they shall end.
        let is_deaf = matches!(daemon, FrrDaemon::Bgpd | FrrDaemon::Bfdd);
        let patience = if is_deaf { Duration::from_millis(100) } else { END };
        leftover::end(&[daemon.name()], &[&place.mark(daemon)], patience).await;
    }
}
