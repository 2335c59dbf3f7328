//! What real nodes do that earlier versions of the simulator did not.

use super::*;

/// Documents of a node with two addresses, both of which etcd advertises.
fn dual_stack(trial: &TestCluster) -> Vec<Value> {
    let mut documents = trial.documents(0);
    let link = documents.iter_mut().find(|it| it["kind"] == "LinkConfig").unwrap();
    link["addresses"] = json!([{"address": "10.0.0.11/24"}, {"address": "fd00::11/64"}]);
    documents[0]["cluster"]["etcd"]["advertisedSubnets"] = json!(["10.0.0.0/24", "fd00::/64"]);
    documents
}

fn first_pending(trial: &TestCluster, control_planes: &[&str]) -> Option<(&'static str, CheckPending)> {
    let named: Vec<_> = control_planes.iter().map(|address| (*address).to_owned()).collect();
    let nodes = trial.fleet.health_nodes(0, &named, &[]);
    HealthCheck::ALL.into_iter().find_map(|check| Some((check.name, check.run(&trial.fleet, &nodes).err()?)))
}

#[test]
fn a_health_check_compares_all_addresses_of_etcd_members() {
    let mut trial = TestCluster::new("v1.13.9", 1, 0);
    trial.pass(10);
    let documents = dual_stack(&trial);
    trial.send(0, &documents, ApplyMode::Auto, false).unwrap();
    trial.pass(40);
    trial.fleet.bootstrap(0, trial.now).unwrap();
    trial.pass(30);

    let reason = "etcd member ips [\"10.0.0.11\" \"fd00::11\"] are not subset of control plane node ips [\"10.0.0.11\"]";
    let one = first_pending(&trial, &["10.0.0.11"]).unwrap();
    assert_eq!(one, ("etcd members to be control plane nodes", CheckPending::For(reason.to_owned())));
    let all = first_pending(&trial, &["10.0.0.11", "fd00::11"]).unwrap();
    let reason = "can't find expected node with IPs [\"fd00::11\"]";
    assert_eq!(all, ("all k8s nodes to report", CheckPending::For(reason.to_owned())));
    assert_eq!(first_pending(&trial, &[]), None);
}

#[test]
fn a_node_of_an_address_that_no_machine_has_keeps_a_health_check_waiting() {
    let trial = TestCluster::up(1, 0);

    let (check, _) = first_pending(&trial, &["10.0.0.11", "10.9.9.9"]).unwrap();

    assert_eq!(check, "etcd to be healthy");
}

#[test]
fn changes_beyond_the_immediate_keys_reboot_before_1_14() {
    for (talos, mode) in [("v1.13.9", ApplyMode::Reboot), ("v1.14.1", ApplyMode::NoReboot)] {
        let mut trial = TestCluster::new(talos, 1, 0);
        trial.pass(10);
        trial.apply(0).unwrap();
        trial.pass(40);

        let mut documents = trial.documents(0);
        documents[0]["machine"]["sysctls"] = json!({"vm.swappiness": "1"});
        let kept = trial.send(0, &documents, ApplyMode::Auto, true).unwrap();
        documents[0]["machine"]["env"] = json!({"A": "b"});
        let refused = trial.send(0, &documents, ApplyMode::NoReboot, true);
        let changed = trial.send(0, &documents, ApplyMode::Auto, false).unwrap();

        assert_eq!(kept.messages[0].mode, ApplyMode::NoReboot as i32, "{talos}");
        assert_eq!(refused.is_err(), mode == ApplyMode::Reboot, "{talos}");
        assert_eq!(changed.messages[0].mode, mode as i32, "{talos}");
        let leaves = matches!(trial.fleet.machines[0].phase, Phase::Ending(_));
        assert_eq!(leaves, mode == ApplyMode::Reboot, "{talos}");
    }
}

#[test]
fn a_renamed_node_registers_again_and_the_earlier_one_is_not_ready() {
    let mut trial = TestCluster::up(1, 0);
    let mut documents = trial.documents(0);
    let hostname = documents.iter_mut().find(|it| it["kind"] == "HostnameConfig").unwrap();
    hostname["hostname"] = json!("other");

    trial.send(0, &documents, ApplyMode::Auto, false).unwrap();
    trial.pass(5);

    let list = trial.fleet.kubernetes(0, &KubeVerb::Get, "/api/v1/nodes").json;
    let nodes: Vec<_> = list["items"].as_array().unwrap().iter().collect();
    let state = |node: &Value| {
        let status = node["status"]["conditions"][0]["status"].as_str().unwrap().to_owned();
        (node["metadata"]["name"].as_str().unwrap().to_owned(), status)
    };
    let states: Vec<_> = nodes.into_iter().map(state).collect();
    assert_eq!(states, [("cp1".to_owned(), "False".to_owned()), ("other".to_owned(), "True".to_owned())]);
    let reason = "unexpected nodes with IPs [\"10.0.0.11\"]";
    let pending = ("all k8s nodes to report", CheckPending::For(reason.to_owned()));
    assert_eq!(trial.health(), Some(pending));
}

#[test]
fn a_failed_service_keeps_a_running_node_from_being_ready() {
    let mut trial = TestCluster::up(1, 0);

    trial.fleet.spoil(0, Fault::FailService("kubelet".to_owned()), None, trial.now);
    trial.pass(5);

    assert_eq!(trial.stage(0), Stage::Running);
    let unmet = trial.fleet.unmet(0);
    assert_eq!((unmet[0].name.as_str(), unmet[0].reason.as_str()), ("services", "kubelet not running"));
    trial.fleet.heal(0, None, trial.now);
    trial.pass(5);
    assert!(trial.fleet.is_ready(0), "{:?}", trial.fleet.unmet(0));
}

#[test]
fn a_node_joins_its_overlay_with_a_key_only() {
    let joined = |environment: Value| {
        let mut trial = TestCluster::new("v1.13.9", 1, 0);
        trial.pass(10);
        let mut documents = trial.documents(0);
        documents
            .push(json!({"apiVersion": "v1alpha1", "kind": "ExtensionServiceConfig", "name": "tailscale",
            "environment": environment}));
        trial.send(0, &documents, ApplyMode::Auto, false).unwrap();
        trial.pass(40);
        trial.yaml(0, "runtime", "Services.v1alpha1.talos.dev", "ext-tailscale");
        let at_first = trial.fleet.machines[0].overlay().is_some();
        // A key is used once: a configuration without it does not end the membership.
        documents.last_mut().unwrap()["environment"] = json!(["TS_HOSTNAME=cp1"]);
        trial.send(0, &documents, ApplyMode::Auto, false).unwrap();
        assert_eq!(trial.fleet.machines[0].overlay().is_some(), at_first);
        at_first
    };

    assert!(joined(json!(["TS_AUTHKEY=tskey-1"])));
    assert!(!joined(json!(["TS_AUTHKEY="])));
    assert!(!joined(json!(["TS_HOSTNAME=cp1"])));
}
