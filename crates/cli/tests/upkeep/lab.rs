//! What takes longer: nodes that do not come back, and runs that are killed.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::upgrade::{releases, upgrade, want};
use super::{cluster, power, ready, run, told};
use crate::common::command;
use crate::simulated::steps;

#[test]
fn it_stops_at_a_node_that_does_not_come_back_and_goes_on_when_it_did() {
    let nodes = cluster(5, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.0-rc.1");
    nodes.fault("worker1:late-reboot:60s");

    let stopped = run(&nodes, "upgrade --yes --timeout 4s");

    assert_eq!(stopped.code, 1, "{}", stopped.all());
    assert!(
        stopped.stderr.contains("stopped at worker1: come back: it did not come back within 4 s"),
        "{}",
        stopped.all()
    );
    assert!(stopped.stderr.contains("worker2 were left alone"), "{}", stopped.all());
    assert_eq!(told(&nodes, "worker2", "talos"), "v1.13.9");
    nodes.heal("worker1");
    power(&nodes, "worker1", "off");
    power(&nodes, "worker1", "on");
    ready(&nodes);

    let told = upgrade(&nodes);

    assert_eq!(releases(&nodes), ["v1.14.0-rc.1"; 5]);
    // It runs what it shall, and was left cordoned.
    assert_eq!(steps(&told)[0], ("worker1", "uncordon"));
    assert!(steps(&told).iter().all(|(node, step)| *node == "worker2" || *step == "uncordon"));
}

#[test]
fn killed_half_way_it_is_gone_on_with() {
    let nodes = cluster(5, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.0-rc.1");
    for moment in [
        ("install", "done"),
        ("drain", "done"),
        ("reboot", "done"),
        ("come back", "done"),
        ("uncordon", "started"),
    ] {
        let mut upgrade = command(&nodes.folder(), "upgrade --yes --json");
        let mut upgrade = upgrade.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(upgrade.stdout.take().unwrap()).lines().map_while(Result::ok);
        let came = lines.any(|line| {
            let event: Value = serde_json::from_str(&line).unwrap();
            (event["step"].as_str(), event["state"].as_str()) == (Some(moment.0), Some(moment.1))
        });
        upgrade.kill().unwrap();
        upgrade.wait().unwrap();
        assert!(came, "{moment:?}");
        ready(&nodes);
    }

    upgrade(&nodes);

    assert_eq!(releases(&nodes), ["v1.14.0-rc.1"; 5]);
    let left = run(&nodes, "upgrade --dry-run");
    assert_eq!(left.code, 0, "{}", left.all());
    nodes.assert_up();
}
