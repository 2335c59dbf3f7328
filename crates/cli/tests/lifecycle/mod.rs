//! `ichor upgrade`, `ichor reset` and `ichor down` on simulated nodes.

mod down;
mod lab;
mod reset;
mod upgrade;

use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Run, ichor};
use crate::simulated::Simulated;
use serde_json::Value;

/// A running cluster of simulated nodes, with additional arguments for the simulator.
fn cluster(count: usize, more: &str) -> Simulated {
    let nodes = Simulated::start(count, more);
    nodes.up_well("");
    nodes
}

fn run(nodes: &Simulated, words: &str) -> Run {
    ichor(&nodes.folder(), words)
}

fn power(nodes: &Simulated, node: &str, word: &str) {
    let run = run(nodes, &format!("lab nodes power {node} {word} -o ."));
    assert_eq!(run.code, 0, "{}", run.all());
}

/// Waits until all nodes are ready.
fn ready(nodes: &Simulated) {
    let end = Instant::now() + Duration::from_secs(30);
    let are = || nodes.status()["nodes"].as_array().unwrap().iter().all(|node| node["ready"] == true);
    while !are() {
        assert!(Instant::now() < end, "{}", nodes.status());
        thread::sleep(Duration::from_millis(50));
    }
}

/// A value of a node's status in the simulator.
fn status_value(nodes: &Simulated, node: &str, key: &str) -> String {
    let status = nodes.status();
    let found = status["nodes"].as_array().unwrap().iter().find(|one| one["node"] == node).unwrap();
    match &found[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Requests to Kubernetes, by method and path.
fn kubernetes(nodes: &Simulated) -> Vec<String> {
    let journal = std::fs::read_to_string(nodes.folder().join("simulator/journal.jsonl")).unwrap();
    let lines = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line["kubernetes"].as_str().map(str::to_owned)).collect()
}
