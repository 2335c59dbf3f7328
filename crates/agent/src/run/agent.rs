//! The agent: what it knows, and what it does about it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::time::{SystemTime, UNIX_EPOCH};

use ichor_core::agent::Link;
use ichor_core::agent::duty::{Duty, Health, Speech};
use ichor_core::agent::gate::Position;
use ichor_core::agent::scene::Scene;
use ichor_core::agent::status::{Anycast, Reload, Stage, Status, changes};
use ichor_core::cluster::section::{Backend, LogLevel};
use ichor_core::cluster::value::SoftwareVersion;
use ichor_core::moment::Moment;
use ichor_core::render::routing::Service;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::ears::{Ears, Heard};
use super::event::Event;
use super::picture::{self, Processes};
use super::{RunError, Settings};
use crate::daemon::place::open_way;
use crate::daemon::process::orphan::Reaper;
use crate::daemon::{Any, Stop};
use crate::kernel::{Change, Kernel};
use crate::machined::{self, Leaving};
use crate::{health, say, serve};

/// Ticks after which what could not be done is tried again.
const AGAIN: u64 = 5;
/// Ticks between two status lines when nothing changes.
const LINE: u64 = 60;
/// Remembers through a restart that anycast addresses were announced.
const OPEN: &str = "anycast-open";

/// Held by the agent that runs: a second one would take the first one's links and daemons for leftovers.
const LOCK: &str = "agent.lock";

/// The agent of a node.
pub(super) struct Agent {
    pub(super) settings: Settings,
    pub(super) duty: Duty,
    /// When what it was told last changed.
    pub(super) stamp: Option<SystemTime>,
    pub(super) kernel: Kernel,
    pub(super) version: Option<SoftwareVersion>,
    pub(super) daemon: Option<Any>,
    /// What the daemon runs.
    pub(super) service: Option<Service>,
    /// What it refused last.
    pub(super) refused: Option<Service>,
    pub(super) scene: Option<Scene>,
    pub(super) links: Vec<Link>,
    /// Why something could not be done.
    pub(super) hindered: Vec<String>,
    pub(super) vrf: bool,
    /// The routers of ports, and when they were last heard.
    pub(super) routers: BTreeMap<String, (Heard, Instant)>,
    pub(super) ears: Ears,
    pub(super) leaving: watch::Sender<Option<Leaving>>,
    pub(super) anycast: watch::Sender<Anycast>,
    pub(super) asking: Option<(Health, JoinHandle<()>)>,
    pub(super) status: watch::Sender<Status>,
    pub(super) processes: Processes,
    pub(super) reload: Option<Reload>,
    pub(super) restored: u64,
    pub(super) ticks: u64,
    pub(super) reaper: Reaper,
    /// Held as long as the folder is this agent's.
    pub(super) _lock: File,
}

impl Agent {
    /// An agent that has done nothing so far, and what it hears on ports.
    pub(super) fn new(settings: Settings, duty: Duty) -> Result<(Self, mpsc::Receiver<Heard>), RunError> {
        let folder = |source| RunError::Folder { path: settings.run.clone(), source };
        fs::create_dir_all(&settings.run).map_err(folder)?;
        // FRR's own user reads there what FRR is asked about.
        for way in [settings.run.parent(), Some(&settings.run)].into_iter().flatten() {
            open_way(way).map_err(folder)?;
        }
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

    pub(super) fn hinder(&mut self, why: String) {
        if self.hindered.contains(&why) {
            return;
        }
        if !self.status.borrow().waiting.contains(&why) {
            say::error(&why);
        }
        self.hindered.push(why);
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

pub(super) fn now() -> Moment {
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
