//! Operations on running machines.

use super::*;

#[test]
fn a_reboot_closes_the_port_and_keeps_the_state() {
    let mut trial = TestCluster::up(1, 1);
    let boots = trial.fleet.machines[1].boots;

    trial.fleet.reboot(1, trial.now).unwrap();
    let ending = trial.stage(1);
    trial.pass(5);
    let dark = trial.fleet.listeners(1).talos;
    trial.pass(20);

    assert_eq!((ending, dark), (Stage::Rebooting, None));
    assert_eq!((trial.stage(1), trial.fleet.machines[1].boots), (Stage::Running, boots + 1));
    assert_eq!(trial.health(), None);
}

#[test]
fn a_shutdown_powers_off_until_the_next_power_on() {
    let mut trial = TestCluster::up(1, 1);

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
    let mut trial = TestCluster::up(3, 0);
    let request = ResetRequest { graceful: true, reboot: true, ..ResetRequest::default() };

    trial.fleet.reset(2, &request, trial.now).unwrap();
    assert_eq!(trial.stage(2), Stage::Resetting);
    trial.pass(20);

    assert_eq!(trial.stage(2), Stage::Maintenance);
    assert_eq!(trial.fleet.etcd_members(0).unwrap().messages[0].members.len(), 2);
    let node = trial.fleet.kubernetes(0, &KubeVerb::Get, "/api/v1/nodes/cp3");
    assert_eq!(node.json.pointer("/status/conditions/0/status"), Some(&json!("False")));
    assert_eq!(trial.fleet.kubernetes(0, &KubeVerb::Delete, "/api/v1/nodes/cp3").code, 200);
    assert_eq!(trial.fleet.kubernetes(0, &KubeVerb::Get, "/api/v1/nodes/cp3").code, 404);
    trial.apply(2).unwrap();
    trial.pass(60);
    assert_eq!(trial.health(), None);
}

#[test]
fn a_partition_reset_keeps_talos_and_without_a_reboot_powers_off() {
    let mut trial = TestCluster::up(1, 1);
    let state = PartitionToWipe { label: "STATE".to_owned(), wipe: true };
    let request = ResetRequest { system_partitions_to_wipe: vec![state], ..ResetRequest::default() };

    trial.fleet.reset(1, &request, trial.now).unwrap();
    trial.pass(20);

    assert_eq!(trial.fleet.machines[1].phase, Phase::Off);
    assert!(trial.fleet.machines[1].disk.as_ref().is_some_and(|disk| disk.intent.is_none()));
}

#[test]
fn an_upgrade_boots_the_release_of_the_image() {
    let mut trial = TestCluster::up(1, 1);
    let image = |tag: &str| format!("factory.talos.dev/installer/x:{tag}");
    let request = UpgradeRequest { image: image("v1.13.10") };

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

    assert_eq!((legacy.as_str(), absent.code), ("v1.13.10", ErrorCode::Internal));
    let after = trial.fleet.version(1).messages.remove(0).version.unwrap().tag;
    assert_eq!((before.as_str(), after.as_str()), ("v1.13.10", "v1.13.11"));
    let nonsense = UpgradeRequest { image: "nonsense".to_owned() };
    assert_eq!(trial.fleet.upgrade(1, &nonsense, trial.now).unwrap_err().code, ErrorCode::InvalidArgument);
}

#[test]
fn etcd_members_leave_are_removed_and_forfeit_leadership() {
    let mut trial = TestCluster::up(3, 0);
    let ids: Vec<_> =
        trial.fleet.etcd_members(0).unwrap().messages[0].members.iter().map(|it| it.id).collect();

    assert_eq!(trial.fleet.etcd_forfeit(1), Ok(String::new()));
    assert_eq!(trial.fleet.etcd_forfeit(0), Ok(format!("{:016x}", ids[1])));
    trial.fleet.etcd_leave(2).unwrap();
    trial.pass(5);
    assert_eq!(trial.fleet.etcd_remove(0, ids[2]).unwrap_err().code, ErrorCode::NotFound);
    trial.fleet.etcd_remove(0, ids[1]).unwrap();
    trial.pass(5);

    assert_eq!(trial.fleet.etcd_members(0).unwrap().messages[0].members.len(), 1);
    assert!(trial.fleet.etcd_alarms(0).unwrap().messages[0].member_alarms.is_empty());
    assert_eq!(trial.fleet.etcd_status(1).unwrap_err().code, ErrorCode::Unavailable);
}

#[test]
fn kubernetes_lists_and_cordons_nodes() {
    let mut trial = TestCluster::up(1, 1);

    let list = trial.fleet.kubernetes(0, &KubeVerb::Get, "/api/v1/nodes?limit=500");
    let cordon = KubeVerb::Patch(json!({"spec": {"unschedulable": true}}));
    let patched = trial.fleet.kubernetes(0, &cordon, "/api/v1/nodes/w1");

    assert_eq!(list.json["items"].as_array().unwrap().len(), 2);
    assert_eq!(list.json.pointer("/items/1/status/addresses/0/address"), Some(&json!("10.0.0.12")));
    assert_eq!(patched.json.pointer("/spec/unschedulable"), Some(&json!(true)));
    assert_eq!(trial.health().unwrap().0, "all k8s nodes to report schedulable");
    assert_eq!(trial.fleet.kubernetes(0, &KubeVerb::Get, "/readyz").text, Some("ok"));
    assert_eq!(trial.fleet.kubernetes(0, &KubeVerb::Get, "/version").json["gitVersion"], "v1.36.3");
    assert_eq!(trial.fleet.kubernetes(0, &KubeVerb::Get, "/api/v1/secrets").code, 404);
}

#[test]
fn only_a_role_change_reboots_a_running_node() {
    let mut trial = TestCluster::up(1, 2);
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
fn only_extension_services_can_be_restarted() {
    let mut trial = TestCluster::up(1, 1);
    let mut documents = trial.documents(1);
    documents.push(json!({"apiVersion": "v1alpha1", "kind": "ExtensionServiceConfig", "name": "frr", "environment": ["A=b"]}));
    trial.send(1, &documents, ApplyMode::Auto, false).unwrap();

    trial.fleet.handle_service(1, "ext-frr", ServiceAction::Stop).unwrap();
    let services = trial.fleet.service_list(1).messages.remove(0).services;
    let stopped = services.into_iter().find(|service| service.id == "ext-frr").unwrap().state;
    trial.fleet.handle_service(1, "ext-frr", ServiceAction::Start).unwrap();

    assert_eq!(stopped, "Finished");
    assert!(trial.fleet.is_ready(1));
    assert!(trial.fleet.handle_service(1, "apid", ServiceAction::Stop).is_err());
    assert!(trial.fleet.handle_service(1, "nothing", ServiceAction::Start).is_err());
    assert!(trial.fleet.logs(1, "ext-frr").is_ok() && trial.fleet.logs(1, "nothing").is_err());
}

#[test]
fn keys_of_meta_are_kept_on_disk() {
    let mut trial = TestCluster::up(1, 0);

    trial.fleet.meta_write(0, 10, b"x".to_vec()).unwrap();
    assert_eq!(trial.yaml(0, "runtime", "MetaKeys.runtime.talos.dev", "0x0a"), "value: x\n");
    trial.fleet.meta_delete(0, 10).unwrap();

    assert_eq!(trial.fleet.meta_delete(0, 10).unwrap_err().message, "meta key not found");
    assert_eq!(trial.fleet.meta_write(0, 256, Vec::new()).unwrap_err().message, "key must be a uint8");
}
