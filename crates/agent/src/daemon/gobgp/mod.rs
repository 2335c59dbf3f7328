//! GoBGP as the node's daemon.
//!
//! A [`Gobgp`] is started with a [`Service`], reloaded with another, asked for its sessions and paths, and stopped. It is asked
//! over its API ([`api`]), and told by its file and a signal.
//!
//! The order on a node: ports up, router advertisements on them, the routers' addresses among the kernel's neighbours, then
//! gobgpd, with a file that has no neighbour whose router was not heard ([`heard`](ichor_bgp::agent::gobgp::heard)). When one
//! is heard later, or has another address, [`Gobgp::reload`] with the file rendered anew.
//!
//! Not here: routes in the kernel, which are made of [`Gobgp::paths`] whenever [`Gobgp::changes`] tells of one.

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

use super::place::{ConfigCheckError, DaemonPaths, options};
use super::process::{OnSigterm, Program, StartError, leftover};
use super::single_process::SingleProcess;
use super::{StopReason, silence};
use crate::log;
use api::{Api, ApiError, TableChanges};

/// How long gobgpd may take to have what its file means.
const TAKING: Duration = Duration::from_secs(10);
/// How long a running one may take for that after a signal.
const CHANGING: Duration = Duration::from_secs(3);
/// How long it may take to end.
const ENDING: Duration = Duration::from_secs(5);
/// Between two looks at what it has.
const LOOK: Duration = Duration::from_millis(20);

/// gobgpd, and the process that runs it.
#[derive(Debug)]
pub struct Gobgp {
    place: DaemonPaths,
    process: SingleProcess,
    /// What it reads now.
    service: Service,
    /// The node's own addresses that it announces.
    own: BTreeSet<IpNet>,
}

/// What was wanted of gobgpd could not be done.
#[derive(Debug, thiserror::Error)]
pub enum GobgpError {
    /// Its file was not taken.
    #[error(transparent)]
    Check(#[from] ConfigCheckError),
    /// Its file could not be written.
    #[error(transparent)]
    Write(#[from] ReplaceError),
    /// It did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It ended before it answered.
    #[error("gobgpd ended when it was started: {0}; what it said is in the log")]
    Ended(String),
    /// It does not answer.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// It runs something else than its file means.
    #[error("gobgpd has not taken its configuration: {}; what it said is in the log", .0.join(", "))]
    Differs(Vec<String>),
}

/// Asks gobgpd's own reader about a file, and touches nothing.
pub async fn check(place: &DaemonPaths, service: &Service) -> Result<(), ConfigCheckError> {
    place.check(service, "gobgpd", &["-d", "-p", "-f"]).await
}

impl Gobgp {
    /// Checks and writes its file, and starts it with the node's own addresses. It has what the file means afterwards.
    ///
    /// Where an earlier one ended without leaving, neighbours may still have its routes: it then takes up where that one ended.
    pub async fn start(
        place: DaemonPaths,
        service: &Service,
        own: BTreeSet<IpNet>,
    ) -> Result<Self, GobgpError> {
        check(&place, service).await?;
        place.write(service)?;
        let mut gobgp = Self { place, process: SingleProcess::default(), service: service.clone(), own };
        if let Ok(mut left) = Api::connect(&gobgp.socket()).await {
            let _ = left.pause().await;
        }
        leftover::end(&["gobgpd"], &[&gobgp.listens()], ENDING).await;
        gobgp.run().await.map(|()| gobgp)
    }

    /// Starts it, unless that was begun, waits until it has what its file means, and gives it the node's own addresses.
    async fn run(&mut self) -> Result<(), GobgpError> {
        if !self.process.begun() {
            DaemonPaths::clear(&self.socket())?;
            let recovers = self.place.enter()?;
            self.process.start(self.program(recovers))?;
        }
        let start = Instant::now();
        loop {
            match self.taken().await {
                Ok(missing) if missing.is_empty() => break,
                Ok(missing) if start.elapsed() >= TAKING => return Err(GobgpError::Differs(missing)),
                Err(error) if start.elapsed() >= TAKING => return Err(error.into()),
                _ => {}
            }
            tokio::select! {
                how = self.process.ended() => return Err(GobgpError::Ended(how)),
                () = sleep(LOOK) => {}
            }
        }
        self.announce_own().await?;
        self.process.healed();
        Ok(())
    }

    fn program(&self, recovers: bool) -> Program {
        let file = self.place.file(&self.service).to_string_lossy().into_owned();
        let mut arguments = vec!["-p".to_owned(), "-f".to_owned(), file];
        arguments.extend(recovers.then(|| "-r".to_owned()));
        arguments.extend(options(&self.service, "gobgpd"));
        // The last one counts: the socket is where this agent has its own.
        arguments.extend(["--api-hosts".to_owned(), self.listens()]);
        let (name, path) = ("gobgpd".to_owned(), self.place.program.clone());
        Program { name, path, arguments, on_sigterm: OnSigterm::KillSilently }
    }

    /// What of the file it does not have.
    async fn taken(&self) -> Result<Vec<String>, ApiError> {
        let mut api = Api::connect(&self.socket()).await?;
        if api.asn().await?.is_none() {
            return Ok(vec!["it has not started".to_owned()]);
        }
        Ok(GobgpConfig::meant(self.service.text()).missing_in(&api.running().await?))
    }

    /// Waits until it fails, puts that right, and says what it was. Nothing is lost when it is not waited for any longer.
    pub async fn supervise(&mut self) -> String {
        loop {
            let socket = self.socket();
            let alive = async || answers(&socket).await;
            let why = self.process.fails(alive).await;
            match self.run().await {
                Ok(()) => return why,
                Err(error) => {
                    log::error(format_args!("gobgpd cannot be started again: {error}"));
                    self.process.abandon();
                }
            }
        }
    }

    /// Gives the running gobgpd another file. Sessions stay as far as the change lets them.
    ///
    /// It applies most of a change, but of several neighbours that have other settings only the first. So it is started anew,
    /// as planned, where it does not have what the file means. A file that it cannot read leaves everything as it was.
    pub async fn reload(&mut self, service: &Service) -> Result<(), GobgpError> {
        check(&self.place, service).await?;
        self.place.write(service)?;
        let before = std::mem::replace(&mut self.service, service.clone());
        if let Some(pid) = self.process.pid().and_then(|pid| i32::try_from(pid).ok()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGHUP);
        }
        let start = Instant::now();
        while start.elapsed() < CHANGING {
            if self.taken().await?.is_empty() {
                return Ok(());
            }
            sleep(LOOK).await;
        }
        log::warn("gobgpd has not taken all of its configuration, and is started anew");
        self.pause().await;
        silence::noticed(detection::gobgp(before.text())).await;
        self.run().await
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
            api.add(*net).await?;
        }
        for net in has.difference(&self.own) {
            api.delete(*net).await?;
        }
        Ok(())
    }

    /// Its sessions.
    pub async fn sessions(&self) -> Result<Vec<Session>, ApiError> {
        Api::connect(&self.socket()).await?.sessions().await
    }

    /// The paths of its table.
    pub async fn paths(&self) -> Result<Vec<gobgp::BgpPath>, ApiError> {
        Api::connect(&self.socket()).await?.paths().await
    }

    /// Tells neighbours once more what they shall have, and what not.
    pub async fn repeat(&self) -> Result<(), ApiError> {
        Api::connect(&self.socket()).await?.repeat().await
    }

    /// Changes of its table from now on.
    pub async fn changes(&self) -> Result<TableChanges, ApiError> {
        Ok(Api::connect(&self.socket()).await?.changes())
    }

    /// Whether it answers.
    pub async fn alive(&self) -> bool {
        answers(&self.socket()).await
    }

    /// The process, while there is one.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// Ends it.
    pub async fn stop(mut self, why: StopReason) {
        match why {
            StopReason::Planned => {
                self.pause().await;
                silence::noticed(detection::gobgp(self.service.text())).await;
            }
            StopReason::Leaving => {
                if let Err(error) = self.farewell().await {
                    log::warn(format_args!("gobgpd says no good-bye to its neighbours: {error}"));
                }
                self.pause().await;
                self.place.leave();
            }
        }
    }

    /// Lets it close its sessions, so that neighbours forget the node's routes at once.
    async fn farewell(&self) -> Result<(), ApiError> {
        Api::connect(&self.socket()).await?.close().await
    }

    /// Ends the process without a word to anybody.
    async fn pause(&mut self) {
        if let Some(mut kept) = self.process.take() {
            kept.cut().await;
        }
    }

    fn socket(&self) -> PathBuf {
        self.place.run("gobgpd.sock")
    }

    fn listens(&self) -> String {
        format!("unix://{}", self.socket().display())
    }
}

async fn answers(socket: &Path) -> bool {
    let asked = async { Api::connect(socket).await?.asn().await };
    matches!(asked.await, Ok(Some(_)))
}
