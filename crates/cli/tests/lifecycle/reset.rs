use super::{cluster, kubernetes, power, run, status_value};
use crate::simulated::{events, steps};

#[test]
fn a_reset_worker_leaves_the_cluster_and_can_join_again() {
    let nodes = cluster(4, "");

    let planned = run(&nodes, "reset worker1 --dry-run");
    let unconfirmed = run(&nodes, "reset worker1");
    let done = run(&nodes, "reset worker1 --yes");

    assert_eq!(planned.code, 1, "{}", planned.all());
    assert!(planned.stdout.contains("worker1: wipe its configuration and data"), "{}", planned.stdout);
    assert_eq!(unconfirmed.code, 2, "{}", unconfirmed.all());
    assert_eq!(done.code, 0, "{}", done.all());
    assert_eq!(status_value(&nodes, "worker1", "stage"), "maintenance");
    assert!(kubernetes(&nodes).contains(&"DELETE /api/v1/nodes/worker1".to_owned()));
    assert_eq!(nodes.calls("/Reset"), ["worker1"]);
    nodes.up_well("");
    nodes.assert_up();
}

#[test]
fn a_reset_control_plane_leaves_etcd_and_the_others_stay_healthy() {
    let nodes = cluster(3, "");

    let done = run(&nodes, "reset cp2 --yes");

    assert_eq!(done.code, 0, "{}", done.all());
    assert_eq!(status_value(&nodes, "cp2", "stage"), "maintenance");
    assert_eq!(status_value(&nodes, "cp1", "ready"), "true");
    let another = run(&nodes, "reset cp3 cp1 --yes");
    assert_eq!(another.code, 1, "{}", another.all());
    assert!(another.stdout.contains("this is the last control plane"), "{}", another.all());
    assert_eq!(nodes.calls("/Reset"), ["cp2"]);
}

#[test]
fn the_last_control_plane_is_reset_only_with_an_option() {
    let nodes = cluster(1, "");

    let refused = run(&nodes, "reset cp1 --yes");
    let destroyed = run(&nodes, "reset cp1 --yes --destroy-cluster");

    assert_eq!(refused.code, 1, "{}", refused.all());
    assert!(refused.stdout.contains("--destroy-cluster"), "{}", refused.all());
    assert_eq!(destroyed.code, 0, "{}", destroyed.all());
    assert!(
        destroyed.stdout.contains("all its Kubernetes objects are lost permanently"),
        "{}",
        destroyed.all()
    );
    assert_eq!(status_value(&nodes, "cp1", "stage"), "maintenance");
    let events = nodes.up_well("");
    assert!(steps(&events).contains(&("cp1", "bootstrap")), "{events:#?}");
    assert_eq!(nodes.status()["bootstrap_count"], 2, "{events:#?}");
}

#[test]
fn a_lost_node_is_removed_by_the_others() {
    let nodes = cluster(3, "");
    power(&nodes, "cp3", "off");

    let refused = run(&nodes, "reset cp3 --yes");
    let needed = run(&nodes, "reset cp2 --yes");
    let done = run(&nodes, "reset cp3 --yes --gone");

    assert!(refused.code == 1 && refused.stdout.contains("--gone"), "{}", refused.all());
    assert!(needed.code == 1 && needed.stdout.contains("and needs 2"), "{}", needed.all());
    assert_eq!(done.code, 0, "{}", done.all());
    assert_eq!(nodes.calls("/EtcdRemoveMemberByID").len(), 1);
    assert!(kubernetes(&nodes).contains(&"DELETE /api/v1/nodes/cp3".to_owned()));
    assert!(nodes.calls("/Reset").is_empty());
}

#[test]
fn a_machine_without_boot_media_is_powered_off_with_a_warning() {
    let nodes = cluster(4, "");

    let done = run(&nodes, "reset worker1 --yes --wipe disk");

    assert_eq!(done.code, 0, "{}", done.all());
    assert!(done.stdout.contains("it has nothing left to boot"), "{}", done.all());
    assert_eq!(status_value(&nodes, "worker1", "phase"), "off");
}

#[test]
fn plan_steps_obstacles_and_end_are_json_events() {
    let nodes = cluster(4, "");

    let planned = run(&nodes, "reset worker1 cp2 --dry-run --json");
    let done = run(&nodes, "reset worker1 cp2 --yes --json");
    let refused = run(&nodes, "reset cp1 cp3 --yes --json");

    assert_eq!((planned.code, done.code, refused.code), (1, 0, 1), "{}{}", done.all(), refused.all());
    let plan = &events(&planned.stdout)[0];
    let worker = serde_json::json!({"node": "worker1", "wipe": "system", "power_off": false, "etcd": "not_a_member", "unbootable": false});
    assert_eq!((&plan["event"], &plan["nodes"][0]), (&"plan".into(), &worker));
    assert_eq!(plan["nodes"][1]["etcd"], "member_removed");
    let event_log = events(&done.stdout);
    assert_eq!(
        steps(&event_log),
        [
            ("worker1", "reset"),
            ("worker1", "leave Kubernetes"),
            ("cp2", "reset"),
            ("cp2", "leave etcd"),
            ("cp2", "leave Kubernetes")
        ]
    );
    let end = event_log.last().unwrap();
    assert_eq!((&end["event"], &end["ok"], &end["nodes_reset"]), (&"end".into(), &true.into(), &2.into()));
    let obstacles = &events(&refused.stdout)[0];
    assert_eq!(obstacles["event"], "refused");
    assert!(obstacles["problems"][0]["help"].as_str().is_some_and(|words| !words.is_empty()), "{obstacles}");
}

#[test]
fn a_node_that_does_not_come_back_is_reported_with_the_remaining_ones() {
    let nodes = cluster(5, "");
    nodes.fault("worker1:late-reboot:60s");

    let stopped = run(&nodes, "reset worker1 worker2 --yes --json --timeout 1s");

    assert_eq!(stopped.code, 1, "{}", stopped.all());
    let all = events(&stopped.stdout);
    let end = all.last().unwrap();
    assert_eq!((&end["ok"], &end["node"]), (&false.into(), &"worker1".into()), "{end}");
    assert_eq!(end["remaining_nodes"], serde_json::json!(["worker2"]));
    assert!(end["message"].as_str().unwrap().contains("within 1 s"), "{end}");
    assert_eq!(status_value(&nodes, "worker2", "stage"), "running");
}
