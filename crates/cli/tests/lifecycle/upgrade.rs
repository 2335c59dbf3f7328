use serde_json::Value;

use super::{cluster, kubernetes, power, run, status_value};
use crate::simulated::{Simulated, events, steps};

const ALL: [&str; 5] = ["cp1", "cp2", "cp3", "worker1", "worker2"];

/// Sets another release in the file.
pub fn want(nodes: &Simulated, from: &str, to: &str) {
    nodes.write(&nodes.file().replace(&format!("talos: {from}"), &format!("talos: {to}")));
}

pub fn releases(nodes: &Simulated) -> Vec<String> {
    ALL.iter().map(|node| status_value(nodes, node, "talos_version")).collect()
}

/// Runs an upgrade, which must succeed, and returns its events.
pub fn upgrade(nodes: &Simulated) -> Vec<Value> {
    let run = run(nodes, "upgrade --yes --json");
    assert_eq!(run.code, 0, "{}", run.all());
    events(&run.stdout)
}

#[test]
fn nodes_of_1_12_are_upgraded_by_a_single_call() {
    let nodes = cluster(5, "--talos v1.12.4");
    want(&nodes, "v1.12.4", "v1.13.9");

    let planned = run(&nodes, "upgrade --dry-run");
    upgrade(&nodes);

    assert_eq!(planned.code, 1, "{}", planned.all());
    assert!(planned.stdout.contains("metal-installer"), "{}", planned.stdout);
    assert_eq!(releases(&nodes), ["v1.13.9"; 5]);
    let mut order = nodes.calls("/Upgrade");
    // The etcd leader is upgraded last of the control planes.
    assert_eq!(order[3..], ["worker1", "worker2"]);
    order.sort();
    assert_eq!(order, ALL);
    nodes.assert_up();
    let nothing = run(&nodes, "upgrade --dry-run");
    assert_eq!(nothing.code, 0);
    assert!(nothing.stderr.contains("nothing to do"), "{}", nothing.all());
}

#[test]
fn nodes_of_1_13_are_drained_and_uncordoned_by_ichor() {
    let nodes = cluster(5, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.1");

    let event_log = upgrade(&nodes);

    assert_eq!(releases(&nodes), ["v1.14.1"; 5]);
    let worker: Vec<_> =
        steps(&event_log).into_iter().filter(|(node, _)| *node == "worker1").map(|(_, step)| step).collect();
    assert_eq!(
        worker[worker.len() - 8..],
        ["connect", "pull", "install", "drain", "reboot", "come back", "uncordon", "health"]
            .into_iter()
            .collect::<Vec<_>>()[..],
        "{worker:?}"
    );
    let requests = kubernetes(&nodes);
    for node in ALL {
        let evicted = format!("POST /api/v1/namespaces/default/pods/web-{node}/eviction");
        assert!(requests.contains(&evicted), "{requests:?}");
        assert_eq!(requests.iter().filter(|one| **one == format!("PATCH /api/v1/nodes/{node}")).count(), 2);
    }
    nodes.assert_up();
}

#[test]
fn obstacles_are_reported_together_and_nothing_is_changed() {
    let nodes = cluster(3, "--talos v1.12.4");
    want(&nodes, "v1.12.4", "v1.14.1");
    let far = run(&nodes, "upgrade --yes");
    want(&nodes, "v1.14.1", "v1.11.6");
    let back = run(&nodes, "upgrade --yes");

    assert_eq!((far.code, back.code), (1, 1));
    assert!(
        far.stdout.contains("cp1: from v1.12.4 to v1.14.1 is more than one minor release"),
        "{}",
        far.all()
    );
    assert!(back.stdout.contains("cp3: v1.11.6 would be a downgrade from v1.12.4"), "{}", back.all());
    assert!(nodes.asked("/Upgrade").is_empty());
}

#[test]
fn a_script_without_yes_is_refused() {
    let nodes = cluster(1, "--talos v1.12.4");
    want(&nodes, "v1.12.4", "v1.13.9");

    let run = run(&nodes, "upgrade");

    assert_eq!(run.code, 2, "{}", run.all());
    assert!(run.stderr.contains("--yes") && nodes.asked("/Upgrade").is_empty(), "{}", run.all());
}

#[test]
fn a_cluster_without_quorum_is_not_rebooted() {
    let nodes = cluster(5, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.1");
    power(&nodes, "cp2", "off");

    let run = run(&nodes, "upgrade --yes --only worker1");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stdout.contains("etcd's member on cp2 does not answer"), "{}", run.all());
    assert!(nodes.asked("/Reboot").is_empty());
}

#[test]
fn a_node_that_rolls_back_is_reported_as_a_failure() {
    let nodes = cluster(5, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.1");
    nodes.fault("worker1:fall-back");

    let stopped = run(&nodes, "upgrade --yes --only worker1");

    assert_eq!(stopped.code, 1, "{}", stopped.all());
    assert!(
        stopped.stderr.contains("the node fell back to v1.13.9: v1.14.1 was installed, but did not boot"),
        "{}",
        stopped.all()
    );
}

#[test]
fn a_failed_installer_is_reported_with_its_exit_code_without_a_reboot() {
    let nodes = cluster(3, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.1");
    nodes.fault("cp2:fail-install");
    nodes.fault("cp1:fail-install");
    nodes.fault("cp3:fail-install");

    let stopped = run(&nodes, "upgrade --yes");

    assert_eq!(stopped.code, 1, "{}", stopped.all());
    assert!(stopped.stderr.contains("install: the installer failed with exit code 1"), "{}", stopped.all());
    assert!(nodes.asked("/Reboot").is_empty());
}

#[test]
fn pods_that_cannot_be_evicted_prevent_the_reboot_and_the_node_is_uncordoned() {
    let nodes = cluster(4, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.1");
    nodes.fault("worker1:keep-pods");

    let stopped = run(&nodes, "upgrade --yes --only worker1 --drain-timeout 2s");

    assert_eq!(stopped.code, 1, "{}", stopped.all());
    assert!(stopped.stderr.contains("default/web-worker1 (Cannot evict pod"), "{}", stopped.all());
    assert!(nodes.asked("/Reboot").is_empty());
    let patches = kubernetes(&nodes).into_iter().filter(|one| one == "PATCH /api/v1/nodes/worker1").count();
    assert_eq!(patches, 2);
}

#[test]
fn another_image_of_the_same_release_is_installed_like_an_upgrade() {
    let nodes = cluster(4, "--talos v1.13.9");
    let before = run(&nodes, "upgrade --dry-run");
    nodes.write(&nodes.file().replace("defaults: {", "defaults: {extensions: [siderolabs/iscsi-tools], "));

    let planned = run(&nodes, "upgrade --dry-run");
    let status = run(&nodes, "status");
    let event_log = upgrade(&nodes);

    assert_eq!((before.code, planned.code), (0, 1), "{}{}", before.all(), planned.all());
    assert!(planned.stdout.contains("another image"), "{}", planned.all());
    assert!(planned.stdout.contains("worker1: the image has the schematic "), "{}", planned.all());
    assert!(status.all().contains("run `ichor upgrade`"), "{}", status.all());
    let back = steps(&event_log).into_iter().filter(|(_, step)| *step == "come back").count();
    assert_eq!(back, 4);
    nodes.assert_up();
    let again = run(&nodes, "upgrade --dry-run");
    assert_eq!(again.code, 0, "{}", again.all());
}

#[test]
fn an_image_that_does_not_boot_stops_the_upgrade() {
    let nodes = cluster(4, "--talos v1.13.9");
    nodes.write(&nodes.file().replace("defaults: {", "defaults: {extensions: [siderolabs/iscsi-tools], "));
    nodes.fault("worker1:fall-back");

    let stopped = run(&nodes, "upgrade --yes --only worker1");

    assert_eq!(stopped.code, 1, "{}", stopped.all());
    assert!(stopped.stderr.contains("the node still runs its previous image"), "{}", stopped.all());
}
