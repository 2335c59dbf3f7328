//! The loop's interface to the kernel, the ports and the routing daemon.
//!
//! `linux` implements [`Host`] with `kernel` and `daemon`. The tests of the loop implement it in memory, so they need neither root
//! nor a daemon, and run in no time.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv6Addr};

use ichor_bgp::agent::route::{Route, RouteChanges};
use ichor_bgp::agent::wiring::{KernelState, Step, Wiring};
use ichor_bgp::agent::{Link, Session, frr, gobgp};
use ichor_bgp::render::Service;
use ichor_values::Backend;
use ichor_values::{Mac, SoftwareVersion};
use ipnet::IpNet;

use super::ra::RouterAdvertisement;
use crate::daemon::{DaemonError, StopReason};
use crate::kernel::routes::RouteError;
use crate::kernel::{ApplyError, ApplyOutcome, KernelChange, ObserveError};

/// An event on the node.
#[derive(Debug)]
pub(super) enum HostEvent {
    /// The kernel reports changes.
    Kernel(BTreeSet<KernelChange>),
    /// A router advertised itself on a port.
    Router(RouterAdvertisement),
    /// A process of the daemon failed and was replaced.
    Repaired {
        /// The process and its failure.
        what: String,
        /// The part of its configuration that the new process rejected.
        rejection: Option<Rejection>,
    },
    /// The table of a daemon that does not install routes changed.
    Table,
}

/// Why a daemon does not run its complete configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(super) struct Rejection {
    /// The daemon's reason.
    pub reason: String,
    /// Whether a retry may succeed.
    pub is_transient: bool,
}

/// The sessions and processes of the daemon.
#[derive(Clone, Debug, Default)]
pub(super) struct DaemonReport {
    /// Every program of the daemon, with its process while there is one.
    pub processes: Vec<(&'static str, Option<u32>)>,
    /// The BGP sessions; none while the daemon does not respond.
    pub sessions: Option<Vec<Session>>,
    /// A conflicting routing daemon.
    pub conflicting: Option<String>,
}

/// The daemon's routes that the agent maintains.
#[derive(Clone, Debug)]
pub(super) enum DaemonRoutes {
    /// None: the daemon repairs its routes itself, or does not respond.
    None,
    /// The routes that FRR has installed in the kernel.
    Installed(Vec<frr::InstalledRoute>),
    /// The table of GoBGP, which does not install routes.
    Table(Vec<gobgp::BgpPath>),
}

/// A node: its kernel, its ports and its routing daemon.
///
/// An implementation decides nothing. It returns every failure, and the loop reports it and retries.
pub(super) trait Host {
    /// An installed daemon that is not running yet.
    type InstalledDaemon;

    /// Waits for the next event and supervises the daemon meanwhile. Cancel safe.
    async fn next_event(&mut self) -> HostEvent;

    /// Every link of the node's own network namespace.
    async fn links(&mut self) -> io::Result<Vec<Link>>;

    /// The kernel state to compare with `wiring`; `links` are already listed. Changes in its namespace are events from then on.
    async fn observe(&mut self, links: Vec<Link>, wiring: &Wiring) -> Result<KernelState, ObserveError>;

    /// Applies steps in order and stops at the first that fails.
    async fn apply_steps(&mut self, steps: &[Step]) -> Result<ApplyOutcome, ApplyError>;

    /// Listens for routers on exactly these ports.
    fn listen_for_routers(&mut self, ports: &[&Link]);

    /// Makes a router the only neighbour of a port, for GoBGP, which takes no port with several.
    async fn set_only_neighbour(&mut self, port: u32, router: Ipv6Addr, mac: Mac) -> io::Result<()>;

    /// The BGP routes of these tables.
    async fn routes(&mut self, tables: &[u32]) -> io::Result<Vec<Route>>;

    /// Installs and removes routes. Tries everything and returns everything that failed.
    async fn change_routes(&mut self, difference: &RouteChanges) -> Vec<RouteError>;

    /// Whether the kernel has a usable route to an address.
    async fn has_route_to(&mut self, address: IpAddr) -> io::Result<bool>;

    /// Finds the installed daemon and its release, if the daemon reports one.
    async fn find_daemon(
        &mut self,
        backend: Backend,
    ) -> Result<(Self::InstalledDaemon, Option<SoftwareVersion>), DaemonError>;

    /// Validates a configuration with the daemon's own parser. Changes nothing.
    async fn check_config(
        &mut self,
        installation: &Self::InstalledDaemon,
        service: &Service,
    ) -> Result<(), DaemonError>;

    /// Starts the daemon. Returns the part of the configuration that it rejected: a node with incomplete routing is better than
    /// an unreachable one.
    async fn start_daemon(
        &mut self,
        installation: Self::InstalledDaemon,
        service: &Service,
        own: BTreeSet<IpNet>,
    ) -> Result<Option<Rejection>, DaemonError>;

    /// Reloads the configuration of a running daemon. Sessions stay up as far as the daemon supports it.
    async fn reload_daemon(&mut self, service: &Service) -> Result<(), Rejection>;

    /// Announces exactly these addresses of the node, for a daemon that does not read them from its file.
    async fn announce(&mut self, own: BTreeSet<IpNet>) -> Result<(), DaemonError>;

    /// Polls sessions and processes.
    async fn poll_daemon(&mut self, backend: Backend) -> DaemonReport;

    /// The daemon's current routes.
    async fn daemon_routes(&mut self) -> DaemonRoutes;

    /// Sends all routes to GoBGP's neighbours again, including pending withdrawals.
    async fn readvertise(&mut self) -> Result<(), DaemonError>;

    /// Stops the daemon, if it runs.
    async fn stop_daemon(&mut self, why: StopReason);
}
