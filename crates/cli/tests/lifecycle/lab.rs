//! Slow tests: nodes that do not come back, and killed runs.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::upgrade::{releases, upgrade, want};
use super::{cluster, power, ready, run, status_value};
use crate::common::command;
use crate::simulated::steps;

#[test]
fn an_upgrade_stops_at_a_lost_node_and_resumes_when_it_is_back() {
    let nodes = cluster(5, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.1");
    nodes.fault("worker1:late-reboot:60s");

    let stopped = run(&nodes, "upgrade --yes --timeout 4s");

    assert_eq!(stopped.code, 1, "{}", stopped.all());
    assert!(
        stopped.stderr.contains("stopped at worker1: come back: did not come back within 4 s"),
        "{}",
        stopped.all()
    );
    assert!(stopped.stderr.contains("not upgraded: worker2"), "{}", stopped.all());
    assert_eq!(status_value(&nodes, "worker2", "talos_version"), "v1.13.9");
    nodes.heal("worker1");
    power(&nodes, "worker1", "off");
    power(&nodes, "worker1", "on");
    ready(&nodes);

    let event_log = upgrade(&nodes);

    assert_eq!(releases(&nodes), ["v1.14.1"; 5]);
    // The node runs the new release and is still cordoned.
    assert_eq!(steps(&event_log)[0], ("worker1", "uncordon"));
    assert!(steps(&event_log).iter().all(|(node, step)| *node == "worker2" || *step == "uncordon"));
}

#[test]
fn a_killed_upgrade_is_resumed() {
    let nodes = cluster(5, "--talos v1.13.9");
    want(&nodes, "v1.13.9", "v1.14.1");
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

    assert_eq!(releases(&nodes), ["v1.14.1"; 5]);
    let left = run(&nodes, "upgrade --dry-run");
    assert_eq!(left.code, 0, "{}", left.all());
    nodes.assert_up();
}
