//! `ichor up` with machine providers: a stand-in powers machines on, which then boot as simulated nodes.

mod lab;
mod metal;
mod proxmox;

use std::fs;

use crate::common::ichor;
use crate::simulated::Simulated;

/// The file of a cluster of simulated nodes, with its machines on `hypervisor`.
fn hosted(file: &str, hypervisor: &str, vm: &str) -> String {
    file.replace("boot: {from: apply}", "boot: {from: cidata}\nimage: {source: {iso: talos.iso}}").replace(
        "defaults: {",
        &format!("hypervisors: {{{hypervisor}}}\ndefaults: {{platform: nocloud, vm: {{{vm}}}, "),
    )
}

/// The same file without the addresses of unconfigured machines.
fn without_dhcp_addresses(file: &str) -> String {
    let line = |line: &str| match line.split_once(", address: {dhcp: ") {
        Some((before, _)) => format!("{before}}}\n"),
        None => format!("{line}\n"),
    };
    file.lines().map(line).collect()
}

/// Image for all machines.
const TALOS: &str = "an image of Talos";

fn write_image(nodes: &Simulated) {
    fs::write(nodes.folder().join("talos.iso"), TALOS.repeat(1000)).unwrap();
}

/// Powers a simulated machine on or off.
fn power(folder: &std::path::Path, node: &str, on: bool) {
    let word = if on { "on" } else { "off" };
    let run = ichor(folder, &format!("lab nodes power {node} {word} -o ."));
    assert_eq!(run.code, 0, "{}", run.all());
}
