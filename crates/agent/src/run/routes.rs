//! Routes in the kernel: put back when another program took them, and installed for a daemon that does not do it itself.

use std::time::Duration;

use ichor_bgp::agent::gobgp;
use ichor_bgp::agent::route;
use ichor_bgp::agent::route::{Difference, MAIN, Route};
use ichor_bgp::agent::status::With;
use ichor_bgp::model::Domain;
use ipnet::IpNet;
use tokio::time::{Instant, sleep};

use super::agent::{Agent, chain};
use crate::daemon::Any;
use crate::kernel::routes::RouteError;
use crate::say;

/// How long a daemon's own repair of swept routes is waited for.
const REPAIR: Duration = Duration::from_millis(300);

impl Agent {
    /// Puts back routes that another program took out of the kernel.
    pub(super) async fn mend(&mut self) {
        match &self.daemon {
            Some(Any::Frr(_)) => {}
            Some(Any::Gobgp(_)) => return self.install().await,
            Some(Any::Bird(_)) | None => return,
        }
        if self.swept().await.is_empty() {
            return;
        }
        sleep(REPAIR).await;
        let swept = self.swept().await;
        if swept.is_empty() {
            return;
        }
        let count = swept.len() as u64;
        let errors = self.kernel.reconcile(&Difference { install: swept, remove: Vec::new() }).await;
        tell(&errors);
        self.restored += count.saturating_sub(errors.len() as u64);
    }

    /// Routes that FRR takes to be in the kernel and that are not.
    async fn swept(&self) -> Vec<Route> {
        let Some(Any::Frr(suite)) = &self.daemon else { return Vec::new() };
        let table = self.table();
        let tables: Vec<u32> = std::iter::once(MAIN).chain(table.as_ref().map(|(_, table)| *table)).collect();
        let (Ok(told), Ok(kernel)) = (suite.routes().await, self.kernel.routes(&tables).await) else {
            return Vec::new();
        };
        let told: Vec<Route> = told.into_iter().filter_map(|route| route.in_kernel(table.as_ref())).collect();
        let names: Vec<(u32, IpNet)> = told.iter().map(|route| (route.table, route.prefix)).collect();
        let gone = route::swept(&names, &kernel);
        told.into_iter().filter(|route| gone.contains(&(route.table, route.prefix))).collect()
    }

    /// The VRF of the speaker, and its table.
    fn table(&self) -> Option<(String, u32)> {
        match &self.scene.as_ref()?.wiring.pair.as_ref()?.domain {
            Domain::Vrf { name, table } => Some((name.clone(), *table)),
            Domain::Namespace { .. } | Domain::Shared => None,
        }
    }

    /// Installs the routes of a daemon that does not do it itself.
    pub(super) async fn install(&mut self) {
        let Some(Any::Gobgp(gobgp)) = &self.daemon else { return };
        let Some(model) = self.scene.as_ref().and_then(|scene| scene.model.as_ref()) else { return };
        let paths = match gobgp.paths().await {
            Ok(paths) => paths,
            Err(error) => return say::debug(chain(&error)),
        };
        let given = gobgp::given(model, &paths);
        if gobgp::owes(&self.given, &given, &paths)
            && let Err(error) = gobgp.repeat().await
        {
            say::warn(format_args!("neighbours may keep what is not here any more: {}", chain(&error)));
        }
        self.given = given;
        let wanted = gobgp::routes(model, &paths, &self.links);
        let Ok(kernel) = self.kernel.routes(&[MAIN]).await else { return };
        let mut difference = route::difference(&wanted, &kernel);
        if self.recovers() {
            difference.remove.clear();
        }
        let errors = self.kernel.reconcile(&difference).await;
        tell(&errors);
    }

    /// Whether routes of before the start are kept: until every neighbour told its own, and no longer than neighbours keep ours.
    pub(super) fn recovers(&self) -> bool {
        let status = self.status.borrow();
        let fabric = || status.sessions.iter().filter(|told| told.with == With::Fabric);
        let all = fabric().count() > 0
            && fabric().all(|told| told.session.received > 0)
            && status.waiting.is_empty();
        self.recovery.is_some_and(|end| Instant::now() < end) && !all
    }

    /// Ends the recovery when it is over.
    pub(super) async fn settle(&mut self) {
        if self.recovery.is_some() && !self.recovers() {
            self.recovery = None;
            self.install().await;
        }
    }

    /// Takes the agent's own routes out of the kernel.
    pub(super) async fn withdraw(&self) {
        if let Ok(kernel) = self.kernel.routes(&[MAIN]).await {
            let errors = self.kernel.reconcile(&route::difference(&[], &kernel)).await;
            tell(&errors);
        }
    }
}

fn tell(errors: &[RouteError]) {
    for error in errors {
        say::warn(chain(error));
    }
}
