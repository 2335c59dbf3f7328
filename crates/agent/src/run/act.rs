//! Doing what can be done now: links, and what the daemon is told.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use ichor_core::agent::config::ConfigSource;
use ichor_core::agent::gate::Position;
use ichor_core::agent::scene::{Conditions, Scene, Waiting};
use ichor_core::agent::status::Reload;
use ichor_core::agent::wiring::{Observed, Step, note, steps};
use ichor_core::agent::{Link, Wiring};
use ichor_core::render::routing::{Refusal, Service};
use ipnet::IpNet;
use tokio::time::Instant;

use super::agent::{Agent, chain, now};
use super::folder::SWITCHES;
use super::refused::Refused;
use crate::daemon::{Any, Home, replace};
use crate::kernel::{ObserveError, Outcome};
use crate::say;

impl Agent {
    /// What can be done now, if it can be put into words.
    pub(super) fn scene(&mut self) -> Option<Scene> {
        let advertised: BTreeSet<String> = self.routers.keys().cloned().collect();
        let now = Conditions {
            links: &self.links,
            advertised: &advertised,
            vrf: self.vrf,
            healthy: self.duty.health.is_none() || self.anycast.borrow().gate == Position::Open,
            leaving: self.leaving.borrow().is_some(),
        };
        match Scene::of(&self.duty, now) {
            Ok(scene) => Some(scene.knowing(&self.named.routers)),
            Err(ambiguous) => {
                for error in ambiguous {
                    self.hinder(error.to_string());
                }
                None
            }
        }
    }

    /// Listens on the ports of the fabric, and on all where one may be found.
    pub(super) fn listen(&mut self, scene: &Scene) {
        let discovers = matches!(&self.duty.source, ConfigSource::Model(meant) if meant.discover.is_some());
        let ports = &scene.wiring.ports;
        let hears = |link: &&Link| ports.contains(&link.name) || (discovers && link.is_physical());
        let gone = |port: &String| !self.links.iter().any(|link| link.name == *port);
        self.routers.retain(|port, _| !gone(port));
        self.ears.listen(self.links.iter().filter(hears));
    }

    /// Makes the links that are needed. Without the link to the speaker where that cannot be made.
    pub(super) async fn wire(&mut self, scene: Scene) -> Scene {
        let observed = self.kernel.observe_beside(self.links.clone(), &scene.wiring).await;
        let is_whole = self.plumb(&scene.wiring, observed).await;
        let Some(pair) = scene.wiring.pair.as_ref().filter(|_| !is_whole) else { return scene };
        let domain = pair.domain.name().unwrap_or_default().to_owned();
        let mut scene = scene.without_speaker();
        if !self.vrf {
            scene.waiting.push(Waiting::Vrf(domain));
        }
        let observed = self.kernel.observe(&scene.wiring).await;
        self.plumb(&scene.wiring, observed).await;
        scene
    }

    /// Completes what is there; whether it is whole now.
    async fn plumb(&mut self, wiring: &Wiring, observed: Result<Observed, ObserveError>) -> bool {
        let observed = match observed {
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
        self.note(&steps, &observed);
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

    /// Remembers what switches said before they are turned, for `down`.
    fn note(&mut self, steps: &[Step], observed: &Observed) {
        let known = self.before.len();
        note(steps, observed, &mut self.before);
        if self.before.len() > known {
            self.folder.keep(SWITCHES, &self.before);
        }
    }

    /// Makes the daemon run what a scene says.
    pub(super) async fn drive(&mut self, scene: &Scene) {
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
        self.own_up();
        let restart = scene.model.as_ref().and_then(|model| model.fabric.graceful_restart);
        self.recovery = restart.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
        self.ears.ask();
        Ok(())
    }

    async fn change(&mut self, daemon: &mut Any, scene: &Scene, own: BTreeSet<IpNet>) -> Result<(), String> {
        let service = self.render(scene)?;
        let is_refused = |refused: &Refused| refused.is(&service) && !refused.is_due(Instant::now());
        if self.service.as_ref() != Some(&service) && !self.refused.as_ref().is_some_and(is_refused) {
            match daemon.reload(&service).await {
                Ok(()) => {
                    self.write(&service)?;
                    self.service = Some(service);
                    self.refused = None;
                    self.reload = Some(Reload { time: now(), refused: None, again: None });
                }
                Err(error) => self.refuse(service, chain(&error), error.passes()),
            }
            self.ears.ask();
        }
        daemon.announce(own).await.map_err(|error| chain(&error))
    }

    /// Notes what the daemon did not take of what it was told at its start.
    pub(super) fn own_up(&mut self) {
        let Some((why, passes)) = self.daemon.as_ref().and_then(Any::refused) else { return };
        if let Some(service) = self.service.take() {
            self.refuse(service, why, passes);
        }
    }

    /// Notes that the daemon did not take a configuration. It is told again if what was in the way passes; whatever is meant
    /// next, the daemon is told, as it may run some of both.
    fn refuse(&mut self, service: Service, why: String, passes: bool) {
        let (clock, time) = (Instant::now(), now());
        let refused = Refused::new(service, passes, self.refused.take(), clock);
        let again = refused.wait(clock).and_then(|wait| time.after(wait));
        self.reload = Some(Reload { time, refused: Some(why), again });
        self.service = None;
        self.refused = Some(refused);
    }

    fn render(&self, scene: &Scene) -> Result<Service, String> {
        let refused = |refusals: Vec<Refusal>| {
            let each: Vec<_> = refusals.iter().map(|refusal| format!("{}: {refusal}", refusal.key)).collect();
            each.join("; ")
        };
        scene.render(&self.duty, self.version.as_ref()).map_err(refused)
    }

    /// The files as they run, for whoever wants to read them.
    fn write(&self, service: &Service) -> Result<(), String> {
        write(service, &self.settings.run)
    }
}

/// The addresses that a daemon without links of its own has to be told.
fn own(scene: &Scene) -> BTreeSet<IpNet> {
    let announced = scene.model.iter().flat_map(|model| &model.fabric.announced);
    announced.map(|announced| announced.net).collect()
}

/// Writes the files of a service into a folder, each in one step.
fn write(service: &Service, folder: &Path) -> Result<(), String> {
    for file in &service.files {
        replace(&folder.join(file.name), &file.text).map_err(|error| chain(&error))?;
    }
    Ok(())
}
