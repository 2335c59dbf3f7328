//! Slow tests: many nodes, and runs killed at every step.

use serde_json::Value;

use crate::simulated::{Simulated, steps};

#[test]
fn fifty_machines_become_a_healthy_cluster() {
    let nodes = Simulated::start(50, "");

    let event_log = nodes.up_well("--max-parallel 10");

    nodes.assert_up();
    assert_eq!(steps(&event_log).iter().filter(|(_, step)| *step == "apply").count(), 50);
}

/// Every event of an uninterrupted run.
fn moments() -> Vec<(String, String, String)> {
    let nodes = Simulated::start(5, "");
    let event_log = nodes.up_well("");
    let word = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let mut all: Vec<_> = event_log
        .iter()
        .filter(|event| event["event"] == "step")
        .map(|event| (word(event, "node"), word(event, "step"), word(event, "state")))
        .collect();
    all.sort();
    all.dedup();
    all
}

fn is(event: &Value, (node, step, state): &(String, String, String)) -> bool {
    event["step"] == step.as_str()
        && event["state"] == state.as_str()
        && event["node"].as_str().unwrap_or_default() == node
}

#[test]
fn a_run_killed_at_every_step_resumes_and_bootstraps_once() {
    for moment in moments() {
        let nodes = Simulated::start(5, "");

        let came = nodes.up_killed(|event| is(event, &moment));
        nodes.up_well("");

        assert!(came, "{moment:?}");
        nodes.assert_up();
    }
}

#[test]
fn a_run_killed_at_each_step_of_one_cluster_resumes() {
    let nodes = Simulated::start(5, "");
    for moment in moments() {
        nodes.up_killed(|event| is(event, &moment) || event["event"] == "end");
    }

    nodes.up_well("");

    nodes.assert_up();
}

#[test]
fn fifty_machines_come_up_although_the_run_is_killed_repeatedly() {
    let nodes = Simulated::start(50, "");
    for count in [1, 3, 7, 20, 40] {
        let seen = std::cell::Cell::new(0);
        nodes.up_killed(|event| {
            seen.set(seen.get() + usize::from(event["event"] == "step"));
            seen.get() >= count
        });
    }

    nodes.up_well("--max-parallel 50");

    nodes.assert_up();
}
