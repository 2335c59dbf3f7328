//! `ichor up` from nothing, where somebody provides the machines: a stand-in switches them on, and simulated nodes are what then boots.

mod lab;
mod metal;
mod proxmox;

use std::fs;

use crate::common::ichor;
use crate::simulated::Simulated;

/// What is said of a cluster of simulated nodes so that its machines are `hypervisor`'s.
fn hosted(file: &str, hypervisor: &str, vm: &str) -> String {
    file.replace("boot: {from: apply}", "boot: {from: cidata}\nimage: {source: {iso: talos.iso}}").replace(
        "defaults: {",
        &format!("hypervisors: {{{hypervisor}}}\ndefaults: {{platform: nocloud, vm: {{{vm}}}, "),
    )
}

/// The same file without the addresses that machines have before they are configured.
fn found_by_others(file: &str) -> String {
    let line = |line: &str| match line.split_once(", address: {dhcp: ") {
        Some((before, _)) => format!("{before}}}\n"),
        None => format!("{line}\n"),
    };
    file.lines().map(line).collect()
}

/// The image that all machines boot.
const TALOS: &str = "an image of Talos";

fn write_image(nodes: &Simulated) {
    fs::write(nodes.folder().join("talos.iso"), TALOS.repeat(1000)).unwrap();
}

/// Gives a simulated machine power, or takes it away.
fn power(folder: &std::path::Path, node: &str, on: bool) {
    let word = if on { "on" } else { "off" };
    let run = ichor(folder, &format!("lab nodes power {node} {word} -o ."));
    assert_eq!(run.code, 0, "{}", run.all());
}
