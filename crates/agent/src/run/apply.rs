//! Applying what can be done now: links first, then the daemon's configuration.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use ichor_bgp::agent::Link;
use ichor_bgp::agent::config::ConfigSource;
use ichor_bgp::agent::gate::Position;
use ichor_bgp::agent::scene::{Conditions, Scene, Waiting};
use ichor_bgp::agent::wiring::{Observed, Step, Wiring, note, steps};
use ichor_bgp::render::Service;
use ichor_values::Issue;
use ipnet::IpNet;
use tokio::time::Instant;

use super::agent::Agent;
use super::chain;
use super::host::Host;
use super::state_dir::SWITCHES;
use crate::daemon::replace;
use crate::kernel::Outcome;
use crate::log;

impl<H: Host> Agent<H> {
    /// What can be done now; none while ports cannot be told apart.
    pub(super) fn desired_state(&mut self) -> Option<Scene> {
        let advertised: BTreeSet<String> = self.routers.heard.keys().cloned().collect();
        let now = Conditions {
            links: &self.links,
            advertised: &advertised,
            vrf: self.has_vrfs,
            healthy: self.config.health.is_none() || self.reporting.anycast.borrow().gate == Position::Open,
            leaving: self.leaving.borrow().is_some(),
        };
        match Scene::of(&self.config, now) {
            Ok(desired) => Some(desired.knowing(&self.routers.known.routers)),
            Err(ambiguous) => {
                for error in ambiguous {
                    self.report_failure(error.to_string());
                }
                None
            }
        }
    }

    /// Listens for routers on the ports of the fabric, and on all physical links where neighbours are discovered.
    pub(super) fn listen_for_routers(&mut self, desired: &Scene) {
        let discovers = matches!(&self.config.source, ConfigSource::Model(meant) if meant.discover.is_some());
        let ports = &desired.wiring.ports;
        let is_port = |link: &&Link| ports.contains(&link.name) || (discovers && link.is_physical());
        let ports: Vec<&Link> = self.links.iter().filter(is_port).collect();
        self.routers.heard.retain(|port, _| self.links.iter().any(|link| link.name == *port));
        self.host.listen_for_routers(&ports);
    }

    /// Makes the links complete. Returns what the daemon can do with them: without the speaker where the link to it cannot be
    /// made.
    pub(super) async fn apply_links(&mut self, desired: Scene) -> Scene {
        let is_complete = self.apply_wiring(self.links.clone(), &desired.wiring).await;
        let Some(pair) = desired.wiring.pair.as_ref().filter(|_| !is_complete) else { return desired };
        let domain = pair.domain.name().unwrap_or_default().to_owned();
        let mut desired = desired.without_speaker();
        if !self.has_vrfs {
            desired.waiting.push(Waiting::Vrf(domain));
        }
        match self.host.links().await {
            Ok(links) => drop(self.apply_wiring(links, &desired.wiring).await),
            Err(error) => self.report_failure(format!("cannot list the links: {error}")),
        }
        desired
    }

    /// Compares the wiring with what exists and applies what is missing; whether it is complete afterwards.
    async fn apply_wiring(&mut self, links: Vec<Link>, wiring: &Wiring) -> bool {
        let observed = match self.host.observe(links, wiring).await {
            Ok(observed) => observed,
            Err(error) => {
                self.report_failure(format!("cannot look at the links: {}", chain(&error)));
                return false;
            }
        };
        match steps(wiring, &observed) {
            Ok(steps) => self.apply_steps(&steps, &observed).await,
            Err(conflicts) => {
                for conflict in conflicts {
                    self.report_failure(conflict.to_string());
                }
                false
            }
        }
    }

    async fn apply_steps(&mut self, steps: &[Step], observed: &Observed) -> bool {
        self.remember_switches(steps, observed);
        for step in steps {
            log::debug(step);
        }
        match self.host.apply_steps(steps).await {
            Ok(Outcome::Done) => true,
            Ok(Outcome::NoVrf) => {
                self.has_vrfs = false;
                false
            }
            Err(error) => {
                let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                self.report_failure(format!("{}{hint}", chain(&error)));
                false
            }
        }
    }

    /// Stores the values of kernel switches before they are changed, for `down`.
    fn remember_switches(&mut self, steps: &[Step], observed: &Observed) {
        let known = self.switches_before.len();
        note(steps, observed, &mut self.switches_before);
        if self.switches_before.len() > known {
            self.state_dir.store(SWITCHES, &self.switches_before);
        }
    }

    /// Makes the daemon run the desired configuration: starts it, or changes the one that runs.
    pub(super) async fn apply_daemon(&mut self, desired: &Scene) {
        let own = own_addresses(desired);
        let applied = if self.daemon.is_started {
            self.reload_daemon(desired, own).await
        } else {
            self.start_daemon(desired, own).await
        };
        if let Err(reason) = applied {
            self.report_failure(reason);
        }
    }

    async fn start_daemon(&mut self, desired: &Scene, own: BTreeSet<IpNet>) -> Result<(), String> {
        let found = self.host.find_daemon(self.config.backend).await;
        let (installation, version) = found.map_err(|error| chain(&error))?;
        self.daemon.version = version;
        let service = self.render(desired)?;
        self.host.check_config(&installation, &service).await.map_err(|error| chain(&error))?;
        write_files(&service, &self.settings.run)?;
        let started = self.host.start_daemon(installation, &service, own).await;
        let rejection = started.map_err(|error| chain(&error))?;
        self.daemon.is_started = true;
        self.daemon.service = Some(service);
        self.daemon.record_rejection(rejection);
        let restart = desired.model.as_ref().and_then(|model| model.fabric.graceful_restart);
        self.daemon.recovery = restart.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
        Ok(())
    }

    async fn reload_daemon(&mut self, desired: &Scene, own: BTreeSet<IpNet>) -> Result<(), String> {
        let service = self.render(desired)?;
        if self.daemon.needs(&service, Instant::now()) {
            match self.host.reload_daemon(&service).await {
                Ok(()) => {
                    write_files(&service, &self.settings.run)?;
                    self.daemon.accept(service);
                }
                Err(rejection) => self.daemon.reject(service, rejection),
            }
        }
        self.host.announce(own).await.map_err(|error| chain(&error))
    }

    fn render(&self, desired: &Scene) -> Result<Service, String> {
        let list = |issues: Vec<Issue>| issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        desired.render(&self.config, self.daemon.version.as_ref()).map_err(list)
    }
}

/// The node's addresses that a daemon without links of its own has to be given.
fn own_addresses(desired: &Scene) -> BTreeSet<IpNet> {
    let announced = desired.model.iter().flat_map(|model| &model.fabric.announced);
    announced.map(|announced| announced.net).collect()
}

/// Writes the daemon's files as they run into the agent's folder, for people to read. Each is replaced in one step.
fn write_files(service: &Service, folder: &Path) -> Result<(), String> {
    for file in &service.files {
        replace(&folder.join(file.name), &file.text).map_err(|error| chain(&error))?;
    }
    Ok(())
}
