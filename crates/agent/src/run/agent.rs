//! The agent: what it knows, and what it does about it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ichor_core::agent::duty::{Duty, Health, Speech};
use ichor_core::agent::gate::Position;
use ichor_core::agent::route::{self, Difference, MAIN, Route};
use ichor_core::agent::scene::{Conditions, Scene, Waiting};
use ichor_core::agent::status::{Anycast, Reload, Stage, Status, changes};
use ichor_core::agent::wiring::steps;
use ichor_core::agent::{Link, Wiring, gobgp};
use ichor_core::cluster::section::{Backend, LogLevel};
use ichor_core::cluster::value::SoftwareVersion;
use ichor_core::moment::Moment;
use ichor_core::render::routing::Service;
use ichor_core::routing::Domain;
use ipnet::IpNet;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::ears::{Ears, Heard};
use super::event::Event;
use super::picture::{self, Processes};
use super::{RunError, Settings};
use crate::daemon::process::orphan::Reaper;
use crate::daemon::{Any, DaemonError, Home, Stop, replace};
use crate::kernel::routes::RouteError;
use crate::kernel::{Change, Kernel, Outcome};
use crate::machined::{self, Leaving};
use crate::{health, say, serve};

/// Ticks after which what could not be done is tried again.
const AGAIN: u64 = 5;
/// Ticks between two status lines when nothing changes.
const LINE: u64 = 60;
/// How long a daemon's own repair of swept routes is waited for.
const REPAIR: Duration = Duration::from_millis(300);
/// Remembers through a restart that anycast addresses were announced.
const OPEN: &str = "anycast-open";

/// Held by the agent that runs: a second one would take the first one's links and daemons for leftovers.
const LOCK: &str = "agent.lock";

/// The agent of a node.
pub(super) struct Agent {
    settings: Settings,
    duty: Duty,
    /// When what it was told last changed.
    stamp: Option<SystemTime>,
    kernel: Kernel,
    version: Option<SoftwareVersion>,
    daemon: Option<Any>,
    /// What the daemon runs.
    service: Option<Service>,
    /// What it refused last.
    refused: Option<Service>,
    scene: Option<Scene>,
    links: Vec<Link>,
    /// Why something could not be done.
    hindered: Vec<String>,
    vrf: bool,
    /// The routers of ports, and when they were last heard.
    routers: BTreeMap<String, (Heard, Instant)>,
    ears: Ears,
    leaving: watch::Sender<Option<Leaving>>,
    anycast: watch::Sender<Anycast>,
    asking: Option<(Health, JoinHandle<()>)>,
    status: watch::Sender<Status>,
    processes: Processes,
    reload: Option<Reload>,
    restored: u64,
    ticks: u64,
    reaper: Reaper,
    /// Held as long as the folder is this agent's.
    _lock: File,
}

impl Agent {
    /// An agent that has done nothing so far, and what it hears on ports.
    pub(super) fn new(settings: Settings, duty: Duty) -> Result<(Self, mpsc::Receiver<Heard>), RunError> {
        let folder = |source| RunError::Folder { path: settings.run.clone(), source };
        fs::create_dir_all(&settings.run).map_err(folder)?;
        let lock = File::create(settings.run.join(LOCK)).map_err(folder)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(RunError::Taken { path: settings.run }),
            Err(TryLockError::Error(error)) => return Err(folder(error)),
        }
        let (ears, heard) = Ears::new(duty.backend == Backend::Gobgp);
        let begin = if settings.run.join(OPEN).exists() { Position::Open } else { Position::Shut };
        let agent = Self {
            stamp: settings.teller.stamp(),
            kernel: Kernel::open().map_err(RunError::Kernel)?,
            status: watch::Sender::new(nothing(&duty)),
            version: None,
            daemon: None,
            service: None,
            refused: None,
            scene: None,
            links: Vec::new(),
            hindered: Vec::new(),
            vrf: true,
            routers: BTreeMap::new(),
            ears,
            leaving: watch::Sender::new(None),
            anycast: watch::Sender::new(Anycast { gate: begin, reason: None }),
            asking: None,
            processes: Processes::default(),
            reload: None,
            restored: 0,
            ticks: 0,
            reaper: Reaper::new(),
            _lock: lock,
            settings,
            duty,
        };
        Ok((agent, heard))
    }

    /// The daemon, while it runs.
    pub(super) fn daemon(&mut self) -> Option<&mut Any> {
        self.daemon.as_mut()
    }

    /// What Talos and the health check tell.
    pub(super) fn told(&self) -> (watch::Receiver<Option<Leaving>>, watch::Receiver<Anycast>) {
        (self.leaving.subscribe(), self.anycast.subscribe())
    }

    /// Begins to tell others, to listen to Talos, and to ask about health.
    pub(super) fn serve(&mut self) -> Result<(), RunError> {
        let listener = serve::socket::bind(&self.settings.run.join(serve::socket::NAME))?;
        tokio::spawn(serve::socket::serve(listener, self.status.subscribe()));
        if let Some(port) = self.settings.port {
            let source = self.status.subscribe();
            tokio::spawn(async move {
                match serve::local::bind(port).await {
                    Ok(listener) => serve::local::serve(listener, source).await,
                    Err(error) => say::warn(chain(&error)),
                }
            });
        }
        if let Some(status) = &self.duty.status {
            match serve::tls::Door::open(status) {
                Ok(door) => drop(tokio::spawn(door.serve(self.status.subscribe()))),
                Err(error) => say::error(chain(&error)),
            }
        }
        let (socket, leaving) = (self.settings.machined.clone(), self.leaving.clone());
        tokio::spawn(async move { machined::follow(&socket, &leaving).await });
        self.ask_health();
        Ok(())
    }

    /// Asks about health as the duty says.
    fn ask_health(&mut self) {
        if self.asking.as_ref().map(|(health, _)| health) == self.duty.health.as_ref() {
            return;
        }
        if let Some((_, asking)) = self.asking.take() {
            asking.abort();
        }
        self.asking = self.duty.health.clone().map(|health| {
            let begin = self.anycast.borrow().gate;
            let asking = tokio::spawn(health::watch(health.clone(), begin, self.anycast.clone()));
            (health, asking)
        });
    }

    /// Does what something that happened asks for.
    pub(super) async fn happened(&mut self, event: Event) {
        match event {
            Event::Kernel(changes) => self.changed(&changes).await,
            Event::Heard(heard) => self.heard(heard).await,
            Event::Healed(why) => {
                say::warn(format_args!("put right: {why}"));
                self.ears.ask();
                self.look().await;
            }
            Event::Paths => self.install().await,
            Event::Leaving => self.advance().await,
            Event::Anycast(now) => {
                self.remember(now.gate);
                self.advance().await;
            }
            Event::Tick => self.tick().await,
            Event::Reread => self.reread().await,
            Event::End => {}
        }
    }

    async fn changed(&mut self, changes: &BTreeSet<Change>) {
        if changes.contains(&Change::Links) {
            self.advance().await;
        }
        if changes.contains(&Change::Routes) {
            self.mend().await;
        }
    }

    async fn heard(&mut self, heard: Heard) {
        let port = heard.port.clone();
        let before = self.routers.insert(port, (heard.clone(), Instant::now()));
        let is_new = before.is_none_or(|(before, _)| before.router != heard.router);
        if is_new {
            say::debug(format_args!("{}: the router {} is there", heard.port, heard.router));
            self.introduce(&heard).await;
            self.advance().await;
        }
    }

    /// gobgpd looks for the router of a port among the kernel's neighbours, and takes it only when it is the only one.
    async fn introduce(&self, heard: &Heard) {
        let link = self.links.iter().find(|link| link.name == heard.port);
        if let (Backend::Gobgp, Some(link), Some(mac)) = (self.duty.backend, link, heard.mac)
            && let Err(error) = self.kernel.only_neighbour(link.index, heard.router, mac).await
        {
            say::warn(format_args!("{}: cannot note the router {}: {error}", heard.port, heard.router));
        }
    }

    /// An agent that is started anew goes on announcing what was announced.
    fn remember(&self, gate: Position) {
        let path = self.settings.run.join(OPEN);
        let done = match gate {
            Position::Open => fs::write(&path, ""),
            Position::Shut => fs::remove_file(&path),
        };
        if let Err(error) = done
            && error.kind() != std::io::ErrorKind::NotFound
        {
            say::debug(format_args!("cannot remember where the gate is: {error}"));
        }
    }

    async fn tick(&mut self) {
        self.ticks += 1;
        self.reaper.reap();
        let stamp = self.settings.teller.stamp();
        if stamp != self.stamp {
            self.reread().await;
        }
        let waits = self.daemon.is_none() || !self.hindered.is_empty() || !self.vrf;
        if waits && self.ticks.is_multiple_of(AGAIN) {
            self.vrf = true;
            self.advance().await;
        }
        self.look().await;
        if self.ticks.is_multiple_of(LINE) {
            println!("{}", self.status.borrow().line());
        }
    }

    /// Reads again what it is told. What cannot be understood leaves everything as it is, and is told as refused.
    async fn reread(&mut self) {
        self.stamp = self.settings.teller.stamp();
        let refused = match self.settings.teller.ask() {
            Ok(told) if told.duty.backend != self.duty.backend => {
                "the daemon is another one now; start the service anew to change it".to_owned()
            }
            Ok(told) => {
                say::set_level(told.duty.log);
                told.remarks.iter().for_each(say::warn);
                self.duty = told.duty;
                self.refused = None;
                if self.reload.as_ref().is_some_and(|reload| reload.refused.is_some()) {
                    self.reload = Some(Reload { time: now(), refused: None });
                }
                self.ask_health();
                return self.advance().await;
            }
            Err(error) => chain(&error),
        };
        self.reload = Some(Reload { time: now(), refused: Some(refused) });
        self.look().await;
    }

    /// Looks at what can be done now, and does what differs.
    pub(super) async fn advance(&mut self) {
        match self.kernel.links().await {
            Ok(links) => self.links = links,
            Err(error) => return self.hinder(format!("cannot list the links: {error}")),
        }
        self.hindered.clear();
        if let Some(scene) = self.scene() {
            self.listen(&scene);
            let scene = self.wire(scene).await;
            self.drive(&scene).await;
            self.scene = Some(scene);
        }
        self.look().await;
    }

    fn hinder(&mut self, why: String) {
        if self.hindered.contains(&why) {
            return;
        }
        if !self.status.borrow().waiting.contains(&why) {
            say::error(&why);
        }
        self.hindered.push(why);
    }

    /// What can be done now, if it can be put into words.
    fn scene(&mut self) -> Option<Scene> {
        let advertised: BTreeSet<String> = self.routers.keys().cloned().collect();
        let now = Conditions {
            links: &self.links,
            advertised: &advertised,
            vrf: self.vrf,
            healthy: self.duty.health.is_none() || self.anycast.borrow().gate == Position::Open,
            leaving: self.leaving.borrow().is_some(),
        };
        match Scene::of(&self.duty, now) {
            Ok(scene) => Some(scene),
            Err(ambiguous) => {
                for error in ambiguous {
                    self.hinder(error.to_string());
                }
                None
            }
        }
    }

    /// Listens on the ports of the fabric, and on all where one may be found.
    fn listen(&mut self, scene: &Scene) {
        let discovers = matches!(&self.duty.speech, Speech::Model(meant) if meant.discover.is_some());
        let ports = &scene.wiring.ports;
        let hears = |link: &&Link| ports.contains(&link.name) || (discovers && link.is_physical());
        let gone = |port: &String| !self.links.iter().any(|link| link.name == *port);
        self.routers.retain(|port, _| !gone(port));
        self.ears.listen(self.links.iter().filter(hears));
    }

    /// Makes the links that are needed. Without the link to the speaker where that cannot be made.
    async fn wire(&mut self, scene: Scene) -> Scene {
        let Some(pair) = &scene.wiring.pair else {
            self.plumb(&scene.wiring).await;
            return scene;
        };
        let domain = pair.domain.name().unwrap_or_default().to_owned();
        if self.plumb(&scene.wiring).await {
            return scene;
        }
        let mut scene = scene.without_speaker();
        if !self.vrf {
            scene.waiting.push(Waiting::Vrf(domain));
        }
        self.plumb(&scene.wiring).await;
        scene
    }

    /// Completes what is there; whether it is whole now.
    async fn plumb(&mut self, wiring: &Wiring) -> bool {
        let observed = match self.kernel.observe(wiring).await {
            Ok(observed) => observed,
            Err(error) => {
                self.hinder(format!("cannot look at the links: {error}"));
                return false;
            }
        };
        let steps = match steps(wiring, &observed) {
            Ok(steps) => steps,
            Err(conflicts) => {
                for conflict in conflicts {
                    self.hinder(conflict.to_string());
                }
                return false;
            }
        };
        for step in &steps {
            say::debug(step);
        }
        match self.kernel.apply(&steps).await {
            Ok(Outcome::Done) => true,
            Ok(Outcome::NoVrf) => {
                self.vrf = false;
                false
            }
            Err(error) => {
                let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                self.hinder(format!("{}{hint}", chain(&error)));
                false
            }
        }
    }

    /// Makes the daemon run what a scene says.
    async fn drive(&mut self, scene: &Scene) {
        let own = own(scene);
        let done = match self.daemon.take() {
            None => self.start(scene, own).await,
            Some(mut daemon) => {
                let done = self.change(&mut daemon, scene, own).await;
                self.daemon = Some(daemon);
                done
            }
        };
        if let Err(why) = done {
            self.hinder(why);
        }
    }

    async fn start(&mut self, scene: &Scene, own: BTreeSet<IpNet>) -> Result<(), String> {
        let home = Home::find(self.duty.backend, &self.settings.run).await.map_err(|error| chain(&error))?;
        self.version = home.version().await;
        let service = self.render(scene)?;
        home.check(&service).await.map_err(|error| chain(&error))?;
        self.write(&service)?;
        self.daemon = Some(home.start(&service, own).await.map_err(|error| chain(&error))?);
        self.service = Some(service);
        self.ears.ask();
        Ok(())
    }

    async fn change(&mut self, daemon: &mut Any, scene: &Scene, own: BTreeSet<IpNet>) -> Result<(), String> {
        let service = self.render(scene)?;
        if self.service.as_ref() != Some(&service) && self.refused.as_ref() != Some(&service) {
            let done = daemon.reload(&service).await;
            let refused = done.err().map(|error: DaemonError| chain(&error));
            if refused.is_some() {
                self.refused = Some(service);
            } else {
                self.write(&service)?;
                self.service = Some(service);
                self.refused = None;
            }
            self.reload = Some(Reload { time: now(), refused });
            self.ears.ask();
        }
        daemon.announce(own).await.map_err(|error| chain(&error))
    }

    fn render(&self, scene: &Scene) -> Result<Service, String> {
        let refused = |refusals: Vec<ichor_core::render::routing::Refusal>| {
            let each: Vec<_> = refusals.iter().map(|refusal| format!("{}: {refusal}", refusal.key)).collect();
            each.join("; ")
        };
        scene.render(&self.duty, self.version.as_ref()).map_err(refused)
    }

    /// The files as they run, for whoever wants to read them.
    fn write(&self, service: &Service) -> Result<(), String> {
        write(service, &self.settings.run)
    }

    /// Puts back routes that another program took out of the kernel.
    async fn mend(&mut self) {
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
    async fn install(&mut self) {
        let Some(Any::Gobgp(gobgp)) = &self.daemon else { return };
        let Some(model) = self.scene.as_ref().and_then(|scene| scene.model.as_ref()) else { return };
        let paths = match gobgp.paths().await {
            Ok(paths) => paths,
            Err(error) => return say::debug(chain(&error)),
        };
        let wanted = gobgp::routes(model, &paths, &self.links);
        let Ok(kernel) = self.kernel.routes(&[MAIN]).await else { return };
        let errors = self.kernel.reconcile(&route::difference(&wanted, &kernel)).await;
        tell(&errors);
    }

    /// Looks at the daemon and tells what is new.
    async fn look(&mut self) {
        let (sessions, answers) = match &self.daemon {
            Some(daemon) => match daemon.sessions().await {
                Ok(sessions) => (sessions, true),
                Err(error) => {
                    say::debug(chain(&error));
                    (Vec::new(), false)
                }
            },
            None => (Vec::new(), false),
        };
        let running = self.daemon.as_ref().map(Any::daemons).unwrap_or_default();
        self.processes.see(&running, answers, now());
        let heard: BTreeMap<String, Instant> =
            self.routers.iter().map(|(port, (_, at))| (port.clone(), *at)).collect();
        let before = self.status.borrow().clone();
        let sessions = picture::sessions(self.scene.as_ref(), sessions, &before, &self.links, &heard);
        let (stage, reason) = self.stage();
        let waiting = self.scene.iter().flat_map(|scene| &scene.waiting).map(ToString::to_string);
        let after = Status {
            time: now(),
            version: self.version.as_ref().map(ToString::to_string),
            stage,
            reason,
            waiting: waiting.chain(self.hindered.iter().cloned()).collect(),
            sessions,
            anycast: self.duty.health.as_ref().map(|_| self.anycast.borrow().clone()),
            daemons: self.processes.all(),
            reload: self.reload.clone(),
            restored: self.restored,
            ..nothing(&self.duty)
        };
        self.status.send_replace(after.clone());
        let changes = changes(&before, &after);
        for change in &changes {
            match change.level {
                LogLevel::Error => say::error(change),
                LogLevel::Warn => say::warn(change),
                LogLevel::Info => say::info(change),
                LogLevel::Debug => say::debug(change),
            }
        }
        if changes.iter().any(|change| change.level != LogLevel::Debug) {
            println!("{}", after.line());
        }
    }

    fn stage(&self) -> (Stage, Option<String>) {
        if let Some(leaving) = *self.leaving.borrow() {
            return (Stage::Leaving, Some(leaving.to_string()));
        }
        if self.duty.drain {
            return (Stage::Draining, Some("the configuration says so".to_owned()));
        }
        (if self.daemon.is_some() { Stage::Running } else { Stage::Starting }, None)
    }

    /// Ends the daemon: for a while, or for good when the node leaves. Links stay: `down` removes them.
    pub(super) async fn end(mut self) {
        let why = if self.leaving.borrow().is_some() { Stop::Leaving } else { Stop::Planned };
        say::info(match why {
            Stop::Planned => "stopping; neighbours keep the routes for a while",
            Stop::Leaving => "stopping; the node leaves",
        });
        if let Some(daemon) = self.daemon.take() {
            if why == Stop::Leaving && matches!(daemon, Any::Gobgp(_)) {
                self.withdraw().await;
            }
            daemon.stop(why).await;
        }
        // Who asks from now on finds nobody.
        let _ = fs::remove_file(self.settings.run.join(serve::socket::NAME));
    }

    /// Takes the agent's own routes out of the kernel.
    async fn withdraw(&self) {
        if let Ok(kernel) = self.kernel.routes(&[MAIN]).await {
            let errors = self.kernel.reconcile(&route::difference(&[], &kernel)).await;
            tell(&errors);
        }
    }
}

/// The state of an agent that has done nothing.
fn nothing(duty: &Duty) -> Status {
    let node = match &duty.speech {
        Speech::Model(meant) => meant.model.name.to_string(),
        Speech::Ready(_) => String::new(),
    };
    Status {
        time: now(),
        node,
        agent: env!("CARGO_PKG_VERSION").to_owned(),
        backend: duty.backend,
        version: None,
        stage: Stage::Starting,
        reason: None,
        waiting: Vec::new(),
        sessions: Vec::new(),
        anycast: None,
        daemons: Vec::new(),
        reload: None,
        restored: 0,
    }
}

/// The addresses that a daemon without links of its own has to be told.
fn own(scene: &Scene) -> BTreeSet<IpNet> {
    let announced = scene.model.iter().flat_map(|model| &model.fabric.announced);
    announced.map(|announced| announced.net).collect()
}

/// Writes the files of a service into a folder, each in one step.
pub(super) fn write(service: &Service, folder: &Path) -> Result<(), String> {
    for file in &service.files {
        replace(&folder.join(file.name), &file.text).map_err(|error| chain(&error))?;
    }
    Ok(())
}

fn tell(errors: &[RouteError]) {
    for error in errors {
        say::warn(chain(error));
    }
}

fn now() -> Moment {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Moment::from_unix(seconds).unwrap_or_else(|| Moment::from_unix(0).expect("1970"))
}

/// An error and what caused it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
