//! A node in memory: links that steps really change, and a daemon that runs whatever it is given.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};

use ichor_bgp::agent::route::{Route, RouteChanges};
use ichor_bgp::agent::session::SessionState;
use ichor_bgp::agent::wiring::{KernelState, Step, Sysctls, Wiring};
use ichor_bgp::agent::{Link, Session};
use ichor_bgp::render::Service;
use ichor_values::Backend;
use ichor_values::{Mac, SoftwareVersion};
use ipnet::IpNet;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::daemon::{DaemonError, StopReason};
use crate::kernel::routes::RouteError;
use crate::kernel::{ApplyError, ApplyOutcome, ObserveError};
use crate::run::host::{DaemonReport, DaemonRoutes, Host, HostEvent, Rejection};

/// Everything about the node that a test observes or sets.
#[derive(Default)]
pub struct Node {
    /// The kernel's links.
    pub links: Vec<Link>,
    /// Why the kernel lists no links, while it does not.
    pub links_error: Option<io::ErrorKind>,
    /// The kernel's error for every step; none if steps succeed.
    pub step_error: Option<io::ErrorKind>,
    /// The kernel's sysctls.
    pub sysctls: Sysctls,
    /// Applied steps, as text.
    pub steps: Vec<String>,
    /// The kernel's routes.
    pub routes: Vec<Route>,
    /// The daemon's report of its routes.
    pub daemon_routes: Option<DaemonRoutes>,
    /// The installed release; none when no daemon is installed.
    pub installed: Option<SoftwareVersion>,
    /// Why the daemon rejects its configuration; none if it accepts it.
    pub rejection: Option<Rejection>,
    /// The running service.
    pub running: Option<Service>,
    /// How many prefixes the session on `eth0` received.
    pub received: u32,
    /// The daemon's process; none while it is dead.
    pub pid: Option<u32>,
    /// Every command to the daemon: `check`, `start`, `reload`, `readvertise`, `stop …`.
    pub commands: Vec<String>,
    /// The time of each reload.
    pub reloads: Vec<Instant>,
    /// Neighbours of ports, as they were set.
    pub neighbours: Vec<(u32, Ipv6Addr)>,
    /// Ports on which the agent listens for routers.
    pub ports: Vec<String>,
}

impl Node {
    /// The daemon's configuration; empty while it does not run.
    pub fn config(&self) -> String {
        self.running.as_ref().map(|service| service.text().to_owned()).unwrap_or_default()
    }

    /// The number of times a command was sent.
    pub fn count(&self, command: &str) -> usize {
        self.commands.iter().filter(|it| *it == command).count()
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Sysctl(sysctl) => drop(self.sysctls.insert(sysctl.path.clone(), sysctl.value.to_owned())),
            Step::Dummy { name } => {
                let index = self.links.iter().map(|link| link.index).max().unwrap_or_default() + 1;
                let kind = Some("dummy".to_owned());
                self.links.push(Link { index, name: name.clone(), kind, made: true, ..Link::default() });
            }
            Step::Address { at, net } => self.change(&at.link, |link| {
                link.addresses.push(*net);
                link.given.push(*net);
            }),
            Step::RemoveAddress { at, net } => {
                self.change(&at.link, |link| link.addresses.retain(|has| has != net));
            }
            Step::Up { at } => self.change(&at.link, |link| link.up = true),
            other => panic!("this node is not asked to {other}"),
        }
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Link)) {
        change(self.links.iter_mut().find(|link| link.name == name).expect("a step is about a link"));
    }
}

/// The node as the test holds it.
#[derive(Clone)]
pub struct FakeControl {
    node: Arc<Mutex<Node>>,
    died: Arc<Notify>,
    events: mpsc::Sender<HostEvent>,
}

impl FakeControl {
    /// The node, to see and to change.
    pub fn node(&self) -> MutexGuard<'_, Node> {
        self.node.lock().unwrap()
    }

    /// Makes something happen on the node.
    pub async fn send(&self, event: HostEvent) {
        self.events.send(event).await.expect("the agent waits for events");
    }

    /// Kills the daemon. Its supervision replaces it.
    pub fn kill_daemon(&self) {
        self.node().pid = None;
        self.died.notify_one();
    }
}

/// The node as the agent holds it.
pub struct FakeHost {
    control: FakeControl,
    events: mpsc::Receiver<HostEvent>,
}

impl FakeHost {
    pub fn new(node: Node) -> Self {
        let (send, events) = mpsc::channel(8);
        let node = Arc::new(Mutex::new(node));
        Self { control: FakeControl { node, died: Arc::default(), events: send }, events }
    }

    pub fn control(&self) -> FakeControl {
        self.control.clone()
    }

    fn node(&self) -> MutexGuard<'_, Node> {
        self.control.node()
    }

    /// Replaces the process of a daemon that died; none while it runs.
    fn repair(&self) -> Option<HostEvent> {
        let mut node = self.node();
        node.running.as_ref().filter(|_| node.pid.is_none())?;
        node.pid = Some(200);
        let rejection = node.rejection.clone();
        Some(HostEvent::Repaired { what: "bgpd: it ended: signal 9".to_owned(), rejection })
    }
}

impl Host for FakeHost {
    type InstalledDaemon = ();

    async fn next_event(&mut self) -> HostEvent {
        loop {
            if let Some(repaired) = self.repair() {
                return repaired;
            }
            tokio::select! {
                Some(event) = self.events.recv() => return event,
                () = self.control.died.notified() => {}
            }
        }
    }

    async fn links(&mut self) -> io::Result<Vec<Link>> {
        let node = self.node();
        node.links_error.map_or_else(|| Ok(node.links.clone()), |kind| Err(kind.into()))
    }

    async fn observe(&mut self, links: Vec<Link>, _: &Wiring) -> Result<KernelState, ObserveError> {
        Ok(KernelState { links, sysctls: self.node().sysctls.clone(), ..KernelState::default() })
    }

    async fn apply_steps(&mut self, steps: &[Step]) -> Result<ApplyOutcome, ApplyError> {
        let mut node = self.node();
        for step in steps {
            if let Some(kind) = node.step_error {
                return Err(ApplyError { step: step.clone(), source: kind.into() });
            }
            node.apply(step);
            node.steps.push(step.to_string());
        }
        Ok(ApplyOutcome::Done)
    }

    fn listen_for_routers(&mut self, ports: &[&Link]) {
        self.node().ports = ports.iter().map(|link| link.name.clone()).collect();
    }

    async fn set_only_neighbour(&mut self, port: u32, router: Ipv6Addr, _: Mac) -> io::Result<()> {
        self.node().neighbours.push((port, router));
        Ok(())
    }

    async fn routes(&mut self, tables: &[u32]) -> io::Result<Vec<Route>> {
        let node = self.node();
        Ok(node.routes.iter().filter(|route| tables.contains(&route.table)).cloned().collect())
    }

    async fn change_routes(&mut self, difference: &RouteChanges) -> Vec<RouteError> {
        let mut node = self.node();
        node.routes.retain(|route| !difference.remove.contains(route));
        node.routes.extend(difference.install.iter().cloned());
        Vec::new()
    }

    async fn has_route_to(&mut self, _: IpAddr) -> io::Result<bool> {
        Ok(true)
    }

    async fn find_daemon(&mut self, _: Backend) -> Result<((), Option<SoftwareVersion>), DaemonError> {
        let installed = self.node().installed.clone();
        installed.map(|version| ((), Some(version))).ok_or(DaemonError::Missing("bgpd"))
    }

    async fn check_config(&mut self, (): &(), _: &Service) -> Result<(), DaemonError> {
        self.node().commands.push("check".to_owned());
        Ok(())
    }

    async fn start_daemon(
        &mut self,
        (): (),
        service: &Service,
        _: BTreeSet<IpNet>,
    ) -> Result<Option<Rejection>, DaemonError> {
        let mut node = self.node();
        node.commands.push("start".to_owned());
        (node.running, node.pid) = (Some(service.clone()), Some(100));
        Ok(node.rejection.clone())
    }

    async fn reload_daemon(&mut self, service: &Service) -> Result<(), Rejection> {
        let mut node = self.node();
        node.commands.push("reload".to_owned());
        node.reloads.push(Instant::now());
        if let Some(rejection) = &node.rejection {
            return Err(rejection.clone());
        }
        node.running = Some(service.clone());
        Ok(())
    }

    async fn announce(&mut self, _: BTreeSet<IpNet>) -> Result<(), DaemonError> {
        Ok(())
    }

    async fn poll_daemon(&mut self, _: Backend) -> DaemonReport {
        let node = self.node();
        if node.running.is_none() {
            return DaemonReport::default();
        }
        let session = Session {
            peer: "eth0".to_owned(),
            address: Some("fe80::1".to_owned()),
            state: SessionState::Established,
            received: node.received,
            ..Session::default()
        };
        let sessions = node.pid.map(|_| vec![session]);
        DaemonReport { processes: vec![("bgpd", node.pid)], sessions, conflicting: None }
    }

    async fn daemon_routes(&mut self) -> DaemonRoutes {
        self.node().daemon_routes.clone().unwrap_or(DaemonRoutes::None)
    }

    async fn readvertise(&mut self) -> Result<(), DaemonError> {
        self.node().commands.push("readvertise".to_owned());
        Ok(())
    }

    async fn stop_daemon(&mut self, why: StopReason) {
        let mut node = self.node();
        node.commands.push(format!("stop {why:?}"));
        (node.running, node.pid) = (None, None);
    }
}
