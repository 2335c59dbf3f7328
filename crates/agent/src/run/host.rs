//! The edge of the loop: what the agent needs of the kernel, of the ports and of the routing daemon.
//!
//! [`Host`] is all that the loop knows of them. `linux` implements it with `kernel` and `daemon`; the tests of the loop implement
//! it in memory, so they need no rights, no daemon and no time.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv6Addr};

use ichor_bgp::agent::route::{Difference, Route};
use ichor_bgp::agent::wiring::{Observed, Step, Wiring};
use ichor_bgp::agent::{Link, Session, frr, gobgp};
use ichor_bgp::render::Service;
use ichor_values::Backend;
use ichor_values::{Mac, SoftwareVersion};
use ipnet::IpNet;

use super::ra::RouterAdvertisement;
use crate::daemon::{DaemonError, Stop};
use crate::kernel::routes::RouteError;
use crate::kernel::{ApplyError, Change, ObserveError, Outcome};

/// Something that happened on the node.
#[derive(Debug)]
pub(super) enum HostEvent {
    /// The kernel reports changes.
    Kernel(BTreeSet<Change>),
    /// A router advertised itself on a port.
    Router(RouterAdvertisement),
    /// A process of the daemon failed and was replaced.
    Repaired {
        /// The process, and what was wrong with it.
        what: String,
        /// What the new process did not take of its configuration.
        rejection: Option<Rejection>,
    },
    /// The table of a daemon that installs no routes itself changed.
    Table,
}

/// Why a daemon does not run its configuration, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(super) struct Rejection {
    /// The daemon's reason.
    pub reason: String,
    /// Whether the same configuration may be accepted later.
    pub is_transient: bool,
}

/// What the daemon and its processes report.
#[derive(Clone, Debug, Default)]
pub(super) struct DaemonReport {
    /// Every program of the daemon, with its process while there is one.
    pub processes: Vec<(&'static str, Option<u32>)>,
    /// The BGP sessions; none while the daemon does not answer.
    pub sessions: Option<Vec<Session>>,
    /// Another program that writes the same routes.
    pub conflicting: Option<String>,
}

/// The daemon's routes that the agent has to look after.
#[derive(Clone, Debug)]
pub(super) enum DaemonRoutes {
    /// The daemon repairs its routes itself, or cannot be asked.
    None,
    /// What FRR believes to be in the kernel.
    Installed(Vec<frr::Route>),
    /// The table of GoBGP, which installs nothing.
    Table(Vec<gobgp::Path>),
}

/// A node: its kernel, its ports and its routing daemon.
///
/// An implementation decides nothing. Whatever fails is returned: the loop reports it and tries again.
pub(super) trait Host {
    /// A daemon that is installed and does not run yet.
    type Installation;

    /// Waits for the next event and supervises the daemon meanwhile. A future that is dropped loses no event.
    async fn next_event(&mut self) -> HostEvent;

    /// Every link of the node's own network namespace.
    async fn links(&mut self) -> io::Result<Vec<Link>>;

    /// Everything that `wiring` is compared with, beside `links`. From then on changes in its namespace are events.
    async fn observe(&mut self, links: Vec<Link>, wiring: &Wiring) -> Result<Observed, ObserveError>;

    /// Applies steps in order and stops at the first that fails.
    async fn apply_steps(&mut self, steps: &[Step]) -> Result<Outcome, ApplyError>;

    /// Listens for routers on exactly these ports.
    fn listen_for_routers(&mut self, ports: &[&Link]);

    /// Makes a router the only neighbour of a port, for GoBGP, which takes no port with several.
    async fn set_only_neighbour(&mut self, port: u32, router: Ipv6Addr, mac: Mac) -> io::Result<()>;

    /// The routes of these tables that came by BGP.
    async fn routes(&mut self, tables: &[u32]) -> io::Result<Vec<Route>>;

    /// Installs and removes routes. Tries everything and returns everything that failed.
    async fn change_routes(&mut self, difference: &Difference) -> Vec<RouteError>;

    /// Whether the kernel has a usable route to an address.
    async fn has_route_to(&mut self, address: IpAddr) -> io::Result<bool>;

    /// Finds the installed daemon and its release; no release where the daemon does not report it.
    async fn find_daemon(
        &mut self,
        backend: Backend,
    ) -> Result<(Self::Installation, Option<SoftwareVersion>), DaemonError>;

    /// Lets the daemon's own parser check a configuration, and changes nothing.
    async fn check_config(
        &mut self,
        installation: &Self::Installation,
        service: &Service,
    ) -> Result<(), DaemonError>;

    /// Starts the daemon. Returns what it did not take: a node that routes half of what it should is better than an unreachable
    /// one.
    async fn start_daemon(
        &mut self,
        installation: Self::Installation,
        service: &Service,
        own: BTreeSet<IpNet>,
    ) -> Result<Option<Rejection>, DaemonError>;

    /// Changes the configuration of the daemon, if it runs; sessions stay up as far as the daemon allows.
    async fn reload_daemon(&mut self, service: &Service) -> Result<(), Rejection>;

    /// Announces exactly these addresses of the node, where the daemon does not read them from its file.
    async fn announce(&mut self, own: BTreeSet<IpNet>) -> Result<(), DaemonError>;

    /// Sessions and processes as they are now.
    async fn poll_daemon(&mut self, backend: Backend) -> DaemonReport;

    /// The daemon's routes as they are now.
    async fn daemon_routes(&mut self) -> DaemonRoutes;

    /// Sends all routes to GoBGP's neighbours again, so that withdrawn ones leave them.
    async fn readvertise(&mut self) -> Result<(), DaemonError>;

    /// Stops the daemon, if it runs.
    async fn stop_daemon(&mut self, why: Stop);
}
