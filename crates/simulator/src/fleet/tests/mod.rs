//! Simulated clusters, let go through time by tests.

mod cluster;
mod configuration;
mod faults;
mod lifecycle;
mod real;

use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value, json};

use super::call_error::{CallError, ErrorCode};
use super::delays::Delays;
use super::fault::Fault;
use super::hardware::Hardware;
use super::kube::KubeVerb;
use super::machine::{Machine, Phase};
use super::node_config::CertificateAuthorities;
use super::rbac::Caller;
use super::services::ServiceAction;
use super::simulation::{AuthMode, Fleet};
use super::{CheckPending, HealthCheck, NodeEventKind};
use ichor_talos::api::machine::{
    ApplyConfigurationRequest, ApplyConfigurationResponse, ApplyMode, PartitionToWipe, ResetRequest, Stage,
    UpgradeRequest,
};
use ichor_talos::generate::{Contract, Endpoint, Input, control_plane, worker};
use ichor_talos::secrets::Bundle;
use ichor_values::Moment;
use ichor_values::go_yaml::emit::emit_all;
use ichor_values::{Mac, TalosVersion};

const VIP: &str = "10.0.0.10";

/// Machines, a clock and the secrets of their cluster.
struct TestCluster {
    fleet: Fleet,
    now: Duration,
    bundle: Bundle,
    talos: TalosVersion,
}

impl TestCluster {
    /// As many control planes and workers, with power.
    fn new(talos: &str, control_planes: u8, workers: u8) -> Self {
        let talos = TalosVersion::parse(talos).unwrap();
        let machine = |nth: u8| {
            let name = if nth < control_planes {
                format!("cp{}", nth + 1)
            } else {
                format!("w{}", nth - control_planes + 1)
            };
            let leased = vec![IpAddr::from([10, 0, 1, nth])];
            Machine::new(Hardware::new(&name, vec![Mac([2, 0, 0, 0, 0, nth])], leased), talos.clone())
        };
        let machines: Vec<_> = (0..control_planes + workers).map(machine).collect();
        let delays = Delays { boot: secs(10), install: secs(20), start: secs(1) };
        let mut fleet = Fleet::new(machines, delays, Moment::parse("2026-01-01T00:00:00Z").unwrap());
        for nth in 0..fleet.machines.len() {
            fleet.power_on(nth, Duration::ZERO);
        }
        let bundle = include_str!("../../../../talos/tests/data/clusters/single-v1.12/secrets.yaml");
        Self { fleet, now: Duration::ZERO, bundle: Bundle::read(bundle).unwrap(), talos }
    }

    /// A running cluster.
    fn up(control_planes: u8, workers: u8) -> Self {
        let mut trial = Self::new("v1.13.9", control_planes, workers);
        trial.pass(10);
        for nth in 0..trial.fleet.machines.len() {
            trial.apply(nth).unwrap();
        }
        trial.pass(40);
        trial.fleet.bootstrap(0, trial.now).unwrap();
        trial.pass(30);
        for nth in 0..trial.fleet.machines.len() {
            assert_eq!(trial.stage(nth), Stage::Running, "{nth} {:?}", trial.fleet.unmet(nth));
            assert!(trial.fleet.is_ready(nth), "{:?}", trial.fleet.unmet(nth));
        }
        trial
    }

    /// Lets seconds pass, and everything happen at its time.
    fn pass(&mut self, seconds: u64) {
        let until = self.now + secs(seconds);
        self.fleet.advance(self.now);
        while let Some(next) = self.fleet.next().filter(|next| *next <= until) {
            self.now = next;
            self.fleet.advance(next);
        }
        self.now = until;
    }

    fn stage(&self, nth: usize) -> Stage {
        self.fleet.machines[nth].stage()
    }

    fn documents(&self, nth: usize) -> Vec<Value> {
        let contract = Contract::for_release(&self.talos);
        let endpoint = Endpoint::parse(&format!("https://{VIP}:6443")).unwrap();
        let mut input = Input::new("sim", endpoint, contract);
        input.install_disk = Some("/dev/sda".to_owned());
        input.install_image = Some("factory.talos.dev/installer/x:v1.13.9".to_owned());
        input.kubernetes = ichor_talos::release::default_kubernetes(&self.talos);
        let is_control_plane = self.fleet.machines[nth].hardware.name.starts_with("cp");
        let make = if is_control_plane { control_plane } else { worker };
        let mut documents = make(&input, &self.bundle);
        documents.retain(|document| document["kind"] != "HostnameConfig");
        let name = &self.fleet.machines[nth].hardware.name;
        let address = format!("10.0.0.{}/24", nth + 11);
        if ichor_talos::release::at_least(&self.talos, 12) {
            documents.push(
                json!({"apiVersion": "v1alpha1", "kind": "HostnameConfig", "hostname": name, "auto": "off"}),
            );
            let addresses = json!([{"address": address}]);
            documents.push(
                json!({"apiVersion": "v1alpha1", "kind": "LinkConfig", "name": "eth0", "addresses": addresses}),
            );
            if is_control_plane {
                documents.push(
                    json!({"apiVersion": "v1alpha1", "kind": "Layer2VIPConfig", "name": VIP, "link": "eth0"}),
                );
            }
        } else {
            let mut interface = json!({"interface": "eth0", "addresses": [address]});
            if is_control_plane {
                interface["vip"] = json!({"ip": VIP});
            }
            documents[0]["machine"]["network"] = json!({"hostname": name, "interfaces": [interface]});
        }
        documents
    }

    fn apply(&mut self, nth: usize) -> Result<ApplyConfigurationResponse, CallError> {
        let documents = self.documents(nth);
        self.send(nth, &documents, ApplyMode::Auto, false)
    }

    fn send(
        &mut self,
        nth: usize,
        documents: &[Value],
        mode: ApplyMode,
        dry_run: bool,
    ) -> Result<ApplyConfigurationResponse, CallError> {
        let caller = match self.fleet.listeners(nth).talos {
            Some(AuthMode::Mutual) => Caller::Known(vec!["os:admin".to_owned()]),
            _ => Caller::Anyone,
        };
        let data = emit_all(documents).into_bytes();
        let request = ApplyConfigurationRequest { data, mode: mode as i32, dry_run };
        self.fleet.apply(nth, &caller, &request, self.now)
    }

    fn yaml(&self, nth: usize, namespace: &str, kind: &str, id: &str) -> String {
        let found = self.fleet.resource(nth, namespace, kind, id);
        found.unwrap_or_else(|| panic!("no {kind} {id}")).spec.unwrap().yaml_spec
    }

    fn unmet(&self, nth: usize) -> Vec<String> {
        self.fleet.unmet(nth).into_iter().map(|unmet| unmet.name).collect()
    }

    fn health(&self) -> Option<(&'static str, CheckPending)> {
        let nodes = self.fleet.health_nodes(0, &[], &[]);
        let mut checks = HealthCheck::ALL.into_iter();
        checks.find_map(|check| Some((check.name, check.run(&self.fleet, &nodes).err()?)))
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}
