//! The real node: netlink, raw sockets on ports, and the installed routing daemon.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;

use ichor_bgp::agent::route::{Route, RouteChanges};
use ichor_bgp::agent::wiring::{KernelState, Step, Wiring};
use ichor_bgp::agent::{Link, Session};
use ichor_bgp::render::Service;
use ichor_values::Backend;
use ichor_values::{Mac, SoftwareVersion};
use ipnet::IpNet;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::chain;
use super::event::TICK;
use super::host::{DaemonReport, DaemonRoutes, Host, HostEvent, Rejection};
use super::ra::{RaListeners, RouterAdvertisement};
use crate::daemon::gobgp::api::TableChanges;
use crate::daemon::process::orphan::Reaper;
use crate::daemon::{DaemonError, Installation, RoutingDaemon, StopReason};
use crate::kernel::routes::RouteError;
use crate::kernel::{
    ApplyError, ApplyOutcome, Kernel, KernelChange, NetlinkWatch, ObserveError, find_conflicting_daemon,
    namespace_inode,
};
use crate::log;

/// The node that the agent runs on.
pub(super) struct LinuxHost {
    kernel: Kernel,
    watch: NetlinkWatch,
    /// The namespace of the last wiring that was observed.
    namespace: Option<String>,
    inside: Option<NamespaceWatch>,
    listeners: RaListeners,
    advertisements: mpsc::Receiver<RouterAdvertisement>,
    /// The run directory, which also has the daemon's files.
    run: PathBuf,
    daemon: Option<RoutingDaemon>,
    /// Changes of GoBGP's table.
    table: Option<TableChanges>,
    reaper: Reaper,
    reap: Interval,
}

/// A watch of the links in the namespace of the veth pair. Its routes and neighbours belong to the daemon.
struct NamespaceWatch {
    /// The inode of the namespace: a new namespace of the same name has another.
    inode: u64,
    watch: NetlinkWatch,
}

impl LinuxHost {
    /// Opens netlink sockets and listeners, and changes nothing. No change is missed from then on.
    pub(super) fn open(run: PathBuf, backend: Backend) -> io::Result<Self> {
        let (listeners, advertisements) = RaListeners::new(backend == Backend::Gobgp);
        let mut reap = interval(TICK);
        reap.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            kernel: Kernel::open()?,
            watch: NetlinkWatch::open()?,
            namespace: None,
            inside: None,
            listeners,
            advertisements,
            run,
            daemon: None,
            table: None,
            reaper: Reaper::new(),
            reap,
        })
    }

    /// Opens the watches whose namespace or daemon exists by now.
    async fn open_watches(&mut self) {
        self.watch_namespace();
        if self.table.is_none()
            && let Some(daemon) = &self.daemon
        {
            self.table = daemon.changes().await.ok().flatten();
        }
    }

    /// Watches the namespace of the wiring. A removed namespace is released, because a listening socket keeps it alive.
    fn watch_namespace(&mut self) {
        let inode = self.namespace.as_deref().and_then(namespace_inode);
        if self.inside.as_ref().map(|inside| inside.inode) == inode {
            return;
        }
        self.inside = None;
        if let (Some(name), Some(inode)) = (&self.namespace, inode) {
            match NetlinkWatch::links_in(name) {
                Ok(watch) => self.inside = Some(NamespaceWatch { inode, watch }),
                Err(error) => log::debug(format_args!("cannot watch links in namespace {name}: {error}")),
            }
        }
    }

    /// The changes that the kernel reports; all of them after an error.
    fn changes(&mut self, changes: io::Result<BTreeSet<KernelChange>>) -> BTreeSet<KernelChange> {
        changes.unwrap_or_else(|error| {
            log::error(format_args!("lost kernel events: {error}; resynchronising"));
            match NetlinkWatch::open() {
                Ok(watch) => self.watch = watch,
                Err(error) => log::error(format_args!("cannot watch kernel events: {error}")),
            }
            BTreeSet::from(KernelChange::ALL)
        })
    }

    /// Waits for one event; none after housekeeping.
    async fn wait(&mut self) -> Option<HostEvent> {
        let Self { daemon, advertisements, watch, inside, table, reap, .. } = self;
        let supervised = async {
            match daemon {
                Some(daemon) => daemon.supervise().await,
                None => std::future::pending().await,
            }
        };
        let inside_changed = async {
            match inside {
                Some(inside) => inside.watch.next().await,
                None => std::future::pending().await,
            }
        };
        let table_changed = async {
            match table {
                Some(table) => table.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            what = supervised => {
                self.listeners.solicit();
                let rejection = self.daemon.as_ref().and_then(rejection);
                Some(HostEvent::Repaired { what, rejection })
            }
            Some(router) = advertisements.recv() => Some(HostEvent::Router(router)),
            changes = watch.next() => Some(HostEvent::Kernel(self.changes(changes))),
            changed = inside_changed => {
                if changed.is_err() {
                    self.inside = None;
                }
                Some(HostEvent::Kernel(BTreeSet::from([KernelChange::Links])))
            }
            changed = table_changed => {
                if changed.is_err() {
                    self.table = None;
                }
                Some(HostEvent::Table)
            }
            _ = reap.tick() => {
                self.reaper.reap();
                None
            }
        }
    }

    async fn sessions(&self) -> Option<Vec<Session>> {
        let polled = self.daemon.as_ref()?.sessions().await;
        polled.inspect_err(|error| log::debug(chain(error))).ok()
    }
}

impl Host for LinuxHost {
    type InstalledDaemon = Installation;

    async fn next_event(&mut self) -> HostEvent {
        self.open_watches().await;
        loop {
            if let Some(event) = self.wait().await {
                return event;
            }
        }
    }

    async fn links(&mut self) -> io::Result<Vec<Link>> {
        self.kernel.links().await
    }

    async fn observe(&mut self, links: Vec<Link>, wiring: &Wiring) -> Result<KernelState, ObserveError> {
        self.namespace = wiring.namespace().map(str::to_owned);
        self.kernel.observe_beside(links, wiring).await
    }

    async fn apply_steps(&mut self, steps: &[Step]) -> Result<ApplyOutcome, ApplyError> {
        self.kernel.apply(steps).await
    }

    fn listen_for_routers(&mut self, ports: &[&Link]) {
        self.listeners.listen(ports.iter().copied());
    }

    async fn set_only_neighbour(&mut self, port: u32, router: Ipv6Addr, mac: Mac) -> io::Result<()> {
        self.kernel.set_only_neighbour(port, router, mac).await.map(drop)
    }

    async fn routes(&mut self, tables: &[u32]) -> io::Result<Vec<Route>> {
        self.kernel.routes(tables).await
    }

    async fn change_routes(&mut self, difference: &RouteChanges) -> Vec<RouteError> {
        self.kernel.reconcile(difference).await
    }

    async fn has_route_to(&mut self, address: IpAddr) -> io::Result<bool> {
        self.kernel.has_route_to(address).await
    }

    async fn find_daemon(
        &mut self,
        backend: Backend,
    ) -> Result<(Installation, Option<SoftwareVersion>), DaemonError> {
        let installation = Installation::find(backend, &self.run).await?;
        let version = installation.version().await;
        Ok((installation, version))
    }

    async fn check_config(
        &mut self,
        installation: &Installation,
        service: &Service,
    ) -> Result<(), DaemonError> {
        installation.check(service).await
    }

    async fn start_daemon(
        &mut self,
        installation: Installation,
        service: &Service,
        own: BTreeSet<IpNet>,
    ) -> Result<Option<Rejection>, DaemonError> {
        let daemon = self.daemon.insert(installation.start(service, own).await?);
        self.listeners.solicit();
        Ok(rejection(daemon))
    }

    async fn reload_daemon(&mut self, service: &Service) -> Result<(), Rejection> {
        let Some(daemon) = &mut self.daemon else { return Ok(()) };
        let reloaded = daemon.reload(service).await;
        self.listeners.solicit();
        Ok(reloaded?)
    }

    async fn announce(&mut self, own: BTreeSet<IpNet>) -> Result<(), DaemonError> {
        match &mut self.daemon {
            Some(daemon) => daemon.announce(own).await,
            None => Ok(()),
        }
    }

    async fn poll_daemon(&mut self, backend: Backend) -> DaemonReport {
        let writer = self.daemon.as_ref().and_then(RoutingDaemon::writer);
        DaemonReport {
            sessions: self.sessions().await,
            processes: self.daemon.as_ref().map(RoutingDaemon::processes).unwrap_or_default(),
            conflicting: find_conflicting_daemon(backend, writer.as_deref()),
        }
    }

    async fn daemon_routes(&mut self) -> DaemonRoutes {
        match &self.daemon {
            Some(RoutingDaemon::Frr(suite)) => {
                suite.routes().await.map_or(DaemonRoutes::None, DaemonRoutes::Installed)
            }
            Some(RoutingDaemon::Gobgp(gobgp)) => {
                let paths = gobgp.paths().await.inspect_err(|error| log::debug(chain(error)));
                paths.map_or(DaemonRoutes::None, DaemonRoutes::Table)
            }
            Some(RoutingDaemon::Bird(_)) | None => DaemonRoutes::None,
        }
    }

    async fn readvertise(&mut self) -> Result<(), DaemonError> {
        match &self.daemon {
            Some(RoutingDaemon::Gobgp(gobgp)) => Ok(gobgp.readvertise().await?),
            Some(RoutingDaemon::Frr(_) | RoutingDaemon::Bird(_)) | None => Ok(()),
        }
    }

    async fn stop_daemon(&mut self, why: StopReason) {
        if let Some(daemon) = self.daemon.take() {
            daemon.stop(why).await;
        }
    }
}

/// The part of its configuration that a daemon rejected at its start.
fn rejection(daemon: &RoutingDaemon) -> Option<Rejection> {
    daemon.rejected().map(|(reason, is_transient)| Rejection { reason, is_transient })
}

impl From<DaemonError> for Rejection {
    fn from(error: DaemonError) -> Self {
        Self { reason: chain(&error), is_transient: error.is_transient() }
    }
}
