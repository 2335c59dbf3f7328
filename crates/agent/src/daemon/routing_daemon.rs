//! The node's routing daemon: FRR, BIRD or GoBGP.
//!
//! An [`Installation`] can validate a configuration; [`Installation::start`] turns it into a running [`RoutingDaemon`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ichor_bgp::agent::Session;
use ichor_bgp::render::Service;
use ichor_values::Backend;
use ichor_values::SoftwareVersion;
use ipnet::IpNet;

use super::StopReason;
use super::bird::control::ControlError;
use super::bird::{self, Bird, BirdError};
use super::frr::{self, FrrError, Suite};
use super::gobgp::api::{ApiError, TableChanges};
use super::gobgp::{self, Gobgp, GobgpError};
use super::paths::{self, DaemonPaths};
use super::release;

/// Directories of daemons with a single process.
const PROGRAMS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];

/// The installed daemon of a backend.
#[derive(Debug)]
pub enum Installation {
    /// FRR, and the directory for files to check.
    Frr(frr::FrrInstallation, PathBuf),
    /// BIRD.
    Bird(DaemonPaths),
    /// GoBGP.
    Gobgp(DaemonPaths),
}

/// A running daemon.
pub enum RoutingDaemon {
    /// FRR.
    Frr(Box<Suite>),
    /// BIRD.
    Bird(Bird),
    /// GoBGP.
    Gobgp(Gobgp),
}

/// An operation on the daemon failed.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// It is not installed.
    #[error("{0} is not installed: it is in none of {folders}", folders = PROGRAMS.join(", "))]
    Missing(&'static str),
    /// Talos itself speaks BGP.
    #[error("Talos itself speaks BGP here, and no agent is needed")]
    Native,
    /// FRR cannot run here.
    #[error(transparent)]
    Place(#[from] frr::FrrInstallError),
    /// FRR rejects a file.
    #[error(transparent)]
    Refused(#[from] frr::FrrCheckError),
    /// Another daemon rejects a file.
    #[error(transparent)]
    RefusedSingle(#[from] paths::ConfigCheckError),
    /// An operation on FRR failed.
    #[error(transparent)]
    Frr(#[from] FrrError),
    /// An operation on BIRD failed.
    #[error(transparent)]
    Bird(#[from] BirdError),
    /// BIRD does not respond.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// An operation on GoBGP failed.
    #[error(transparent)]
    Gobgp(#[from] GobgpError),
    /// GoBGP does not respond.
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl DaemonError {
    /// Whether a retry may succeed: the cause is transient and not the configuration.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Frr(error) if error.is_transient())
    }
}

/// A program in one of these folders.
fn find_program(folders: &[&str], name: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists())
}

/// The backend whose daemon is installed here.
pub fn installed() -> Option<Backend> {
    if find_program(&frr::PROGRAMS, "bgpd").is_some() {
        return Some(Backend::Frr);
    }
    let single = [("bird", Backend::Bird), ("gobgpd", Backend::Gobgp)];
    single.into_iter().find(|(name, _)| find_program(&PROGRAMS, name).is_some()).map(|(_, backend)| backend)
}

impl Installation {
    /// Finds the daemon of a backend, which will keep its files in `run`. Nothing is changed.
    pub async fn find(backend: Backend, run: &Path) -> Result<Self, DaemonError> {
        let single = |name| {
            let program = find_program(&PROGRAMS, name).ok_or(DaemonError::Missing(name))?;
            Ok(DaemonPaths { program, folder: run.to_owned(), run: run.to_owned() })
        };
        match backend {
            Backend::Frr => Ok(Self::Frr(frr::FrrInstallation::find().await?, run.to_owned())),
            Backend::Bird => single("bird").map(Self::Bird),
            Backend::Gobgp => single("gobgpd").map(Self::Gobgp),
            Backend::Native => Err(DaemonError::Native),
        }
    }

    /// The daemon's release; none if it does not report one.
    pub async fn version(&self) -> Option<SoftwareVersion> {
        let (major, minor) = match self {
            Self::Frr(install, _) => install.version(),
            Self::Bird(paths) => release::installed_release("bird", &paths.program).await.ok()?,
            Self::Gobgp(paths) => release::installed_release("gobgp", &paths.program).await.ok()?,
        };
        SoftwareVersion::parse(&format!("{major}.{minor}")).ok()
    }

    /// Validates a service with the daemon's own parser. Nothing but the run directory is changed.
    pub async fn check(&self, service: &Service) -> Result<(), DaemonError> {
        match self {
            Self::Frr(install, folder) => frr::check(install, folder, service).await?,
            Self::Bird(paths) => bird::check(paths, service).await?,
            Self::Gobgp(paths) => gobgp::check(paths, service).await?,
        }
        Ok(())
    }

    /// Starts the daemon with a service and the node's own addresses, which FRR and BIRD read from their files instead.
    pub async fn start(self, service: &Service, own: BTreeSet<IpNet>) -> Result<RoutingDaemon, DaemonError> {
        Ok(match self {
            Self::Frr(install, _) => {
                let run_dir = frr::FrrRunDir::create(install, None)?;
                RoutingDaemon::Frr(Box::new(Suite::start(run_dir, service).await?))
            }
            Self::Bird(paths) => RoutingDaemon::Bird(Bird::start(paths, service).await?),
            Self::Gobgp(paths) => RoutingDaemon::Gobgp(Gobgp::start(paths, service, own).await?),
        })
    }
}

impl RoutingDaemon {
    /// Changes to the configuration of a service; sessions stay up as far as possible.
    pub async fn reload(&mut self, service: &Service) -> Result<(), DaemonError> {
        match self {
            Self::Frr(suite) => {
                frr::check(suite.run_dir().install(), suite.run_dir().run(), service).await?;
                suite.reload(service).await?;
            }
            Self::Bird(bird) => bird.reload(service).await?,
            Self::Gobgp(gobgp) => gobgp.reload(service).await?,
        }
        Ok(())
    }

    /// The part of its configuration that the daemon rejected at its start, and whether that is transient; none if the
    /// configuration is complete. BIRD and GoBGP run all of it or do not start.
    pub fn rejected(&self) -> Option<(String, bool)> {
        let Self::Frr(suite) = self else { return None };
        let rejected = suite.rejected()?;
        Some((format!("FRR does not run its complete configuration: {rejected}"), rejected.is_transient()))
    }

    /// Announces exactly these addresses of the node. FRR and BIRD read them from their files.
    pub async fn announce(&mut self, own: BTreeSet<IpNet>) -> Result<(), DaemonError> {
        if let Self::Gobgp(gobgp) = self {
            gobgp.announce(own).await?;
        }
        Ok(())
    }

    /// Waits until a process failed and was replaced; returns what was wrong.
    pub async fn supervise(&mut self) -> String {
        match self {
            Self::Frr(suite) => {
                let recovered = suite.supervise().await;
                let each: Vec<_> = recovered
                    .iter()
                    .map(|recovered| format!("{}: {}", recovered.daemon, recovered.reason))
                    .collect();
                each.join("; ")
            }
            Self::Bird(bird) => format!("bird: {}", bird.supervise().await),
            Self::Gobgp(gobgp) => format!("gobgpd: {}", gobgp.supervise().await),
        }
    }

    /// The BGP sessions.
    pub async fn sessions(&self) -> Result<Vec<Session>, DaemonError> {
        Ok(match self {
            Self::Frr(suite) => suite.sessions().await?,
            Self::Bird(bird) => bird.sessions().await?,
            Self::Gobgp(gobgp) => gobgp.sessions().await?,
        })
    }

    /// Its programs, each with its process id while it runs.
    pub fn processes(&self) -> Vec<(&'static str, Option<u32>)> {
        match self {
            Self::Frr(suite) => suite.daemons().collect(),
            Self::Bird(bird) => vec![("bird", bird.pid())],
            Self::Gobgp(gobgp) => vec![("gobgpd", gobgp.pid())],
        }
    }

    /// The control socket of the program that installs routes, while it runs.
    pub fn writer(&self) -> Option<PathBuf> {
        match self {
            Self::Frr(suite) => suite.zebra(),
            Self::Bird(bird) => bird.pid().map(|_| bird.socket()),
            Self::Gobgp(_) => None,
        }
    }

    /// Changes of the table of a daemon that does not install routes itself; none for others.
    pub async fn changes(&self) -> Result<Option<TableChanges>, DaemonError> {
        match self {
            Self::Gobgp(gobgp) => Ok(Some(gobgp.changes().await?)),
            Self::Frr(_) | Self::Bird(_) => Ok(None),
        }
    }

    /// Stops the daemon.
    pub async fn stop(self, why: StopReason) {
        match self {
            Self::Frr(suite) => suite.stop(why).await,
            Self::Bird(bird) => bird.stop(why).await,
            Self::Gobgp(gobgp) => gobgp.stop(why).await,
        }
    }
}
