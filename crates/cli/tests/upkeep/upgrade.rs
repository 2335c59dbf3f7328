use serde_json::Value;

use super::{cluster, kubernetes, power, run, told};
use crate::simulated::{Simulated, events, steps};

const ALL: [&str; 5] = ["cp1", "cp2", "cp3", "worker1", "worker2"];

/// Writes another release into the file.
pub fn want(nodes: &Simulated, from: &str, to: &str) {
    nodes.write(&nodes.file().replace(&format!("talos: {from}"), &format!("talos: {to}")));
}

pub fn releases(nodes: &Simulated) -> Vec<String> {
    ALL.iter().map(|node| told(nodes, node, "talos")).collect()
}

/// Runs an upgrade that has to be good; what it told.
pub fn upgrade(nodes: &Simulated) -> Vec<Value> {
    let run = run(nodes, "upgrade --yes --json");
    assert_eq!(run.code, 0, "{}", run.all());
    events(&run.stdout)
}

#[test]
fn from_1_12_every_node_is_told_once_and_does_the_rest_itself() {
    let nodes = cluster(5, "--talos v1.12.4");
    want(&nodes, "v1.12.4", "v1.13.9");

    let planned = run(&nodes, "upgrade --dry-run");
    upgrade(&nodes);

    assert_eq!(planned.code, 1, "{}", planned.all());
    assert!(planned.stdout.contains("metal-installer"), "{}", planned.stdout);
    assert_eq!(releases(&nodes), ["v1.13.9"; 5]);
    let mut order = nodes.calls("/Upgrade");
    // The one that leads etcd is the last of the control planes.
    assert_eq!(order[3..], ["worker1", "worker2"]);
    order.sort();
    assert_eq!(order, ALL);
    nodes.assert_up();
    let nothing = run(&nodes, "upgrade --dry-run");
    assert_eq!(nothing.code, 0);
    assert!(nothing.stderr.contains("nothing to do"), "{}", nothing.all());
}

#[test]
fn from_1_13_nodes_are_drained_by_us_and_take_work_again() {
    let nodes = cluster(5, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.0-rc.1");

    let told = upgrade(&nodes);

    assert_eq!(releases(&nodes), ["v1.14.0-rc.1"; 5]);
    let worker: Vec<_> =
        steps(&told).into_iter().filter(|(node, _)| *node == "worker1").map(|(_, step)| step).collect();
    assert_eq!(
        worker[worker.len() - 8..],
        ["connect", "pull", "install", "drain", "reboot", "come back", "uncordon", "health"]
            .into_iter()
            .collect::<Vec<_>>()[..],
        "{worker:?}"
    );
    let asked = kubernetes(&nodes);
    for node in ALL {
        let evicted = format!("POST /api/v1/namespaces/default/pods/web-{node}/eviction");
        assert!(asked.contains(&evicted), "{asked:?}");
        assert_eq!(asked.iter().filter(|one| **one == format!("PATCH /api/v1/nodes/{node}")).count(), 2);
    }
    nodes.assert_up();
}

#[test]
fn what_is_refused_is_told_all_at_once_and_nothing_is_done() {
    let nodes = cluster(3, "--talos v1.12.4");
    want(&nodes, "v1.12.4", "v1.14.0-rc.1");
    let far = run(&nodes, "upgrade --yes");
    want(&nodes, "v1.14.0-rc.1", "v1.11.6");
    let back = run(&nodes, "upgrade --yes");

    assert_eq!((far.code, back.code), (1, 1));
    assert!(
        far.stdout.contains("cp1: from v1.12.4 to v1.14.0-rc.1 is more than one minor release"),
        "{}",
        far.all()
    );
    assert!(back.stdout.contains("cp3: it runs v1.12.4, and v1.11.6 would be a step back"), "{}", back.all());
    assert!(nodes.asked("/Upgrade").is_empty());
}

#[test]
fn nobody_is_asked_in_a_script_without_yes() {
    let nodes = cluster(1, "--talos v1.12.4");
    want(&nodes, "v1.12.4", "v1.13.9");

    let run = run(&nodes, "upgrade");

    assert_eq!(run.code, 2, "{}", run.all());
    assert!(run.stderr.contains("--yes") && nodes.asked("/Upgrade").is_empty(), "{}", run.all());
}

#[test]
fn without_a_majority_nothing_is_rebooted() {
    let nodes = cluster(5, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.0-rc.1");
    power(&nodes, "cp2", "off");

    let run = run(&nodes, "upgrade --yes --only worker1");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stdout.contains("etcd's member on cp2 does not answer"), "{}", run.all());
    assert!(nodes.asked("/Reboot").is_empty());
}

#[test]
fn a_node_that_falls_back_is_a_failure_that_says_so() {
    let nodes = cluster(5, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.0-rc.1");
    nodes.fault("worker1:fall-back");

    let stopped = run(&nodes, "upgrade --yes --only worker1");

    assert_eq!(stopped.code, 1, "{}", stopped.all());
    assert!(
        stopped.stderr.contains("it fell back to v1.13.9: v1.14.0-rc.1 was installed and did not come up"),
        "{}",
        stopped.all()
    );
}

#[test]
fn a_failing_installer_is_told_by_its_exit_code_and_nothing_is_rebooted() {
    let nodes = cluster(3, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.0-rc.1");
    nodes.fault("cp2:fail-install");
    nodes.fault("cp1:fail-install");
    nodes.fault("cp3:fail-install");

    let stopped = run(&nodes, "upgrade --yes");

    assert_eq!(stopped.code, 1, "{}", stopped.all());
    assert!(stopped.stderr.contains("install: the installer ended with 1"), "{}", stopped.all());
    assert!(nodes.asked("/Reboot").is_empty());
}

#[test]
fn pods_that_may_not_leave_keep_a_node_from_rebooting_and_the_cordon_is_taken_back() {
    let nodes = cluster(4, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.0-rc.1");
    nodes.fault("worker1:keep-pods");

    let stopped = run(&nodes, "upgrade --yes --only worker1 --drain-timeout 2s");

    assert_eq!(stopped.code, 1, "{}", stopped.all());
    assert!(stopped.stderr.contains("default/web-worker1 (Cannot evict pod"), "{}", stopped.all());
    assert!(nodes.asked("/Reboot").is_empty());
    let patches = kubernetes(&nodes).into_iter().filter(|one| one == "PATCH /api/v1/nodes/worker1").count();
    assert_eq!(patches, 2);
}

#[test]
fn another_image_of_the_same_release_is_brought_by_the_same_walk() {
    let nodes = cluster(4, "--talos v1.13.9");
    let before = run(&nodes, "upgrade --dry-run");
    nodes.write(&nodes.file().replace("defaults: {", "defaults: {extensions: [siderolabs/iscsi-tools], "));

    let planned = run(&nodes, "upgrade --dry-run");
    let status = run(&nodes, "status");
    let told = upgrade(&nodes);

    assert_eq!((before.code, planned.code), (0, 1), "{}{}", before.all(), planned.all());
    assert!(planned.stdout.contains("another image"), "{}", planned.all());
    assert!(planned.stdout.contains("worker1: its image is of the schematic "), "{}", planned.all());
    assert!(status.all().contains("`ichor upgrade` brings it"), "{}", status.all());
    let back = steps(&told).into_iter().filter(|(_, step)| *step == "come back").count();
    assert_eq!(back, 4);
    nodes.assert_up();
    let again = run(&nodes, "upgrade --dry-run");
    assert_eq!(again.code, 0, "{}", again.all());
}

#[test]
fn another_image_that_does_not_come_up_stops_the_walk() {
    let nodes = cluster(4, "--talos v1.13.9");
    nodes.write(&nodes.file().replace("defaults: {", "defaults: {extensions: [siderolabs/iscsi-tools], "));
    nodes.fault("worker1:fall-back");

    let stopped = run(&nodes, "upgrade --yes --only worker1");

    assert_eq!(stopped.code, 1, "{}", stopped.all());
    assert!(stopped.stderr.contains("it runs what it ran before"), "{}", stopped.all());
}
