//! The agent: its state, and its reactions to events.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::SystemTime;

use ichor_bgp::agent::Link;
use ichor_bgp::agent::config::AgentConfig;
use ichor_bgp::agent::health_gate::GateState;
use ichor_bgp::agent::wiring::Sysctls;
use ichor_values::Backend;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::daemon_state::DaemonState;
use super::event::{Event, Events, SignalRequest};
use super::host::{Host, HostEvent};
use super::known_routers::KnownRouters;
use super::ra::RouterAdvertisement;
use super::reporting::Reporting;
use super::state_dir::{ANYCAST_OPEN, ROUTERS, SYSCTLS, StateDir};
use super::{RunError, Settings, chain};
use crate::daemon::StopReason;
use crate::kernel::KernelChange;
use crate::machined::{self, LeaveReason};
use crate::{log, serve};

/// Ticks between retries after a failure.
const RETRY: u64 = 5;
/// Ticks between two status lines when nothing changes.
const LINE: u64 = 60;

/// The agent of a node.
pub(super) struct Agent<H> {
    pub(super) settings: Settings,
    pub(super) config: AgentConfig,
    /// When the configuration file last changed.
    config_changed: Option<SystemTime>,
    pub(super) host: H,
    pub(super) daemon: DaemonState,
    pub(super) routers: PortRouters,
    pub(super) reporting: Reporting,
    pub(super) links: Vec<Link>,
    /// The current failures.
    pub(super) failures: Vec<String>,
    /// Whether the kernel supports VRFs, until it proves not to.
    pub(super) has_vrfs: bool,
    pub(super) leaving: watch::Sender<Option<LeaveReason>>,
    ticks: u64,
    pub(super) state_dir: StateDir,
    /// The values of sysctls before the agent changed them.
    pub(super) sysctls_before: Sysctls,
}

/// The routers on the ports.
pub(super) struct PortRouters {
    /// The last advertisement on each port, and when it was received.
    pub advertisements: BTreeMap<String, (RouterAdvertisement, Instant)>,
    /// The routers that the daemon's configuration names by address.
    pub known: KnownRouters,
}

impl<H: Host> Agent<H> {
    /// A new agent. It has not changed anything yet.
    pub(super) fn new(settings: Settings, config: AgentConfig, state_dir: StateDir, host: H) -> Self {
        let gate = if settings.run.join(ANYCAST_OPEN).exists() { GateState::Open } else { GateState::Closed };
        let known = KnownRouters::new(config.backend, state_dir.load(ROUTERS));
        Self {
            config_changed: settings.loader.modified_at(),
            host,
            daemon: DaemonState::default(),
            routers: PortRouters { advertisements: BTreeMap::new(), known },
            reporting: Reporting::new(&config, gate),
            links: Vec::new(),
            failures: Vec::new(),
            has_vrfs: true,
            leaving: watch::Sender::new(None),
            ticks: 0,
            sysctls_before: state_dir.load(SYSCTLS),
            state_dir,
            settings,
            config,
        }
    }

    /// Starts to serve the status, to follow Talos' events and to check health.
    pub(super) fn serve(&mut self) -> Result<(), RunError> {
        let listener = serve::socket::bind(&self.settings.run.join(serve::socket::NAME))?;
        tokio::spawn(serve::socket::serve(listener, self.reporting.status.subscribe()));
        if let Some(port) = self.settings.port {
            let source = self.reporting.status.subscribe();
            tokio::spawn(async move {
                match serve::local::bind(port).await {
                    Ok(listener) => serve::local::serve(listener, source).await,
                    Err(error) => log::warn(chain(&error)),
                }
            });
        }
        let (socket, leaving) = (self.settings.machined.clone(), self.leaving.clone());
        tokio::spawn(async move { machined::follow(&socket, &leaving).await });
        self.reporting.set_health_check(self.config.health.as_ref());
        Ok(())
    }

    /// Reacts to events until a signal stops it.
    pub(super) async fn run(mut self, requests: mpsc::Receiver<SignalRequest>) {
        let (leaving, anycast) = (self.leaving.subscribe(), self.reporting.anycast.subscribe());
        let mut events = Events::new(requests, leaving, anycast);
        self.reconcile().await;
        loop {
            match events.next(&mut self.host).await {
                Event::Request(SignalRequest::Stop) => break,
                Event::Request(SignalRequest::Reload) => self.reload_config().await,
                Event::Host(event) => self.handle(event).await,
                Event::Leaving => self.reconcile().await,
                Event::Anycast(now) => {
                    self.store_gate(now.gate);
                    self.reconcile().await;
                }
                Event::Tick => self.tick().await,
            }
        }
        self.stop().await;
    }

    async fn handle(&mut self, event: HostEvent) {
        match event {
            HostEvent::Kernel(changes) => self.handle_changes(&changes).await,
            HostEvent::Router(router) => self.handle_router(router).await,
            HostEvent::Repaired { what, rejection } => {
                log::warn(format_args!("recovered from a failure: {what}"));
                self.daemon.record_rejection(rejection);
                self.refresh_status().await;
            }
            HostEvent::Table => self.install_routes().await,
        }
    }

    async fn handle_changes(&mut self, changes: &BTreeSet<KernelChange>) {
        if changes.contains(&KernelChange::Links) {
            self.reconcile().await;
        }
        if changes.contains(&KernelChange::Routes) {
            self.repair_routes().await;
        }
    }

    async fn handle_router(&mut self, router: RouterAdvertisement) {
        let is_renamed = self.routers.known.update_named(&router, &self.reporting.status.borrow().sessions);
        let before =
            self.routers.advertisements.insert(router.port.clone(), (router.clone(), Instant::now()));
        let is_new = before.is_none_or(|(before, _)| before.router != router.router);
        if is_new {
            log::debug(format_args!("discovered router {} on port {}", router.router, router.port));
            self.add_neighbour(&router).await;
        }
        if is_new || is_renamed {
            self.reconcile().await;
        }
    }

    /// Adds the router of a port to the kernel's neighbour table, where gobgpd looks it up and accepts a single entry only.
    async fn add_neighbour(&mut self, router: &RouterAdvertisement) {
        let link = self.links.iter().find(|link| link.name == router.port);
        if let (Backend::Gobgp, Some(link), Some(mac)) = (self.config.backend, link, router.mac)
            && let Err(error) = self.host.set_only_neighbour(link.index, router.router, mac).await
        {
            log::warn(format_args!(
                "cannot add router {} to the neighbour table of port {}: {error}",
                router.router, router.port
            ));
        }
    }

    /// Stores the state of the health gate, so that a restarted agent continues to announce anycast addresses.
    fn store_gate(&self, gate: GateState) {
        let path = self.settings.run.join(ANYCAST_OPEN);
        let stored = match gate {
            GateState::Open => fs::write(&path, ""),
            GateState::Closed => fs::remove_file(&path),
        };
        if let Err(error) = stored
            && error.kind() != std::io::ErrorKind::NotFound
        {
            log::debug(format_args!("cannot store the state of the health gate: {error}"));
        }
    }

    async fn tick(&mut self) {
        self.ticks += 1;
        if self.settings.loader.modified_at() != self.config_changed {
            self.reload_config().await;
        }
        let is_incomplete = !self.daemon.is_started || !self.failures.is_empty() || !self.has_vrfs;
        let is_retry_due = self.daemon.is_retry_due(Instant::now());
        if is_retry_due || (is_incomplete && self.ticks.is_multiple_of(RETRY)) {
            self.has_vrfs = true;
            self.reconcile().await;
        }
        self.refresh_status().await;
        self.end_recovery().await;
        if self.ticks.is_multiple_of(LINE) {
            println!("{}", self.reporting.status.borrow().line());
        }
    }

    /// Reloads the configuration. An invalid one is reported, and the previous one stays in use.
    async fn reload_config(&mut self) {
        self.config_changed = self.settings.loader.modified_at();
        match self.settings.loader.load() {
            Ok(loaded) if loaded.config.backend != self.config.backend => {
                self.daemon.keep_old("cannot change the backend of a running agent; restart the service");
            }
            Ok(loaded) => {
                log::set_level(loaded.config.log);
                loaded.warnings.iter().for_each(log::warn);
                self.config = loaded.config;
                self.daemon.forget_rejection();
                self.reporting.set_health_check(self.config.health.as_ref());
                return self.reconcile().await;
            }
            Err(error) => self.daemon.keep_old(&chain(&error)),
        }
        self.refresh_status().await;
    }

    /// Compares the desired with the existing state and applies the difference. A start, a change and a repair are the same.
    pub(super) async fn reconcile(&mut self) {
        match self.host.links().await {
            Ok(links) => self.links = links,
            Err(error) => return self.report_failure(format!("cannot list links: {error}")),
        }
        self.failures.clear();
        if let Err(error) = self.reporting.set_endpoint(self.config.status.as_ref()).await {
            self.report_failure(chain(&error));
        }
        if let Some(desired) = self.desired_state() {
            self.listen_for_routers(&desired);
            let desired = self.apply_links(desired).await;
            self.apply_daemon(&desired).await;
            self.daemon.desired = Some(desired);
        }
        self.refresh_status().await;
    }

    /// Reports a failure. The agent retries on the next event and every few seconds.
    pub(super) fn report_failure(&mut self, reason: String) {
        if self.failures.contains(&reason) {
            return;
        }
        if !self.reporting.status.borrow().waiting.contains(&reason) {
            log::error(&reason);
        }
        self.failures.push(reason);
    }

    /// Stops the daemon, for a restart or because the node leaves. Links stay: `down` removes them.
    async fn stop(mut self) {
        let why = if self.leaving.borrow().is_some() { StopReason::Leaving } else { StopReason::Planned };
        log::info(match why {
            StopReason::Planned => "stopping for a restart; neighbours keep the routes for a while",
            StopReason::Leaving => "stopping because the node leaves; withdrawing its routes",
        });
        if why == StopReason::Leaving && self.daemon.is_started && self.config.backend == Backend::Gobgp {
            self.remove_routes().await;
        }
        self.host.stop_daemon(why).await;
        // `ichor-agent status` must not find a stopped agent.
        let _ = fs::remove_file(self.settings.run.join(serve::socket::NAME));
    }
}
