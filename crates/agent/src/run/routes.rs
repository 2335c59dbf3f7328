//! Kernel routes: restored when another program removed them, and installed for a daemon that does not do it itself.

use std::time::Duration;

use ichor_bgp::agent::route;
use ichor_bgp::agent::route::{MAIN, Route, RouteChanges};
use ichor_bgp::agent::status::PeerRole;
use ichor_bgp::agent::{frr, gobgp};
use ichor_bgp::model::RoutingDomain;
use ichor_values::Backend;
use ipnet::IpNet;
use tokio::time::{Instant, sleep};

use super::agent::Agent;
use super::chain;
use super::host::{DaemonRoutes, Host};
use crate::kernel::routes::RouteError;
use crate::log;

/// How long the daemon has to repair its routes itself.
const REPAIR: Duration = Duration::from_millis(300);

impl<H: Host> Agent<H> {
    /// Restores routes that another program removed from the kernel.
    pub(super) async fn repair_routes(&mut self) {
        let removed = match self.host.daemon_routes().await {
            DaemonRoutes::None => return,
            DaemonRoutes::Table(paths) => return self.install_paths(&paths).await,
            DaemonRoutes::Installed(routes) => self.missing_routes(routes).await,
        };
        if removed.is_empty() {
            return;
        }
        sleep(REPAIR).await;
        let DaemonRoutes::Installed(routes) = self.host.daemon_routes().await else { return };
        let install = self.missing_routes(routes).await;
        if install.is_empty() {
            return;
        }
        let count = install.len() as u64;
        let errors = self.host.change_routes(&RouteChanges { install, remove: Vec::new() }).await;
        warn(&errors);
        self.daemon.restored += count.saturating_sub(errors.len() as u64);
    }

    /// The routes that FRR has installed and that are missing in the kernel.
    async fn missing_routes(&mut self, routes: Vec<frr::InstalledRoute>) -> Vec<Route> {
        let table = self.load_balancer_table();
        let tables: Vec<u32> = std::iter::once(MAIN).chain(table.as_ref().map(|(_, table)| *table)).collect();
        let Ok(kernel) = self.host.routes(&tables).await else { return Vec::new() };
        let routes = routes.into_iter().filter_map(|route| route.in_kernel(table.as_ref()));
        let mut routes: Vec<Route> = routes.collect();
        let names: Vec<(u32, IpNet)> = routes.iter().map(|route| (route.table, route.prefix)).collect();
        let missing = route::removed_prefixes(&names, &kernel);
        routes.retain(|route| missing.contains(&(route.table, route.prefix)));
        routes
    }

    /// The VRF of the load balancer, and its table.
    fn load_balancer_table(&self) -> Option<(String, u32)> {
        match &self.daemon.desired.as_ref()?.wiring.pair.as_ref()?.domain {
            RoutingDomain::Vrf { name, table } => Some((name.clone(), *table)),
            RoutingDomain::Namespace { .. } | RoutingDomain::Shared => None,
        }
    }

    /// Installs the routes of a daemon that does not do it itself.
    pub(super) async fn install_routes(&mut self) {
        if self.config.backend == Backend::Gobgp
            && let DaemonRoutes::Table(paths) = self.host.daemon_routes().await
        {
            self.install_paths(&paths).await;
        }
    }

    async fn install_paths(&mut self, paths: &[gobgp::BgpPath]) {
        let Some(model) = self.daemon.desired.as_ref().and_then(|desired| desired.model.as_ref()) else {
            return;
        };
        let exported = gobgp::exported_prefixes(model, paths);
        let wanted = gobgp::routes(model, paths, &self.links);
        if gobgp::owes_withdrawal(&self.daemon.exported, &exported, paths)
            && let Err(error) = self.host.readvertise().await
        {
            log::warn(format_args!("neighbours may keep withdrawn routes: {}", chain(&error)));
        }
        self.daemon.exported = exported;
        let Ok(kernel) = self.host.routes(&[MAIN]).await else { return };
        let mut difference = route::difference(&wanted, &kernel);
        if self.is_recovering() {
            difference.remove.clear();
        }
        warn(&self.host.change_routes(&difference).await);
    }

    /// Whether routes from before the start are kept: until every neighbour has sent its routes, at most for the restart time of
    /// graceful restart.
    fn is_recovering(&self) -> bool {
        let status = self.reporting.status.borrow();
        let fabric = || status.sessions.iter().filter(|status| status.with == PeerRole::Fabric);
        let is_complete = fabric().count() > 0
            && fabric().all(|status| status.session.received > 0)
            && status.waiting.is_empty();
        self.daemon.recovery.is_some_and(|end| Instant::now() < end) && !is_complete
    }

    /// Ends the recovery when it is over.
    pub(super) async fn end_recovery(&mut self) {
        if self.daemon.recovery.is_some() && !self.is_recovering() {
            self.daemon.recovery = None;
            self.install_routes().await;
        }
    }

    /// Removes the agent's own routes from the kernel.
    pub(super) async fn remove_routes(&mut self) {
        if let Ok(kernel) = self.host.routes(&[MAIN]).await {
            warn(&self.host.change_routes(&route::difference(&[], &kernel)).await);
        }
    }
}

fn warn(errors: &[RouteError]) {
    for error in errors {
        log::warn(chain(error));
    }
}
