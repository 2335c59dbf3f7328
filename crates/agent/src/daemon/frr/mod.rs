//! FRR on a node: a suite of daemons that is started, told its configuration, watched, and stopped.
//!
//! [`Install::find`] finds FRR, and [`check`] asks it about a configuration: both touch nothing. [`Place::take`] is a folder for its sockets.
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
use ichor_bgp::agent::frr::{Route, Run, Strange, Unrunnable};
use ichor_bgp::reload::Daemon;
use ichor_bgp::render::Service;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

pub use check::{CheckError, check};
pub use load::NotTaken;
pub(super) use place::PROGRAMS;
pub use place::{Install, Place, PlaceError};
pub use vty::{Answer, Vty, VtyError};

use super::process::{OnSigterm, Program, StartError, Supervised, leftover};
use super::{Stop, silence};
use crate::log;
use load::{Intent, load};
use watch::{Silence, Watch};

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
    Daemons(#[from] Unrunnable),
    /// A daemon cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A daemon ended while it was started.
    #[error("{daemon} ended while it was started: {status}")]
    Ended {
        /// Which.
        daemon: Daemon,
        /// How.
        status: String,
    },
    /// A daemon does not answer after its start.
    #[error("{daemon} has not answered within {} s of its start", START.as_secs())]
    NeverReady {
        /// Which.
        daemon: Daemon,
    },
    /// A daemon cannot be talked to.
    #[error(transparent)]
    Talk(#[from] VtyError),
    /// A daemon answers what cannot be read.
    #[error(transparent)]
    Strange(#[from] Strange),
    /// The configuration was refused, and the one before runs again.
    #[error("FRR refuses the configuration, and goes on with the one before")]
    Refused(#[source] NotTaken),
    /// The configuration was refused, and the one before could not be brought back either.
    #[error("FRR refuses the configuration, and cannot go back to the one before ({back})")]
    Stuck {
        /// What is not as it was.
        back: String,
        /// What was refused.
        source: NotTaken,
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
pub struct Healed {
    /// Which.
    pub daemon: Daemon,
    /// What was wrong.
    pub why: String,
}

/// FRR's daemons.
#[derive(Debug)]
pub struct Suite {
    place: Place,
    intent: Intent,
    members: Vec<Member>,
    silent: mpsc::Receiver<Silence>,
    to_silent: mpsc::Sender<Silence>,
    refused: Option<NotTaken>,
}

#[derive(Debug)]
struct Member {
    run: Run,
    kept: Supervised,
    watch: Option<Watch>,
    /// When it has to answer, until it does.
    due: Option<Instant>,
    /// Whether it was told its configuration.
    told: bool,
    /// What was wrong, until it is put right.
    why: Option<String>,
}

impl Member {
    fn new(place: &Place, run: Run) -> Self {
        let mut arguments = run.options.clone();
        arguments.extend(place.options(run.daemon));
        let path = place.install().program(run.daemon);
        // bgpd would take its routes back from a zebra that still runs, and its neighbours from bfdd. bfdd would tell neighbours that
        // the path is down, and they would forget the node's routes before bgpd has closed its sessions.
        let is_told_by_agent = matches!(run.daemon, Daemon::Bgpd | Daemon::Bfdd);
        let on_sigterm = if is_told_by_agent { OnSigterm::Blocked } else { OnSigterm::Default };
        let program = Program { name: run.daemon.to_string(), path, arguments, on_sigterm };
        Self { run, kept: Supervised::new(program), watch: None, due: None, told: false, why: None }
    }

    fn start(&mut self, place: &Place) -> Result<(), StartError> {
        if self.kept.pid().is_none() {
            place.clear(self.run.daemon);
            self.due = None;
            self.told = false;
        }
        self.kept.start()
    }

    /// Waits until the daemon answers, and the others can find it. Its time goes on while nobody waits.
    async fn ready(&mut self, place: &Place) -> Result<(), FrrError> {
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
        if self.run.daemon == Daemon::Bfdd { self.kept.cut().await } else { self.kept.stop(END).await }
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

    fn watch(&mut self, place: &Place, to: &mpsc::Sender<Silence>) {
        let daemon = self.run.daemon;
        self.watch = self.kept.pid().map(|pid| Watch::start(daemon, pid, place.socket(daemon), to.clone()));
    }
}

impl Suite {
    /// Starts the daemons of a service and tells them their configuration. What an earlier run left is ended first.
    ///
    /// Lines that they do not take are told by [`Suite::refused`]: a node that routes half of what it should is better than
    /// one that cannot be reached.
    pub async fn start(place: Place, service: &Service) -> Result<Self, FrrError> {
        let (runs, intent) = read(&place, service)?;
        end_leftovers(&place).await;
        let members = runs.into_iter().map(|run| Member::new(&place, run)).collect();
        let (to_silent, silent) = mpsc::channel(8);
        let mut suite = Self { place, intent, members, silent, to_silent, refused: None };
        suite.bring_up().await?;
        suite.tell_fresh().await?;
        Ok(suite)
    }

    /// Where it runs.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Its daemons, each with its process while there is one.
    pub fn daemons(&self) -> impl Iterator<Item = (&'static str, Option<u32>)> {
        self.members.iter().map(|member| (member.run.daemon.name(), member.kept.pid()))
    }

    /// zebra's socket, while it runs.
    pub fn zebra(&self) -> Option<PathBuf> {
        let runs = |(name, pid): (&str, Option<u32>)| name == Daemon::Zebra.name() && pid.is_some();
        self.daemons().any(runs).then(|| self.place.socket(Daemon::Zebra))
    }

    /// The release of FRR.
    pub fn version(&self) -> (u16, u16) {
        self.place.install().version()
    }

    /// What is meant and does not run, or the other way round; none when all is as it should be.
    pub fn refused(&self) -> Option<&NotTaken> {
        self.refused.as_ref()
    }

    /// Waits until something was wrong with daemons and has been put right. Nothing is lost when it is not waited for any longer.
    pub async fn supervise(&mut self) -> Vec<Healed> {
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
    pub async fn stop(mut self, why: Stop) {
        self.members.iter_mut().for_each(|member| member.watch = None);
        let is_watched = why == Stop::Planned && self.member(Daemon::Bfdd).is_some();
        match why {
            // zebra before bgpd, which would else take its routes back. bgpd says no good-bye, so neighbours wait for it. bfdd after
            // both: FRR drops the routes of a session that stands when BFD goes down, be it as AdminDown (RFC 5882, section 4.1,
            // says otherwise), and keeps those that wait for a restart.
            Stop::Planned => {
                self.end(Daemon::Zebra, false).await;
                self.end(Daemon::Bgpd, true).await;
            }
            Stop::Leaving => {
                if let Err(error) = self.say_goodbye().await {
                    log::warn(format_args!(
                        "neighbours may not have been told that the node leaves: {error}"
                    ));
                }
                self.end(Daemon::Bgpd, false).await;
            }
        }
        join_all(self.members.iter_mut().map(Member::stop)).await;
        self.members.iter().for_each(|member| self.place.clear(member.run.daemon));
        silence::noticed(is_watched.then(|| detection::frr(&self.intent.configuration))).await;
    }

    /// What BGP's sessions are like.
    pub async fn sessions(&self) -> Result<Vec<Session>, FrrError> {
        let neighbors = self.ask(Daemon::Bgpd, frr::NEIGHBORS).await?;
        let bfd = self.members.iter().any(|member| member.run.daemon == Daemon::Bfdd);
        let peers = if bfd { Some(self.ask(Daemon::Bfdd, frr::PEERS).await?) } else { None };
        Ok(frr::sessions(&neighbors, peers.as_deref())?)
    }

    /// The routes that BGP gave the kernel, as zebra knows them.
    pub async fn routes(&self) -> Result<Vec<Route>, FrrError> {
        let [v4, v6] = frr::ROUTES;
        let v4 = self.ask(Daemon::Zebra, v4).await?;
        let v6 = self.ask(Daemon::Zebra, v6).await?;
        Ok(frr::routes([&v4, &v6])?)
    }

    /// Tells every neighbour that the node leaves: with graceful restart, bgpd ends without a word.
    async fn say_goodbye(&self) -> Result<(), FrrError> {
        let mut vty = Vty::open(Daemon::Bgpd.name(), &self.place.socket(Daemon::Bgpd)).await?;
        let mut commands = vec!["enable", "configure terminal"];
        let lines = self.intent.configuration.lines().iter();
        let instances = lines.filter(|line| line.above.is_empty() && line.text.starts_with("router bgp "));
        commands
            .extend(instances.flat_map(|line| [line.text.as_str(), "bgp shutdown message leaving", "exit"]));
        vty.tell(&commands).await?;
        Ok(())
    }

    async fn ask(&self, daemon: Daemon, question: &str) -> Result<String, VtyError> {
        let mut vty = Vty::open(daemon.name(), &self.place.socket(daemon)).await?;
        // bfdd tells nothing without.
        vty.ask("enable").await?;
        vty.ask(question).await
    }

    fn member(&mut self, daemon: Daemon) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.run.daemon == daemon)
    }

    async fn end(&mut self, daemon: Daemon, cut: bool) {
        let Some(member) = self.member(daemon) else { return };
        member.watch = None;
        member.told = false;
        if cut { member.kept.cut().await } else { member.stop().await }
    }

    /// Starts what does not run and may. A daemon that looks for another in vain looks again much later, so the others are
    /// there first.
    async fn bring_up(&mut self) -> Result<(), FrrError> {
        for stage in [&[Daemon::Mgmtd][..], &[Daemon::Zebra], &[Daemon::Bfdd, Daemon::Staticd, Daemon::Bgpd]]
        {
            let place = &self.place;
            let due = |member: &&mut Member| {
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
    async fn tell_fresh(&mut self) -> Result<Vec<Healed>, FrrError> {
        let untold = |member: &&mut Member| member.kept.pid().is_some() && !member.told;
        let place = &self.place;
        for result in join_all(self.members.iter_mut().filter(untold).map(|member| member.ready(place))).await
        {
            result?;
        }
        self.members.iter_mut().filter(untold).for_each(|member| member.watch(place, &self.to_silent));
        let fresh: Vec<Daemon> =
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
            healed.extend(member.why.take().map(|why| Healed { daemon: member.run.daemon, why }));
        }
        let zebra = healed.iter().any(|healed| healed.daemon == Daemon::Zebra);
        if zebra && !fresh.contains(&Daemon::Bgpd) {
            self.give_routes_again().await?;
        }
        Ok(healed)
    }

    /// After zebra was replaced. bgpd of FRR 8 does not give its routes to a new zebra: it has to learn them anew.
    async fn give_routes_again(&mut self) -> Result<(), FrrError> {
        if self.version().0 >= 9 {
            return Ok(());
        }
        self.end(Daemon::Bgpd, true).await;
        self.bring_up().await?;
        Box::pin(self.tell_fresh()).await?;
        Ok(())
    }

    fn sockets(&self, daemons: &[Daemon]) -> Vec<(Daemon, std::path::PathBuf)> {
        daemons.iter().map(|&daemon| (daemon, self.place.socket(daemon))).collect()
    }

    /// What was not taken, and what nobody was told because nobody here would take it.
    fn judge(&self, taken: Result<(), NotTaken>) -> Option<NotTaken> {
        let daemons: Vec<Daemon> = self.members.iter().map(|member| member.run.daemon).collect();
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
        let same = |member: &&mut Member| found.as_ref().is_some_and(|it| member.kept.pid() == Some(it.pid));
        if let Some(member) = self.members.iter_mut().find(same) {
            log::error(format_args!("{} does not answer and is replaced", member.run.daemon));
            member.why = Some("it did not answer".to_owned());
            member.watch = None;
            member.kept.kill();
        }
    }

    /// Runs these daemons with this configuration; what they do not take is returned.
    async fn adopt(&mut self, runs: Vec<Run>, intent: Intent) -> Result<Option<NotTaken>, FrrError> {
        let anew = self.intent.profile() != intent.profile();
        self.intent = intent;
        let wanted: Vec<Daemon> = runs.iter().map(|run| run.daemon).collect();
        for run in runs {
            let same = |member: &Member| member.run == run && !anew;
            match self.members.iter_mut().find(|member| member.run.daemon == run.daemon) {
                Some(member) if same(member) => {}
                Some(member) => {
                    member.watch = None;
                    member.stop().await;
                    *member = Member::new(&self.place, run);
                }
                None => self.members.push(Member::new(&self.place, run)),
            }
        }
        self.members.sort_by_key(|member| member.run.daemon);
        self.bring_up().await?;
        let told = |member: &&Member| member.told && wanted.contains(&member.run.daemon);
        let told: Vec<Daemon> = self.members.iter().filter(told).map(|member| member.run.daemon).collect();
        let restarted = self.members.iter().any(|member| member.run.daemon == Daemon::Zebra && !member.told);
        self.tell_fresh().await?;
        let taken = load(&self.intent, self.sockets(&told), false).await?;
        let mut gone: Vec<Member> = Vec::new();
        for member in std::mem::take(&mut self.members) {
            if wanted.contains(&member.run.daemon) { self.members.push(member) } else { gone.push(member) }
        }
        join_all(gone.iter_mut().map(Member::stop)).await;
        if restarted {
            self.give_routes_again().await?;
        }
        let fresh = self.refused.take();
        Ok(self.judge(taken).or(fresh))
    }
}

fn read(place: &Place, service: &Service) -> Result<(Vec<Run>, Intent), FrrError> {
    let version = place.install().version();
    Ok((frr::daemons(service.daemons(), version)?, Intent::of(service.text(), version)))
}

/// Ends the daemons of an agent that was killed.
async fn end_leftovers(place: &Place) {
    for &daemon in Daemon::of(place.install().version()) {
        // These do not hear that they shall end.
        let is_deaf = matches!(daemon, Daemon::Bgpd | Daemon::Bfdd);
        let patience = if is_deaf { Duration::from_millis(100) } else { END };
        leftover::end(&[daemon.name()], &[&place.mark(daemon)], patience).await;
    }
}
