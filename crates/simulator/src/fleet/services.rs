//! The services of a simulated node, and whether it is ready.

use super::call_error::{CallError, ErrorCode};
use super::machine::{Machine, Phase, ServiceState};
use super::simulation::Fleet;
use ichor_talos::api::machine::{
    EmptyResponse, PlainResponse, ServiceEvent, ServiceEvents, ServiceHealth, ServiceInfo, ServiceList,
    ServiceListResponse, UnmetConditionMessage,
};
use ichor_talos::release::at_least;

/// The services that a machine needs to be ready, and after three of them those of a control plane. It does not wait for others,
/// such as those of extensions.
const REQUIRED: [&str; 5] = ["apid", "machined", "kubelet", "etcd", "trustd"];

/// The state of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeService {
    pub id: String,
    pub state: &'static str,
    /// None if it has no health check.
    pub healthy: Option<bool>,
}

impl NodeService {
    fn new(id: &str, state: &'static str, healthy: Option<bool>) -> Self {
        Self { id: id.to_owned(), state, healthy }
    }

    fn from_unit(id: &str, unit: ServiceState, waiting: &'static str) -> Self {
        match unit {
            ServiceState::Up => Self::new(id, "Running", Some(true)),
            ServiceState::Starting(_) => Self::new(id, "Running", Some(false)),
            ServiceState::Down => Self::new(id, waiting, None),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state == "Running"
    }
}

/// The message of a service's last event.
pub(super) fn last_event(service: &NodeService) -> String {
    let message = match (service.state, service.healthy) {
        ("Running", Some(true)) => "Health check successful",
        ("Running", Some(false)) => "Health check failed",
        ("Running", None) => "Started task",
        ("Preparing", _) => "Running pre state",
        ("Failed", _) => "Failed to run",
        ("Finished", _) => "Service finished successfully",
        _ => "Waiting",
    };
    message.to_owned()
}

/// An action on a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceAction {
    /// Starts it.
    Start,
    /// Stops it.
    Stop,
    /// Stops and starts it.
    Restart,
}

impl Machine {
    /// Its services, by name.
    pub(super) fn services(&self) -> Vec<NodeService> {
        let running = |id| NodeService::new(id, "Running", Some(true));
        let mut services: Vec<_> = ["apid", "containerd", "machined"].map(running).into();
        let is_waiting = matches!(self.phase, Phase::Maintenance | Phase::Accepted);
        if is_waiting && at_least(&self.release, 14) {
            services.push(NodeService::new("cri", "Waiting", None));
        }
        services.push(NodeService::new("auditd", "Running", Some(true)));
        services.push(NodeService::new("syslogd", "Running", Some(true)));
        services.push(NodeService::new("udevd", "Running", Some(true)));
        if let (Phase::Up | Phase::Ending(_), Some(intent)) = (self.phase, &self.intent) {
            let kubelet = match self.units.kubelet {
                ServiceState::Down if self.units.cri == ServiceState::Up => {
                    NodeService::new("kubelet", "Preparing", None)
                }
                unit => NodeService::from_unit("kubelet", unit, "Waiting"),
            };
            services.push(NodeService::from_unit("cri", self.units.cri, "Waiting"));
            services.push(kubelet);
            if intent.has_sandbox {
                services.push(running("sandboxd"));
            }
            if intent.control_plane {
                let waiting = if self.left_etcd { "Finished" } else { "Preparing" };
                services.push(NodeService::from_unit("etcd", self.units.etcd, waiting));
                services.push(running("trustd"));
            }
            let state = |id: &String| match self.stopped.contains(id) {
                true => "Finished",
                false if self.faults.has("service-waits") => "Waiting",
                false => "Running",
            };
            services.extend(intent.extension_services.iter().map(|id| NodeService::new(id, state(id), None)));
        }
        for service in services.iter_mut().filter(|service| self.faults.fails(&service.id)) {
            (service.state, service.healthy) = ("Failed", None);
        }
        services.sort_by(|a, b| a.id.cmp(&b.id));
        services
    }
}

impl Fleet {
    /// `ServiceList`.
    pub(crate) fn service_list(&self, nth: usize) -> ServiceListResponse {
        let services = self.machines[nth].services().into_iter().map(|service| ServiceInfo {
            id: service.id.clone(),
            state: service.state.to_owned(),
            events: Some(ServiceEvents { events: vec![ServiceEvent { msg: last_event(&service) }] }),
            health: Some(ServiceHealth {
                unknown: service.healthy.is_none(),
                healthy: service.healthy.unwrap_or_default(),
                last_message: String::new(),
            }),
        });
        let list = ServiceList { metadata: None, services: services.collect() };
        ServiceListResponse { messages: vec![list] }
    }

    /// `ServiceStart`, `ServiceStop` and `ServiceRestart`.
    pub(crate) fn handle_service(
        &mut self,
        nth: usize,
        id: &str,
        handling: ServiceAction,
    ) -> Result<PlainResponse, CallError> {
        let machine = &mut self.machines[nth];
        if !machine.services().iter().any(|service| service.id == id) {
            return Err(CallError::new(ErrorCode::Unknown, format!("service \"{id}\" not defined")));
        }
        let is_restart = id == "kubelet" && handling == ServiceAction::Restart;
        let is_start = id == "kubelet" && handling == ServiceAction::Start;
        if !(id.starts_with("ext-") || is_restart || is_start) {
            let verb = match handling {
                ServiceAction::Start => "start",
                ServiceAction::Stop => "stop",
                ServiceAction::Restart => "restart",
            };
            return Err(CallError::new(
                ErrorCode::Unknown,
                format!("service \"{id}\" doesn't support {verb} operation via API"),
            ));
        }
        if handling == ServiceAction::Stop {
            machine.stopped.insert(id.to_owned());
        } else {
            machine.stopped.remove(id);
        }
        if is_restart {
            machine.units.kubelet = ServiceState::Down;
        }
        Ok(PlainResponse { messages: vec![EmptyResponse { metadata: None }] })
    }

    /// The conditions that keep a machine from being ready.
    pub fn unmet(&self, nth: usize) -> Vec<UnmetConditionMessage> {
        let machine = &self.machines[nth];
        if machine.phase != Phase::Up {
            return Vec::new();
        }
        let mut unmet = Vec::new();
        let mut add = |name: &str, reason: String| {
            unmet.push(UnmetConditionMessage { name: name.to_owned(), reason });
        };
        if machine.faults.skew().is_some() {
            add("time", "time is not synced".to_owned());
        }
        let services: Vec<_> = machine.services().into_iter().filter(NodeService::is_running).collect();
        let unhealthy = services.iter().filter(|service| service.healthy == Some(false));
        let mut problems: Vec<_> = unhealthy.map(|service| format!("{} not healthy", service.id)).collect();
        let required = if machine.is_control_plane() { &REQUIRED[..] } else { &REQUIRED[..3] };
        let missing = required.iter().filter(|id| services.iter().all(|service| service.id != **id));
        problems.extend(missing.map(|id| format!("{id} not running")));
        if !problems.is_empty() {
            add("services", problems.join(", "));
        }
        if machine.is_control_plane()
            && machine.units.etcd == ServiceState::Up
            && machine.units.api != ServiceState::Up
        {
            add("staticPods", format!("kube-system/kube-apiserver-{} not ready", machine.hostname()));
        }
        let hostname = machine.hostname();
        match self.cluster_etcd(nth).and_then(|etcd| Some((etcd, etcd.nodes.get(&hostname)?))) {
            None => add("nodeReady", format!("node \"{hostname}\" status is not available yet")),
            Some((etcd, node)) if !self.is_kube_node_ready(etcd, &hostname, node) => {
                add("nodeReady", format!("node \"{hostname}\" is not ready"));
            }
            Some(_) => {}
        }
        unmet
    }

    /// Whether nothing keeps a machine from being ready.
    pub(crate) fn is_ready(&self, nth: usize) -> bool {
        self.unmet(nth).is_empty()
    }
}
