//! BIRD as the node's daemon.
//!
//! A [`Bird`] is started with a [`Service`], reloaded with another, asked for its sessions, and stopped. It is told and asked
//! over its control socket ([`control`]).

pub mod control;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ichor_bgp::agent::{Session, bird, detection};
use ichor_bgp::render::Service;
use ichor_system::file::ReplaceError;
use tokio::time::{Instant, sleep, timeout};

use super::place::{ConfigCheckError, DaemonPaths, options};
use super::process::{OnSigterm, Program, StartError, leftover};
use super::single_process::SingleProcess;
use super::{StopReason, silence};
use crate::log;
use control::{ControlError, ControlSocket};

/// How long BIRD may take to listen to its control socket.
const STARTING: Duration = Duration::from_secs(10);
/// How long it may take to end.
const ENDING: Duration = Duration::from_secs(5);
/// Ends it so that neighbours and the kernel forget its routes.
const DOWN: &str = "down";
/// Ends it so that it says good-bye to nobody, and neighbours and the kernel keep its routes.
const RESTART: &str = "graceful restart";
/// Between two looks at what it does meanwhile.
const LOOK: Duration = Duration::from_millis(20);

/// BIRD, and the process that runs it.
#[derive(Debug)]
pub struct Bird {
    place: DaemonPaths,
    process: SingleProcess,
    /// What it reads now.
    service: Service,
}

/// What was wanted of BIRD could not be done.
#[derive(Debug, thiserror::Error)]
pub enum BirdError {
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
    #[error("bird ended when it was started: {0}; what it said is in the log")]
    Ended(String),
    /// It does not answer, or refused.
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// Asks BIRD's own parser about a file, and touches nothing.
pub async fn check(place: &DaemonPaths, service: &Service) -> Result<(), ConfigCheckError> {
    place.check(service, "bird", &["-p", "-c"]).await
}

impl Bird {
    /// Checks and writes its file, and starts it. It answers afterwards.
    ///
    /// Where an earlier one ended without leaving, the kernel still has its routes, and neighbours may: then it takes up
    /// where that one ended.
    pub async fn start(place: DaemonPaths, service: &Service) -> Result<Self, BirdError> {
        check(&place, service).await?;
        place.write(service)?;
        let mut bird = Self { place, process: SingleProcess::default(), service: service.clone() };
        bird.pause_left().await;
        leftover::end(&["bird"], &[&bird.socket().to_string_lossy()], ENDING).await;
        bird.run().await.map(|()| bird)
    }

    /// Lets the BIRD of an agent that was killed end without a word to anybody, where there is one.
    async fn pause_left(&self) {
        if self.ask(RESTART).await.is_ok() {
            let start = Instant::now();
            while self.alive().await && start.elapsed() < ENDING {
                sleep(LOOK).await;
            }
        }
    }

    /// Starts it, unless that was begun, and waits until it answers.
    async fn run(&mut self) -> Result<(), BirdError> {
        if !self.process.begun() {
            // Else it would be taken for the one of the process that is to start.
            DaemonPaths::clear(&self.socket())?;
            let recovers = self.place.enter()?;
            self.process.start(self.program(recovers))?;
        }
        let start = Instant::now();
        while let Err(error) = self.ask(bird::STATUS).await {
            if start.elapsed() >= STARTING {
                return Err(error.into());
            }
            tokio::select! {
                how = self.process.ended() => return Err(BirdError::Ended(how)),
                () = sleep(LOOK) => {}
            }
        }
        self.process.healed();
        Ok(())
    }

    fn program(&self, recovers: bool) -> Program {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut arguments = vec!["-f".to_owned()];
        arguments.extend(recovers.then(|| "-R".to_owned()));
        arguments.extend(["-c".to_owned(), text(self.place.file(&self.service))]);
        arguments.extend(["-s".to_owned(), text(self.socket())]);
        arguments.extend(["-P".to_owned(), text(self.place.run("bird.pid"))]);
        arguments.extend(options(&self.service, "bird"));
        Program {
            name: "bird".to_owned(),
            path: self.place.program.clone(),
            arguments,
            on_sigterm: OnSigterm::Blocked,
        }
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
                    log::error(format_args!("bird cannot be started again: {error}"));
                    self.process.abandon();
                }
            }
        }
    }

    /// Gives the running BIRD another file. Sessions stay as far as the change lets them; one that is refused leaves
    /// everything as it was.
    pub async fn reload(&mut self, service: &Service) -> Result<(), BirdError> {
        check(&self.place, service).await?;
        self.place.write(service)?;
        let path = self.place.file(service);
        let told = async { ControlSocket::connect(&self.socket()).await?.configure(&path).await };
        if let Err(error) = told.await {
            // What is started again later reads the file that runs now.
            self.place.write(&self.service)?;
            return Err(error.into());
        }
        self.service = service.clone();
        Ok(())
    }

    /// Its sessions.
    pub async fn sessions(&self) -> Result<Vec<Session>, ControlError> {
        let mut control = ControlSocket::connect(&self.socket()).await?;
        let protocols = control.ask(bird::PROTOCOLS).await?;
        let bfd = control.say(bird::BFD).await?;
        let status = control.ask(bird::STATUS).await?;
        Ok(bird::sessions(&protocols, &bfd, &status))
    }

    /// Whether it answers.
    pub async fn alive(&self) -> bool {
        answers(&self.socket()).await
    }

    /// The process, while there is one.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    async fn ask(&self, command: &str) -> Result<bird::Reply, ControlError> {
        ControlSocket::connect(&self.socket()).await?.ask(command).await
    }

    /// Ends it.
    pub async fn stop(mut self, why: StopReason) {
        let Some(mut kept) = self.process.take() else { return };
        let command = match why {
            StopReason::Planned => RESTART,
            StopReason::Leaving => DOWN,
        };
        let asked = self.ask(command).await.is_ok();
        if !asked || timeout(ENDING, kept.ended()).await.is_err() {
            kept.cut().await;
        }
        match why {
            // Of its end neighbours that watch it by BFD are told as little.
            StopReason::Planned => silence::noticed(detection::bird(self.service.text())).await,
            StopReason::Leaving => self.place.leave(),
        }
    }

    /// Its control socket.
    pub fn socket(&self) -> PathBuf {
        self.place.run("bird.ctl")
    }
}

async fn answers(socket: &Path) -> bool {
    let asked = async { ControlSocket::connect(socket).await?.ask(bird::STATUS).await };
    asked.await.is_ok()
}
