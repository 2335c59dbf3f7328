//! BIRD as the node's daemon.
//!
//! A [`Bird`] is started with a [`Service`], reloaded with another, polled for its sessions, and stopped, all over its
//! control socket ([`control`]).

pub mod control;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ichor_bgp::agent::{Session, bird, detection};
use ichor_bgp::render::Service;
use ichor_system::file::ReplaceError;
use tokio::time::{Instant, sleep, timeout};

use super::paths::{ConfigCheckError, DaemonPaths, options};
use super::process::{OnSigterm, Program, StartError, leftover};
use super::single_process::SingleProcess;
use super::{StopReason, bfd_silence};
use crate::log;
use control::{ControlError, ControlSocket};

/// How long BIRD may take to listen on its control socket.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Stops BIRD so that neighbours and the kernel remove its routes.
const DOWN: &str = "down";
/// Stops BIRD without closing its sessions: neighbours and the kernel keep its routes.
const RESTART: &str = "graceful restart";
/// The interval between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// BIRD and its process.
#[derive(Debug)]
pub struct Bird {
    paths: DaemonPaths,
    process: SingleProcess,
    /// The service that it runs.
    service: Service,
}

/// An operation on BIRD failed.
#[derive(Debug, thiserror::Error)]
pub enum BirdError {
    /// BIRD rejected the file.
    #[error(transparent)]
    Check(#[from] ConfigCheckError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] ReplaceError),
    /// The process cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The process ended before BIRD responded.
    #[error("bird ended during its start: {0}; its output is in the log")]
    Ended(String),
    /// BIRD does not respond, or rejected a command.
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// Validates a file with BIRD's own parser, and changes nothing.
pub async fn check(paths: &DaemonPaths, service: &Service) -> Result<(), ConfigCheckError> {
    paths.check(service, "bird", &["-p", "-c"]).await
}

impl Bird {
    /// Validates and writes its file, starts it, and waits until it responds.
    ///
    /// After an unclean exit of an earlier BIRD, the kernel still has its routes, and so may neighbours: BIRD then
    /// recovers from a restart.
    pub async fn start(paths: DaemonPaths, service: &Service) -> Result<Self, BirdError> {
        check(&paths, service).await?;
        paths.write(service)?;
        let mut bird = Self { paths, process: SingleProcess::default(), service: service.clone() };
        bird.stop_leftover().await;
        leftover::stop_leftovers(&["bird"], &[&bird.socket().to_string_lossy()], STOP_TIMEOUT).await;
        bird.ensure_running().await.map(|()| bird)
    }

    /// Stops the BIRD of a killed agent, if it still runs, without closing its sessions.
    async fn stop_leftover(&self) {
        if self.query(RESTART).await.is_ok() {
            let start = Instant::now();
            while self.alive().await && start.elapsed() < STOP_TIMEOUT {
                sleep(POLL_INTERVAL).await;
            }
        }
    }

    /// Starts BIRD unless it is starting already, and waits until it responds.
    async fn ensure_running(&mut self) -> Result<(), BirdError> {
        if !self.process.is_starting() {
            // Otherwise a leftover socket would be taken for that of the new process.
            DaemonPaths::clear(&self.socket())?;
            let recovers = self.paths.record_start()?;
            self.process.start(self.program(recovers))?;
        }
        let start = Instant::now();
        while let Err(error) = self.query(bird::STATUS).await {
            if start.elapsed() >= START_TIMEOUT {
                return Err(error.into());
            }
            tokio::select! {
                status = self.process.ended() => return Err(BirdError::Ended(status)),
                () = sleep(POLL_INTERVAL) => {}
            }
        }
        self.process.record_recovery();
        Ok(())
    }

    fn program(&self, recovers: bool) -> Program {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut arguments = vec!["-f".to_owned()];
        arguments.extend(recovers.then(|| "-R".to_owned()));
        arguments.extend(["-c".to_owned(), text(self.paths.file(&self.service))]);
        arguments.extend(["-s".to_owned(), text(self.socket())]);
        arguments.extend(["-P".to_owned(), text(self.paths.run("bird.pid"))]);
        arguments.extend(options(&self.service, "bird"));
        Program {
            name: "bird".to_owned(),
            path: self.paths.program.clone(),
            arguments,
            on_sigterm: OnSigterm::Blocked,
        }
    }

    /// Waits until BIRD fails, restarts it, and returns what was wrong. Cancel safe.
    pub async fn supervise(&mut self) -> String {
        loop {
            let socket = self.socket();
            let alive = async || responds(&socket).await;
            let reason = self.process.wait_for_failure(alive).await;
            match self.ensure_running().await {
                Ok(()) => return reason,
                Err(error) => {
                    log::error(format_args!("cannot restart bird: {error}"));
                    self.process.abandon();
                }
            }
        }
    }

    /// Loads another file into the running BIRD. Sessions stay up as far as the change permits; a rejected file changes
    /// nothing.
    pub async fn reload(&mut self, service: &Service) -> Result<(), BirdError> {
        check(&self.paths, service).await?;
        self.paths.write(service)?;
        let path = self.paths.file(service);
        let configured = async { ControlSocket::connect(&self.socket()).await?.configure(&path).await };
        if let Err(error) = configured.await {
            // A later restart must read the file that runs now.
            self.paths.write(&self.service)?;
            return Err(error.into());
        }
        self.service = service.clone();
        Ok(())
    }

    /// The BGP sessions.
    pub async fn sessions(&self) -> Result<Vec<Session>, ControlError> {
        let mut control = ControlSocket::connect(&self.socket()).await?;
        let protocols = control.query(bird::PROTOCOLS).await?;
        let bfd = control.send(bird::BFD).await?;
        let status = control.query(bird::STATUS).await?;
        Ok(bird::sessions(&protocols, &bfd, &status))
    }

    /// Whether it responds.
    pub async fn alive(&self) -> bool {
        responds(&self.socket()).await
    }

    /// The process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    async fn query(&self, command: &str) -> Result<bird::Reply, ControlError> {
        ControlSocket::connect(&self.socket()).await?.query(command).await
    }

    /// Stops BIRD.
    pub async fn stop(mut self, reason: StopReason) {
        let Some(mut process) = self.process.take() else { return };
        let command = match reason {
            StopReason::Planned => RESTART,
            StopReason::Leaving => DOWN,
        };
        let is_stopping = self.query(command).await.is_ok();
        if !is_stopping || timeout(STOP_TIMEOUT, process.ended()).await.is_err() {
            process.kill_and_wait().await;
        }
        match reason {
            // Neighbours that monitor the node by BFD must detect the silence.
            StopReason::Planned => {
                bfd_silence::wait_until_detected(detection::bird_detection_time(self.service.text())).await;
            }
            StopReason::Leaving => self.paths.record_clean_stop(),
        }
    }

    /// The control socket.
    pub fn socket(&self) -> PathBuf {
        self.paths.run("bird.ctl")
    }
}

async fn responds(socket: &Path) -> bool {
    let reply = async { ControlSocket::connect(socket).await?.query(bird::STATUS).await };
    reply.await.is_ok()
}
