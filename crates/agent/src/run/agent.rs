//! The agent: what it knows, and what it does about it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use ichor_core::agent::Link;
use ichor_core::agent::config::{self, AgentConfig, ConfigSource, Health};
use ichor_core::agent::gate::Position;
use ichor_core::agent::scene::Scene;
use ichor_core::agent::status::{Anycast, Reload, Stage, Status};
use ichor_core::agent::stood::Stood;
use ichor_core::agent::wiring::Switches;
use ichor_core::cluster::section::Backend;
use ichor_core::cluster::value::SoftwareVersion;
use ichor_core::moment::Moment;
use ichor_core::render::routing::Service;
use ipnet::IpNet;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::ears::{Ears, Heard};
use super::event::Event;
use super::folder::{Folder, OPEN, ROUTERS, SWITCHES};
use super::named::Named;
use super::picture::Processes;
use super::refused::Refused;
use super::{RunError, Settings};
use crate::daemon::process::orphan::Reaper;
use crate::daemon::{Any, Stop};
use crate::kernel::{Change, Kernel};
use crate::machined::{self, Leaving};
use crate::serve::tls::{Door, Invitation};
use crate::{health, say, serve};

/// Ticks after which what could not be done is tried again.
const AGAIN: u64 = 5;
/// Ticks between two status lines when nothing changes.
const LINE: u64 = 60;
/// The agent of a node.
pub(super) struct Agent {
    pub(super) settings: Settings,
    pub(super) duty: AgentConfig,
    /// When what it was told last changed.
    pub(super) stamp: Option<SystemTime>,
    pub(super) kernel: Kernel,
    pub(super) version: Option<SoftwareVersion>,
    pub(super) daemon: Option<Any>,
    /// What the daemon runs.
    pub(super) service: Option<Service>,
    /// What it refused last.
    pub(super) refused: Option<Refused>,
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
    /// Where the state is served over mutual TLS.
    pub(super) door: Option<(config::Status, JoinHandle<()>)>,
    pub(super) processes: Processes,
    pub(super) stood: Stood,
    pub(super) reload: Option<Reload>,
    pub(super) restored: u64,
    /// What GoBGP's neighbours were told last.
    pub(super) given: BTreeSet<IpNet>,
    /// Until when routes of before the daemon's start are kept.
    pub(super) recovery: Option<Instant>,
    pub(super) ticks: u64,
    pub(super) reaper: Reaper,
    pub(super) folder: Folder,
    /// What switches of the kernel said before.
    pub(super) before: Switches,
    /// Routers that the daemon is told by their addresses.
    pub(super) named: Named,
}

impl Agent {
    /// An agent that has done nothing so far, and what it hears on ports.
    pub(super) fn new(
        settings: Settings,
        duty: AgentConfig,
    ) -> Result<(Self, mpsc::Receiver<Heard>), RunError> {
        let folder = Folder::take(&settings.run)?;
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
            door: None,
            processes: Processes::default(),
            stood: Stood::default(),
            reload: None,
            restored: 0,
            given: BTreeSet::new(),
            recovery: None,
            ticks: 0,
            reaper: Reaper::new(),
            before: folder.recall(SWITCHES),
            named: Named::recall(duty.backend, folder.recall(ROUTERS)),
            folder,
            settings,
            duty,
        };
        Ok((agent, heard))
    }

    /// The daemon, while it runs.
    pub(super) fn daemon(&mut self) -> Option<&mut Any> {
        self.daemon.as_mut()
    }

    /// The namespace of the link to the speaker.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.scene.as_ref()?.wiring.namespace()
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

    /// Serves the state over mutual TLS where and to whom the duty says. What cannot be served leaves who was served before.
    async fn open_door(&mut self) {
        if self.door.as_ref().map(|(status, _)| status) == self.duty.status.as_ref() {
            return;
        }
        let invitation = match self.duty.status.as_ref().map(Invitation::read).transpose() {
            Ok(invitation) => invitation,
            Err(error) => return self.hinder(chain(&error)),
        };
        if let Some((_, serving)) = self.door.take() {
            // The port is free when it has ended.
            serving.abort();
            let _ = serving.await;
        }
        let (Some(status), Some(invitation)) = (self.duty.status.clone(), invitation) else { return };
        match Door::open(invitation) {
            Ok(door) => self.door = Some((status, tokio::spawn(door.serve(self.status.subscribe())))),
            Err(error) => self.hinder(chain(&error)),
        }
    }

    /// Does what something that happened asks for.
    pub(super) async fn happened(&mut self, event: Event) {
        match event {
            Event::Kernel(changes) => self.changed(&changes).await,
            Event::Heard(heard) => self.heard(heard).await,
            Event::Healed(why) => {
                say::warn(format_args!("put right: {why}"));
                self.own_up();
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
        let renamed = self.named.hear(&heard, &self.status.borrow().sessions);
        let port = heard.port.clone();
        let before = self.routers.insert(port, (heard.clone(), Instant::now()));
        let is_new = before.is_none_or(|(before, _)| before.router != heard.router);
        if is_new {
            say::debug(format_args!("{}: the router {} is there", heard.port, heard.router));
            self.introduce(&heard).await;
        }
        if is_new || renamed {
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
        let is_due = self.refused.as_ref().is_some_and(|refused| refused.is_due(Instant::now()));
        if is_due || (waits && self.ticks.is_multiple_of(AGAIN)) {
            self.vrf = true;
            self.advance().await;
        }
        self.look().await;
        self.settle().await;
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
                    self.reload = Some(Reload { time: now(), refused: None, again: None });
                }
                self.ask_health();
                return self.advance().await;
            }
            Err(error) => chain(&error),
        };
        let refused = Some(format!("{refused}; the old one runs on"));
        self.reload = Some(Reload { time: now(), refused, again: None });
        self.look().await;
    }

    /// Looks at what can be done now, and does what differs.
    pub(super) async fn advance(&mut self) {
        match self.kernel.links().await {
            Ok(links) => self.links = links,
            Err(error) => return self.hinder(format!("cannot list the links: {error}")),
        }
        self.hindered.clear();
        self.open_door().await;
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
pub(super) fn nothing(duty: &AgentConfig) -> Status {
    let node = match &duty.source {
        ConfigSource::Model(meant) => meant.model.name.to_string(),
        ConfigSource::Files(_) => String::new(),
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
