//! Simulated clusters, let go through time by tests.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value, json};

use super::delays::Delays;
use super::fault::Fault;
use super::fleet::{Fleet, Lock};
use super::hardware::Hardware;
use super::intent::Authorities;
use super::kube::Verb;
use super::machine::{Machine, Phase};
use super::refusal::{Code, Refusal};
use super::rights::Caller;
use super::services::Handling;
use super::{Check, Waits};
use crate::cluster::value::{Mac, TalosVersion};
use crate::moment::Moment;
use crate::talos::api::machine::{
    ApplyConfigurationRequest, ApplyConfigurationResponse, ApplyMode, PartitionToWipe, ResetRequest, Stage,
    UpgradeRequest,
};
use crate::talos::emit::emit_all;
use crate::talos::generate::{Contract, Endpoint, Input, control_plane, worker};
use crate::talos::secrets::Bundle;

const VIP: &str = "10.0.0.10";

/// Machines, a clock and the secrets of their cluster.
struct Trial {
    fleet: Fleet,
    now: Duration,
    bundle: Bundle,
    talos: TalosVersion,
}

impl Trial {
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
        let bundle = include_str!("../../../tests/talos/clusters/single-v1.12/secrets.yaml");
        Self { fleet, now: Duration::ZERO, bundle: Bundle::read(bundle).unwrap(), talos }
    }

    /// One that runs.
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
        let contract = Contract::of(&self.talos);
        let endpoint = Endpoint::parse(&format!("https://{VIP}:6443")).unwrap();
        let mut input = Input::new("sim", endpoint, contract);
        input.install_disk = Some("/dev/sda".to_owned());
        input.install_image = Some("factory.talos.dev/installer/x:v1.13.9".to_owned());
        input.kubernetes = crate::talos::release::default_kubernetes(&self.talos);
        let is_control_plane = self.fleet.machines[nth].hardware.name.starts_with("cp");
        let make = if is_control_plane { control_plane } else { worker };
        let mut documents = make(&input, &self.bundle);
        documents.retain(|document| document["kind"] != "HostnameConfig");
        let name = &self.fleet.machines[nth].hardware.name;
        let address = format!("10.0.0.{}/24", nth + 11);
        if crate::talos::release::at_least(&self.talos, 12) {
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

    fn apply(&mut self, nth: usize) -> Result<ApplyConfigurationResponse, Refusal> {
        let documents = self.documents(nth);
        self.send(nth, &documents, ApplyMode::Auto, false)
    }

    fn send(
        &mut self,
        nth: usize,
        documents: &[Value],
        mode: ApplyMode,
        dry_run: bool,
    ) -> Result<ApplyConfigurationResponse, Refusal> {
        let caller = match self.fleet.doors(nth).talos {
            Some(Lock::Mutual) => Caller::Known(vec!["os:admin".to_owned()]),
            _ => Caller::Anyone,
        };
        let data = emit_all(documents).into_bytes();
        let request = ApplyConfigurationRequest { data, mode: mode as i32, dry_run, try_mode_timeout: None };
        self.fleet.apply(nth, &caller, &request, self.now)
    }

    fn yaml(&self, nth: usize, namespace: &str, kind: &str, id: &str) -> String {
        let found = self.fleet.resource(nth, namespace, kind, id);
        found.unwrap_or_else(|| panic!("no {kind} {id}")).spec.unwrap().yaml_spec
    }

    fn unmet(&self, nth: usize) -> Vec<String> {
        self.fleet.unmet(nth).into_iter().map(|unmet| unmet.name).collect()
    }

    fn health(&self) -> Option<(&'static str, Waits)> {
        let nodes = self.fleet.health_nodes(0, &[], &[]);
        let mut checks = Check::ALL.into_iter();
        checks.find_map(|check| Some((check.name, check.look(&self.fleet, &nodes).err()?)))
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_machine_with_power_boots_into_maintenance_on_its_leased_address() {
    let mut trial = Trial::new("v1.13.9", 1, 0);

    trial.pass(9);
    assert_eq!(trial.fleet.doors(0).talos, None);
    trial.pass(1);

    let doors = trial.fleet.doors(0);
    assert_eq!((doors.talos, doors.addresses), (Some(Lock::Maintenance), vec![ip("10.0.1.0")]));
    assert_eq!(trial.stage(0), Stage::Maintenance);
    assert!(
        trial
            .yaml(0, "runtime", "MachineStatuses.runtime.talos.dev", "machine")
            .starts_with("stage: maintenance\n")
    );
}

#[test]
fn a_configuration_leads_to_an_installation_a_reboot_and_the_address_it_names() {
    let mut trial = Trial::new("v1.13.9", 1, 0);
    trial.pass(10);

    let answer = trial.apply(0).unwrap();
    let second = trial.apply(0).unwrap_err();
    trial.pass(1);
    let installing = (trial.stage(0), trial.fleet.doors(0).talos);
    trial.pass(20);
    let dark = (trial.fleet.machines[0].phase, trial.fleet.doors(0).talos);
    trial.pass(10);

    assert_eq!(answer.messages[0].mode_details, "Applied configuration without a reboot");
    assert_eq!(
        second,
        Refusal::new(Code::FailedPrecondition, "another apply configuration is already in progress")
    );
    assert_eq!((installing, dark), ((Stage::Installing, None), (Phase::Dark, None)));
    let doors = trial.fleet.doors(0);
    assert_eq!((doors.talos, doors.addresses), (Some(Lock::Mutual), vec![ip("10.0.0.11")]));
    assert_eq!(trial.stage(0), Stage::Booting);
    assert!(trial.unmet(0).contains(&"services".to_owned()));
    assert!(
        trial.yaml(0, "network", "HostnameStatuses.net.talos.dev", "hostname").contains("hostname: cp1\n")
    );
}

#[test]
fn a_machine_whose_disk_is_an_image_takes_its_configuration_up_at_once() {
    let mut trial = Trial::new("v1.13.9", 1, 0);
    let hardware = Hardware { image: true, ..trial.fleet.machines[0].hardware.clone() };
    trial.fleet.machines[0] = Machine::new(hardware, trial.talos.clone());
    trial.fleet.power_on(0, trial.now);
    trial.pass(10);

    trial.apply(0).unwrap();
    trial.pass(1);

    assert_eq!((trial.stage(0), trial.fleet.doors(0).talos), (Stage::Booting, Some(Lock::Mutual)));
}

#[test]
fn every_release_reads_its_own_configurations() {
    for talos in ["v1.11.2", "v1.12.4", "v1.13.9", "v1.14.0-rc.1"] {
        let mut trial = Trial::new(talos, 1, 1);
        trial.pass(10);

        for nth in 0..2 {
            trial.apply(nth).unwrap_or_else(|refusal| panic!("{talos}: {refusal}"));
        }
        trial.pass(40);
        trial.fleet.bootstrap(0, trial.now).unwrap();
        trial.pass(10);

        let intent = trial.fleet.machines[0].intent.clone().unwrap();
        assert_eq!((intent.hostname.as_deref(), intent.vip), (Some("cp1"), Some(ip(VIP))), "{talos}");
        assert_eq!(
            (intent.cluster.as_str(), intent.endpoint.as_str()),
            ("sim", "https://10.0.0.10:6443"),
            "{talos}"
        );
        assert_eq!([trial.stage(0), trial.stage(1)], [Stage::Running; 2], "{talos}");
        assert!(trial.fleet.is_ready(1), "{talos} {:?}", trial.fleet.unmet(1));
    }
}

#[test]
fn what_talos_refuses_is_refused_and_changes_nothing() {
    let mut trial = Trial::new("v1.13.9", 1, 0);
    trial.pass(10);
    let mut documents = trial.documents(0);
    documents[0]["machine"]["install"].as_object_mut().unwrap().remove("disk");
    let mut unknown = trial.documents(0);
    unknown[0]["machine"]["nonsense"] = json!(1);

    let refused = trial.send(0, &documents, ApplyMode::Auto, false).unwrap_err();
    let unread = trial.send(0, &unknown, ApplyMode::Auto, false).unwrap_err();
    trial.pass(60);

    assert_eq!(refused.code, Code::InvalidArgument);
    assert!(refused.message.starts_with("1 error occurred:\n\t* "), "{refused}");
    assert_eq!(unread.code, Code::InvalidArgument);
    assert_eq!(trial.stage(0), Stage::Maintenance);
}

#[test]
fn a_dry_run_changes_nothing() {
    let mut trial = Trial::new("v1.13.9", 1, 0);
    trial.pass(10);
    let documents = trial.documents(0);

    let answer = trial.send(0, &documents, ApplyMode::Auto, true).unwrap();
    trial.pass(60);

    assert!(answer.messages[0].mode_details.starts_with("Dry run summary:\n"));
    assert_eq!(trial.stage(0), Stage::Maintenance);
}

#[test]
fn old_releases_take_fewer_ways_of_applying_in_maintenance_and_new_ones_no_reboot_later() {
    let mut old = Trial::new("v1.12.4", 1, 0);
    old.pass(10);
    let documents = old.documents(0);
    let mut new = Trial::new("v1.14.0-rc.1", 1, 0);
    new.pass(10);
    new.apply(0).unwrap();
    new.pass(60);
    let running = new.documents(0);

    let refused = old.send(0, &documents, ApplyMode::NoReboot, false).unwrap_err();
    let reboot = new.send(0, &running, ApplyMode::Reboot, false).unwrap_err();

    let message = "apply configuration --mode='no-reboot' is not supported in maintenance mode";
    assert_eq!(refused, Refusal::new(Code::Unimplemented, message));
    assert_eq!(reboot.code, Code::Unimplemented);
    assert_eq!(old.send(0, &documents, ApplyMode::Auto, false).unwrap().messages[0].mode_details, "");
}

#[test]
fn a_worker_answers_only_when_a_control_plane_can_sign_for_it() {
    let mut trial = Trial::new("v1.13.9", 1, 1);
    trial.pass(10);

    trial.apply(1).unwrap();
    trial.pass(60);
    assert_eq!(trial.fleet.doors(1).talos, None);
    trial.apply(0).unwrap();
    trial.pass(60);

    assert_eq!(trial.fleet.doors(1).talos, Some(Lock::Mutual));
    assert_eq!(trial.stage(1), Stage::Booting);
}

#[test]
fn bootstrap_waits_for_services_is_for_control_planes_and_happens_once() {
    let mut trial = Trial::new("v1.13.9", 1, 1);
    trial.pass(10);
    for nth in 0..2 {
        trial.apply(nth).unwrap();
    }
    while trial.fleet.machines[0].phase != Phase::Up {
        trial.pass(1);
    }
    let refused = |trial: &mut Trial, nth| trial.fleet.bootstrap(nth, trial.now).unwrap_err();

    assert_eq!(
        refused(&mut trial, 0),
        Refusal::new(Code::FailedPrecondition, "bootstrap is not available yet")
    );
    trial.pass(3);
    let worker = "bootstrap is only available on control plane nodes";
    assert_eq!(refused(&mut trial, 1), Refusal::new(Code::Unimplemented, worker));
    trial.fleet.bootstrap(0, trial.now).unwrap();
    let again = Refusal::new(Code::AlreadyExists, "etcd data directory is not empty");
    assert_eq!(refused(&mut trial, 0), again);
    trial.pass(10);
    assert_eq!(refused(&mut trial, 0), again);
    assert_eq!(trial.fleet.bootstraps(), 1);
}

#[test]
fn after_bootstrap_the_others_join_one_after_the_other_and_the_cluster_is_healthy() {
    let mut trial = Trial::new("v1.13.9", 3, 2);
    trial.pass(10);
    for nth in 0..5 {
        trial.apply(nth).unwrap();
    }
    trial.pass(40);
    assert_eq!(trial.health().unwrap().0, "etcd to be healthy");
    trial.fleet.bootstrap(0, trial.now).unwrap();

    let mut most_learners = 0;
    while trial.health().is_some() {
        trial.pass(1);
        let etcd = trial.fleet.cluster_etcd(0).unwrap();
        most_learners = most_learners.max(etcd.members.iter().filter(|member| member.learner).count());
    }

    assert_eq!(most_learners, 1);
    let members = trial.fleet.etcd_members(1).unwrap().messages.remove(0).members;
    let names: Vec<_> = members.iter().map(|member| member.hostname.as_str()).collect();
    assert_eq!(names, ["cp1", "cp2", "cp3"]);
    assert_eq!(members[1].peer_urls, ["https://10.0.0.12:2380"]);
    for nth in 0..5 {
        assert!(trial.fleet.is_ready(nth));
    }
    let status = trial.fleet.etcd_status(2).unwrap().messages.remove(0).member_status.unwrap();
    assert_eq!(status.leader, members[0].id);
    let worker = trial.fleet.etcd_members(3).unwrap_err();
    assert_eq!(worker.message, "member list is only available on control plane nodes");
}

#[test]
fn a_second_bootstrap_on_another_machine_makes_a_second_etcd_which_health_checks_see() {
    let mut trial = Trial::new("v1.13.9", 2, 0);
    trial.pass(10);
    for nth in 0..2 {
        trial.apply(nth).unwrap();
    }
    trial.pass(40);

    trial.fleet.bootstrap(0, trial.now).unwrap();
    trial.fleet.bootstrap(1, trial.now).unwrap();
    trial.pass(30);

    assert_eq!(trial.fleet.bootstraps(), 2);
    assert_eq!(trial.health().unwrap().0, "etcd members to be consistent across nodes");
}

#[test]
fn one_control_plane_holds_the_address_and_another_takes_it_over() {
    let mut trial = Trial::up(3, 0);
    let holder = |trial: &Trial| {
        (0..3).filter(|nth| trial.fleet.doors(*nth).addresses.contains(&ip(VIP))).collect::<Vec<_>>()
    };
    assert_eq!(holder(&trial), [0]);

    trial.fleet.power_off(0);
    trial.pass(1);

    assert_eq!(holder(&trial), [1]);
    assert!(trial.fleet.certified(1).contains(&ip(VIP)));
    assert!(trial.fleet.has_quorum(trial.fleet.cluster_etcd(1).unwrap()));
    trial.fleet.power_off(1);
    trial.pass(1);
    assert_eq!(holder(&trial), Vec::<usize>::new());
    assert_eq!(
        trial.fleet.etcd_members(2).unwrap_err(),
        Refusal::new(Code::Unavailable, "etcdserver: no leader")
    );
    for nth in 0..2 {
        trial.fleet.power_on(nth, trial.now);
    }
    trial.pass(30);
    assert_eq!((trial.health(), holder(&trial).len()), (None, 1));
}

#[test]
fn a_reboot_closes_the_port_and_comes_back_as_it_was() {
    let mut trial = Trial::up(1, 1);
    let boots = trial.fleet.machines[1].boots;

    let answer = trial.fleet.reboot(1, trial.now).unwrap();
    let ending = trial.stage(1);
    trial.pass(5);
    let dark = trial.fleet.doors(1).talos;
    trial.pass(20);

    assert!(!answer.messages[0].actor_id.is_empty());
    assert_eq!((ending, dark), (Stage::Rebooting, None));
    assert_eq!((trial.stage(1), trial.fleet.machines[1].boots), (Stage::Running, boots + 1));
    assert_eq!(trial.health(), None);
}

#[test]
fn a_shutdown_ends_without_power_and_power_brings_it_back() {
    let mut trial = Trial::up(1, 1);

    trial.fleet.shutdown(1, trial.now).unwrap();
    assert_eq!(trial.stage(1), Stage::ShuttingDown);
    trial.pass(60);
    assert_eq!(trial.fleet.machines[1].phase, Phase::Off);
    trial.fleet.power_on(1, trial.now);
    trial.pass(20);

    assert_eq!(trial.stage(1), Stage::Running);
}

#[test]
fn a_graceful_reset_leaves_etcd_and_wipes_the_disk_but_kubernetes_keeps_the_node() {
    let mut trial = Trial::up(3, 0);
    let request = ResetRequest { graceful: true, reboot: true, ..ResetRequest::default() };

    trial.fleet.reset(2, &request, trial.now).unwrap();
    assert_eq!(trial.stage(2), Stage::Resetting);
    trial.pass(20);

    assert_eq!(trial.stage(2), Stage::Maintenance);
    assert_eq!(trial.fleet.etcd_members(0).unwrap().messages[0].members.len(), 2);
    let node = trial.fleet.kubernetes(0, &Verb::Get, "/api/v1/nodes/cp3");
    assert_eq!(node.json.pointer("/status/conditions/0/status"), Some(&json!("False")));
    assert_eq!(trial.fleet.kubernetes(0, &Verb::Delete, "/api/v1/nodes/cp3").code, 200);
    assert_eq!(trial.fleet.kubernetes(0, &Verb::Get, "/api/v1/nodes/cp3").code, 404);
    trial.apply(2).unwrap();
    trial.pass(60);
    assert_eq!(trial.health(), None);
}

#[test]
fn a_reset_of_partitions_keeps_talos_and_one_without_a_reboot_ends_without_power() {
    let mut trial = Trial::up(1, 1);
    let state = PartitionToWipe { label: "STATE".to_owned(), wipe: true };
    let request = ResetRequest { system_partitions_to_wipe: vec![state], ..ResetRequest::default() };

    trial.fleet.reset(1, &request, trial.now).unwrap();
    trial.pass(20);

    assert_eq!(trial.fleet.machines[1].phase, Phase::Off);
    assert!(trial.fleet.machines[1].disk.as_ref().is_some_and(|disk| disk.intent.is_none()));
}

#[test]
fn an_upgrade_boots_the_release_of_the_image() {
    let mut trial = Trial::up(1, 1);
    let image = |tag: &str| format!("factory.talos.dev/installer/x:{tag}");
    let request = UpgradeRequest { image: image("v1.13.10"), ..UpgradeRequest::default() };

    trial.fleet.upgrade(1, &request, trial.now).unwrap();
    assert_eq!(trial.stage(1), Stage::Upgrading);
    trial.pass(60);
    let legacy = trial.fleet.version(1).messages.remove(0).version.unwrap().tag;
    let absent = trial.fleet.install_upgrade(1, &image("v1.13.11")).unwrap_err();
    trial.fleet.pull(1, &image("v1.13.11")).unwrap();
    trial.fleet.install_upgrade(1, &image("v1.13.11")).unwrap();
    let before = trial.fleet.version(1).messages.remove(0).version.unwrap().tag;
    trial.fleet.reboot(1, trial.now).unwrap();
    trial.pass(60);

    assert_eq!((legacy.as_str(), absent.code), ("v1.13.10", Code::NotFound));
    let after = trial.fleet.version(1).messages.remove(0).version.unwrap().tag;
    assert_eq!((before.as_str(), after.as_str()), ("v1.13.10", "v1.13.11"));
    let nonsense = UpgradeRequest { image: "nonsense".to_owned(), ..UpgradeRequest::default() };
    assert_eq!(trial.fleet.upgrade(1, &nonsense, trial.now).unwrap_err().code, Code::InvalidArgument);
}

#[test]
fn members_leave_are_removed_and_give_up_the_lead() {
    let mut trial = Trial::up(3, 0);
    let ids: Vec<_> =
        trial.fleet.etcd_members(0).unwrap().messages[0].members.iter().map(|it| it.id).collect();

    assert_eq!(trial.fleet.etcd_forfeit(1), Ok(String::new()));
    assert_eq!(trial.fleet.etcd_forfeit(0), Ok(format!("{:016x}", ids[1])));
    trial.fleet.etcd_leave(2).unwrap();
    trial.pass(5);
    assert_eq!(trial.fleet.etcd_remove(0, ids[2]).unwrap_err().code, Code::NotFound);
    trial.fleet.etcd_remove(0, ids[1]).unwrap();
    trial.pass(5);

    assert_eq!(trial.fleet.etcd_members(0).unwrap().messages[0].members.len(), 1);
    assert!(trial.fleet.etcd_alarms(0).unwrap().messages[0].member_alarms.is_empty());
    assert_eq!(trial.fleet.etcd_status(1).unwrap_err().code, Code::Unavailable);
}

#[test]
fn kubernetes_lists_nodes_and_lets_them_be_cordoned() {
    let mut trial = Trial::up(1, 1);

    let list = trial.fleet.kubernetes(0, &Verb::Get, "/api/v1/nodes?limit=500");
    let cordon = Verb::Patch(json!({"spec": {"unschedulable": true}}));
    let patched = trial.fleet.kubernetes(0, &cordon, "/api/v1/nodes/w1");

    assert_eq!(list.json["items"].as_array().unwrap().len(), 2);
    assert_eq!(list.json.pointer("/items/1/status/addresses/0/address"), Some(&json!("10.0.0.12")));
    assert_eq!(patched.json.pointer("/spec/unschedulable"), Some(&json!(true)));
    assert_eq!(trial.health().unwrap().0, "all k8s nodes to report schedulable");
    assert_eq!(trial.fleet.kubernetes(0, &Verb::Get, "/readyz").text, Some("ok"));
    assert_eq!(trial.fleet.kubernetes(0, &Verb::Get, "/version").json["gitVersion"], "v1.36.3");
    assert_eq!(trial.fleet.kubernetes(0, &Verb::Get, "/api/v1/secrets").code, 404);
}

#[test]
fn a_node_that_runs_takes_a_new_configuration_without_a_reboot_and_another_role_with_one() {
    let mut trial = Trial::up(1, 2);
    let same = trial.documents(1);
    let mut other = trial.documents(0);
    other.retain(|document| document["kind"] != "Layer2VIPConfig");

    let kept = trial.send(1, &same, ApplyMode::Auto, false).unwrap();
    let changed = trial.send(2, &other, ApplyMode::Auto, false).unwrap();
    let late = trial.send(2, &other, ApplyMode::Auto, false).unwrap_err();

    assert_eq!(kept.messages[0].mode, ApplyMode::NoReboot as i32);
    assert_eq!(changed.messages[0].mode, ApplyMode::Reboot as i32);
    assert_eq!((trial.stage(1), trial.stage(2)), (Stage::Running, Stage::Rebooting));
    assert!(late.message.starts_with("configuration was already applied and node is rebooting"), "{late}");
    let text = trial.yaml(1, "config", "MachineConfigs.config.talos.dev", "v1alpha1");
    assert!(text.contains("version: v1alpha1"), "{text}");
}

#[test]
fn services_of_extensions_can_be_handled_and_those_of_talos_cannot() {
    let mut trial = Trial::up(1, 1);
    let mut documents = trial.documents(1);
    documents.push(json!({"apiVersion": "v1alpha1", "kind": "ExtensionServiceConfig", "name": "frr", "environment": ["A=b"]}));
    trial.send(1, &documents, ApplyMode::Auto, false).unwrap();

    trial.fleet.handle_service(1, "ext-frr", Handling::Stop).unwrap();
    let stopped = trial.unmet(1);
    trial.fleet.handle_service(1, "ext-frr", Handling::Start).unwrap();

    assert_eq!(stopped, ["services"]);
    assert!(trial.fleet.is_ready(1));
    assert!(trial.fleet.handle_service(1, "apid", Handling::Stop).is_err());
    assert!(trial.fleet.handle_service(1, "nothing", Handling::Start).is_err());
    assert!(trial.fleet.logs(1, "ext-frr").is_ok() && trial.fleet.logs(1, "nothing").is_err());
}

#[test]
fn keys_of_meta_are_kept_on_disk() {
    let mut trial = Trial::up(1, 0);

    trial.fleet.meta_write(0, 10, b"x".to_vec()).unwrap();
    assert_eq!(trial.yaml(0, "runtime", "MetaKeys.runtime.talos.dev", "0x0a"), "value: x\n");
    trial.fleet.meta_delete(0, 10).unwrap();

    assert_eq!(trial.fleet.meta_delete(0, 10).unwrap_err().message, "meta key not found");
    assert_eq!(trial.fleet.meta_write(0, 256, Vec::new()).unwrap_err().message, "key must be a uint8");
}

#[test]
fn slow_is_told_to_whoever_answers_and_streams_are_cut_as_often_as_was_said() {
    let mut trial = Trial::up(1, 0);

    trial.fleet.spoil(0, Fault::Slow(secs(3)), None, trial.now);
    trial.fleet.spoil(0, Fault::ResetMidStream(1), None, trial.now);

    let faults = &mut trial.fleet.machines[0].faults;
    assert_eq!((faults.slow(), faults.cut(), faults.cut()), (Some(secs(3)), true, false));
    assert!(trial.fleet.heal(0, Some("slow"), trial.now));
    assert_eq!(trial.fleet.machines[0].faults.slow(), None);
}

#[test]
fn a_late_reboot_takes_longer_and_the_first_boot_does_not() {
    let mut trial = Trial::new("v1.13.9", 1, 0);
    trial.fleet.spoil(0, Fault::LateReboot(secs(100)), None, trial.now);

    trial.pass(10);
    assert_eq!(trial.stage(0), Stage::Maintenance);
    trial.apply(0).unwrap();
    trial.pass(100);
    assert_eq!(trial.fleet.machines[0].phase, Phase::Dark);
    trial.pass(40);

    assert_eq!(trial.stage(0), Stage::Booting);
}

#[test]
fn configurations_are_refused_for_as_long_as_the_fault_is_there() {
    let mut trial = Trial::new("v1.13.9", 1, 0);
    trial.pass(10);
    trial.fleet.spoil(0, Fault::RefuseConfig("no".to_owned()), None, trial.now);

    let refused = trial.apply(0).unwrap_err();
    trial.fleet.heal(0, None, trial.now);

    assert_eq!(refused, Refusal::new(Code::InvalidArgument, "no"));
    assert!(trial.apply(0).is_ok());
}

#[test]
fn a_lost_quorum_takes_the_api_and_its_address_and_comes_back_when_healed() {
    let mut trial = Trial::up(3, 1);

    trial.fleet.spoil(1, Fault::LoseQuorum, None, trial.now);
    trial.pass(1);

    assert_eq!(
        trial.health().unwrap(),
        ("etcd to be healthy", Waits::For("etcdserver: no leader".to_owned()))
    );
    assert!(!trial.fleet.doors(0).kubernetes && !trial.fleet.doors(0).addresses.contains(&ip(VIP)));
    let status = trial.fleet.etcd_status(0).unwrap().messages.remove(0).member_status.unwrap();
    assert_eq!((status.leader, status.errors.len()), (0, 1));
    assert_eq!(trial.stage(0), Stage::Running);
    trial.fleet.heal(1, None, trial.now);
    trial.pass(10);
    assert_eq!(trial.health(), None);
}

#[test]
fn another_identity_shows_in_links_and_firmware_and_goes_with_the_fault() {
    let mut trial = Trial::new("v1.13.9", 1, 0);
    trial.pass(10);
    let seen = |trial: &Trial| {
        let link = trial.yaml(0, "network", "LinkStatuses.net.talos.dev", "eth0");
        let firmware =
            trial.yaml(0, "hardware", "SystemInformations.hardware.talos.dev", "systeminformation");
        (link, firmware)
    };
    let before = seen(&trial);

    trial.fleet.spoil(0, Fault::OtherIdentity, None, trial.now);
    let spoilt = seen(&trial);
    trial.fleet.spoil(0, Fault::OtherIdentity, None, trial.now);
    trial.fleet.heal(0, None, trial.now);

    assert!(before.0 != spoilt.0 && before.1 != spoilt.1);
    assert_eq!(seen(&trial), before);
}

#[test]
fn a_machine_of_another_cluster_has_its_own_authority_and_is_no_member_of_ours() {
    let mut trial = Trial::new("v1.13.9", 2, 0);
    let strangers = Authorities { os: trial.bundle.etcd.clone(), k8s: trial.bundle.aggregator.clone() };
    trial.fleet.spoil(1, Fault::OtherCa, Some(strangers.clone()), trial.now);
    trial.pass(10);
    trial.apply(0).unwrap();
    trial.pass(40);
    trial.fleet.bootstrap(0, trial.now).unwrap();
    trial.pass(30);

    assert_eq!(trial.fleet.doors(1).talos, Some(Lock::Mutual));
    assert_eq!(trial.fleet.signer(1).unwrap().os, strangers.os);
    assert_eq!(trial.fleet.etcd_members(0).unwrap().messages[0].members.len(), 1);
    trial.fleet.heal(1, None, trial.now);
    trial.pass(10);
    assert_eq!(trial.fleet.doors(1).talos, Some(Lock::Maintenance));
}

#[test]
fn a_clock_out_of_sync_keeps_from_bootstrap_and_from_being_ready() {
    let mut trial = Trial::new("v1.13.9", 1, 0);
    trial.fleet.spoil(0, Fault::ClockSkew(Duration::ZERO), None, trial.now);
    trial.pass(10);
    trial.apply(0).unwrap();
    trial.pass(40);

    let refused = trial.fleet.bootstrap(0, trial.now).unwrap_err();
    assert!(trial.unmet(0).contains(&"time".to_owned()));
    trial.fleet.heal(0, None, trial.now);

    assert_eq!(refused, Refusal::new(Code::FailedPrecondition, "time is not in sync yet"));
    assert!(trial.fleet.bootstrap(0, trial.now).is_ok());
}

#[test]
fn what_happens_is_told_as_events_with_whose_doing_it_was() {
    let mut trial = Trial::up(1, 0);
    let from = trial.fleet.machines[0].next_event();

    let actor = trial.fleet.reboot(0, trial.now).unwrap().messages.remove(0).actor_id;
    trial.pass(40);

    let events: Vec<_> = trial.fleet.machines[0].events(from).collect();
    assert_eq!(events[0].what, super::What::Sequence("reboot", true));
    assert_eq!(events[0].actor, actor);
    assert_eq!(events[1].what, super::What::Stage(Stage::Rebooting, true));
    assert!(events.iter().any(|event| event.what == super::What::Stage(Stage::Running, true)));
    assert!(trial.fleet.dmesg(0).iter().any(|line| line.ends_with("[talos] boot sequence: done")));
}
