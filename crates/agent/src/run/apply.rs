//! Applying the desired state: links first, then the daemon's configuration.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use ichor_bgp::agent::Link;
use ichor_bgp::agent::config::ConfigSource;
use ichor_bgp::agent::desired_state::{Conditions, DesiredState, Prerequisite};
use ichor_bgp::agent::health_gate::GateState;
use ichor_bgp::agent::wiring::{KernelState, Step, Wiring, record_sysctls, steps};
use ichor_bgp::render::Service;
use ichor_values::Issue;
use ipnet::IpNet;
use tokio::time::Instant;

use super::agent::Agent;
use super::chain;
use super::host::Host;
use super::state_dir::SYSCTLS;
use crate::daemon::{DaemonError, replace};
use crate::kernel::ApplyOutcome;
use crate::log;
use ichor_system::file::ReplaceError;

/// Why the daemon does not run the desired configuration.
#[derive(Debug, thiserror::Error)]
enum ApplyDaemonError {
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    #[error("{}", list(.0))]
    Render(Vec<Issue>),
    #[error(transparent)]
    Write(#[from] ReplaceError),
}

fn list(issues: &[Issue]) -> String {
    let each: Vec<_> = issues.iter().map(ToString::to_string).collect();
    each.join("; ")
}

impl<H: Host> Agent<H> {
    /// The desired state under present conditions; none while several ports have the same MAC address.
    pub(super) fn desired_state(&mut self) -> Option<DesiredState> {
        let advertised: BTreeSet<String> = self.routers.advertisements.keys().cloned().collect();
        let now = Conditions {
            links: &self.links,
            advertised: &advertised,
            vrf: self.has_vrfs,
            healthy: self.config.health.is_none() || self.reporting.anycast.borrow().gate == GateState::Open,
            leaving: self.leaving.borrow().is_some(),
        };
        match DesiredState::new(&self.config, now) {
            Ok(desired) => Some(desired.with_routers(&self.routers.known.routers)),
            Err(ambiguous) => {
                for error in ambiguous {
                    self.report_failure(error.to_string());
                }
                None
            }
        }
    }

    /// Listens for routers on the fabric ports, and on all physical links if neighbours are discovered.
    pub(super) fn listen_for_routers(&mut self, desired: &DesiredState) {
        let discovers = matches!(&self.config.source, ConfigSource::Model(bgp) if bgp.discover.is_some());
        let ports = &desired.wiring.ports;
        let is_port = |link: &&Link| ports.contains(&link.name) || (discovers && link.is_physical());
        let ports: Vec<&Link> = self.links.iter().filter(is_port).collect();
        self.routers.advertisements.retain(|port, _| self.links.iter().any(|link| link.name == *port));
        self.host.listen_for_routers(&ports);
    }

    /// Sets up the links. Returns the desired state of the daemon: without the load balancer if its veth pair cannot be
    /// created.
    pub(super) async fn apply_links(&mut self, desired: DesiredState) -> DesiredState {
        let is_complete = self.apply_wiring(self.links.clone(), &desired.wiring).await;
        let Some(pair) = desired.wiring.pair.as_ref().filter(|_| !is_complete) else { return desired };
        let domain = pair.domain.name().unwrap_or_default().to_owned();
        let mut desired = desired.without_load_balancer();
        if !self.has_vrfs {
            desired.waiting.push(Prerequisite::Vrf(domain));
        }
        match self.host.links().await {
            Ok(links) => drop(self.apply_wiring(links, &desired.wiring).await),
            Err(error) => self.report_failure(format!("cannot list links: {error}")),
        }
        desired
    }

    /// Compares the wiring with the existing links and applies the missing steps; returns whether it is complete.
    async fn apply_wiring(&mut self, links: Vec<Link>, wiring: &Wiring) -> bool {
        let observed = match self.host.observe(links, wiring).await {
            Ok(observed) => observed,
            Err(error) => {
                self.report_failure(format!("cannot read the state of the links: {}", chain(&error)));
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

    async fn apply_steps(&mut self, steps: &[Step], observed: &KernelState) -> bool {
        self.store_sysctls(steps, observed);
        for step in steps {
            log::debug(step);
        }
        match self.host.apply_steps(steps).await {
            Ok(ApplyOutcome::Done) => true,
            Ok(ApplyOutcome::NoVrf) => {
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

    /// Stores the values of sysctls before they are changed, for `down`.
    fn store_sysctls(&mut self, steps: &[Step], observed: &KernelState) {
        let known = self.sysctls_before.len();
        record_sysctls(steps, observed, &mut self.sysctls_before);
        if self.sysctls_before.len() > known {
            self.state_dir.store(SYSCTLS, &self.sysctls_before);
        }
    }

    /// Makes the daemon run the desired configuration: starts or reloads it.
    pub(super) async fn apply_daemon(&mut self, desired: &DesiredState) {
        let own = own_addresses(desired);
        let applied = if self.daemon.is_started {
            self.reload_daemon(desired, own).await
        } else {
            self.start_daemon(desired, own).await
        };
        if let Err(error) = applied {
            self.report_failure(chain(&error));
        }
    }

    async fn start_daemon(
        &mut self,
        desired: &DesiredState,
        own: BTreeSet<IpNet>,
    ) -> Result<(), ApplyDaemonError> {
        let found = self.host.find_daemon(self.config.backend).await;
        let (installation, version) = found?;
        self.daemon.version = version;
        let service = self.render(desired)?;
        self.host.check_config(&installation, &service).await?;
        write_files(&service, &self.settings.run)?;
        let rejection = self.host.start_daemon(installation, &service, own).await?;
        self.daemon.is_started = true;
        self.daemon.service = Some(service);
        self.daemon.record_rejection(rejection);
        let restart = desired.model.as_ref().and_then(|model| model.fabric.graceful_restart);
        self.daemon.recovery = restart.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
        Ok(())
    }

    async fn reload_daemon(
        &mut self,
        desired: &DesiredState,
        own: BTreeSet<IpNet>,
    ) -> Result<(), ApplyDaemonError> {
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
        Ok(self.host.announce(own).await?)
    }

    fn render(&self, desired: &DesiredState) -> Result<Service, ApplyDaemonError> {
        desired.render(&self.config, self.daemon.version.as_ref()).map_err(ApplyDaemonError::Render)
    }
}

/// The node's announced addresses, for a daemon that does not read them from links.
fn own_addresses(desired: &DesiredState) -> BTreeSet<IpNet> {
    let announced = desired.model.iter().flat_map(|model| &model.fabric.announced);
    announced.map(|announced| announced.net).collect()
}

/// Writes the running configuration files into the run directory, for operators to read. Each is replaced atomically.
fn write_files(service: &Service, folder: &Path) -> Result<(), ReplaceError> {
    for file in &service.files {
        replace(&folder.join(file.name), &file.text)?;
    }
    Ok(())
}
