//! The node's routing daemon: FRR, BIRD or GoBGP.
//!
//! An [`Installation`] is where it is installed: it can check a configuration. [`Installation::start`] makes a running
//! [`RoutingDaemon`] of it.

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
use super::place::{self, DaemonPaths};
use super::release;

/// Where the programs of daemons are that are one process.
const PROGRAMS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];

/// Where the daemon of a backend is.
#[derive(Debug)]
pub enum Installation {
    /// FRR's, and a folder for what it is asked about.
    Frr(frr::FrrInstallation, PathBuf),
    /// BIRD's.
    Bird(DaemonPaths),
    /// GoBGP's.
    Gobgp(DaemonPaths),
}

/// A daemon that runs.
pub enum RoutingDaemon {
    /// FRR.
    Frr(Box<Suite>),
    /// BIRD.
    Bird(Bird),
    /// GoBGP.
    Gobgp(Gobgp),
}

/// The daemon does not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// It is not there.
    #[error("{0} is not installed: it is in none of {folders}", folders = PROGRAMS.join(", "))]
    Missing(&'static str),
    /// Talos itself speaks BGP.
    #[error("Talos itself speaks BGP here, and no agent is needed")]
    Native,
    /// FRR cannot run here.
    #[error(transparent)]
    Place(#[from] frr::FrrInstallError),
    /// FRR refuses a file.
    #[error(transparent)]
    Refused(#[from] frr::FrrCheckError),
    /// Another daemon refuses a file.
    #[error(transparent)]
    RefusedSolo(#[from] place::ConfigCheckError),
    /// FRR fails.
    #[error(transparent)]
    Frr(#[from] FrrError),
    /// BIRD fails.
    #[error(transparent)]
    Bird(#[from] BirdError),
    /// BIRD does not answer.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// GoBGP fails.
    #[error(transparent)]
    Gobgp(#[from] GobgpError),
    /// GoBGP does not answer.
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl DaemonError {
    /// Whether the same may be taken when it is told again: not the configuration was in the way, but something that passes.
    pub fn passes(&self) -> bool {
        matches!(self, Self::Frr(error) if error.passes())
    }
}

/// A program in one of these folders.
fn program(folders: &[&str], name: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists())
}

/// The backend whose daemon is installed here.
pub fn installed() -> Option<Backend> {
    if program(&frr::PROGRAMS, "bgpd").is_some() {
        return Some(Backend::Frr);
    }
    let solo = [("bird", Backend::Bird), ("gobgpd", Backend::Gobgp)];
    solo.into_iter().find(|(name, _)| program(&PROGRAMS, name).is_some()).map(|(_, backend)| backend)
}

impl Installation {
    /// Finds the daemon of a backend, which will keep its own files below `run`. Nothing is touched.
    pub async fn find(backend: Backend, run: &Path) -> Result<Self, DaemonError> {
        let solo = |name| {
            let program = program(&PROGRAMS, name).ok_or(DaemonError::Missing(name))?;
            Ok(DaemonPaths { program, folder: run.to_owned(), run: run.to_owned() })
        };
        match backend {
            Backend::Frr => Ok(Self::Frr(frr::FrrInstallation::find().await?, run.to_owned())),
            Backend::Bird => solo("bird").map(Self::Bird),
            Backend::Gobgp => solo("gobgpd").map(Self::Gobgp),
            Backend::Native => Err(DaemonError::Native),
        }
    }

    /// The daemon's release; none where it does not say.
    pub async fn version(&self) -> Option<SoftwareVersion> {
        let (major, minor) = match self {
            Self::Frr(install, _) => install.version(),
            Self::Bird(place) => release::of("bird", &place.program).await.ok()?,
            Self::Gobgp(place) => release::of("gobgp", &place.program).await.ok()?,
        };
        SoftwareVersion::parse(&format!("{major}.{minor}")).ok()
    }

    /// Asks the daemon's own parser about a service. Nothing is touched but the folder.
    pub async fn check(&self, service: &Service) -> Result<(), DaemonError> {
        match self {
            Self::Frr(install, folder) => frr::check(install, folder, service).await?,
            Self::Bird(place) => bird::check(place, service).await?,
            Self::Gobgp(place) => gobgp::check(place, service).await?,
        }
        Ok(())
    }

    /// Starts the daemon with a service and the node's own addresses, which all but GoBGP read from their files.
    pub async fn start(self, service: &Service, own: BTreeSet<IpNet>) -> Result<RoutingDaemon, DaemonError> {
        Ok(match self {
            Self::Frr(install, _) => {
                let place = frr::FrrRunDir::take(install, None)?;
                RoutingDaemon::Frr(Box::new(Suite::start(place, service).await?))
            }
            Self::Bird(place) => RoutingDaemon::Bird(Bird::start(place, service).await?),
            Self::Gobgp(place) => RoutingDaemon::Gobgp(Gobgp::start(place, service, own).await?),
        })
    }
}

impl RoutingDaemon {
    /// Changes what runs into what a service says; sessions stay as far as they can.
    pub async fn reload(&mut self, service: &Service) -> Result<(), DaemonError> {
        match self {
            Self::Frr(suite) => {
                frr::check(suite.place().install(), suite.place().run(), service).await?;
                suite.reload(service).await?;
            }
            Self::Bird(bird) => bird.reload(service).await?,
            Self::Gobgp(gobgp) => gobgp.reload(service).await?,
        }
        Ok(())
    }

    /// What it did not take of its configuration at its start, and whether that is transient; none when it runs all of it. BIRD
    /// and GoBGP run all of it or do not start.
    pub fn rejected(&self) -> Option<(String, bool)> {
        let Self::Frr(suite) = self else { return None };
        let refused = suite.refused()?;
        Some((format!("FRR does not run all that is meant: {refused}"), refused.passes()))
    }

    /// Announces exactly these addresses of the node. FRR and BIRD have them from their files.
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
                let healed = suite.supervise().await;
                let each: Vec<_> =
                    healed.iter().map(|healed| format!("{}: {}", healed.daemon, healed.why)).collect();
                each.join("; ")
            }
            Self::Bird(bird) => format!("bird: {}", bird.supervise().await),
            Self::Gobgp(gobgp) => format!("gobgpd: {}", gobgp.supervise().await),
        }
    }

    /// Its sessions.
    pub async fn sessions(&self) -> Result<Vec<Session>, DaemonError> {
        Ok(match self {
            Self::Frr(suite) => suite.sessions().await?,
            Self::Bird(bird) => bird.sessions().await?,
            Self::Gobgp(gobgp) => gobgp.sessions().await?,
        })
    }

    /// Its programs, each with its process while there is one.
    pub fn processes(&self) -> Vec<(&'static str, Option<u32>)> {
        match self {
            Self::Frr(suite) => suite.daemons().collect(),
            Self::Bird(bird) => vec![("bird", bird.pid())],
            Self::Gobgp(gobgp) => vec![("gobgpd", gobgp.pid())],
        }
    }

    /// The socket by which the program that writes routes is asked, while it runs.
    pub fn writer(&self) -> Option<PathBuf> {
        match self {
            Self::Frr(suite) => suite.zebra(),
            Self::Bird(bird) => bird.pid().map(|_| bird.socket()),
            Self::Gobgp(_) => None,
        }
    }

    /// Changes of a table whose routes somebody else has to install; none where the daemon does it itself.
    pub async fn changes(&self) -> Result<Option<TableChanges>, DaemonError> {
        match self {
            Self::Gobgp(gobgp) => Ok(Some(gobgp.changes().await?)),
            Self::Frr(_) | Self::Bird(_) => Ok(None),
        }
    }

    /// Ends it.
    pub async fn stop(self, why: StopReason) {
        match self {
            Self::Frr(suite) => suite.stop(why).await,
            Self::Bird(bird) => bird.stop(why).await,
            Self::Gobgp(gobgp) => gobgp.stop(why).await,
        }
    }
}
