//! `ichor lab test`: a running fabric compared with the prediction.

mod lab;

use crate::common::{folder, ichor_with};

/// Two nodes, two leafs and a spine: a small fabric that fails and heals quickly.
pub const CLUSTER: &str = "\
cluster: {name: trial, id: 10, talos: v1.13.9}
network:
  node: null
  loopback: {v4: 10.10.10.0/24}
  services: {pools: {default: [203.0.113.0/24]}}
fabric:
  routers:
    - {name: leaf1, asn: 4200000101}
    - {name: leaf2, asn: 4200000102}
    - {name: spine1, role: spine, asn: 4200000200}
routing:
  backend: frr
  asn: 4200000991
  router_id: loopback
  graceful_restart: false
  neighbors:
    - {router: leaf1, link: eth0, bfd: true}
    - {router: leaf2, link: eth1, bfd: true}
  workload: {speaker: metallb, metallb: {mode: native}, isolation: netns, namespace: metallb}
defaults: {install: {disk: /dev/sda}}
nodes:
  - {name: row1, role: controlplane, index: 10, macs: [\"52:54:00:10:00:10\", \"52:54:00:10:01:10\"]}
  - {name: row2, role: controlplane, index: 11, macs: [\"52:54:00:10:00:11\", \"52:54:00:10:01:11\"]}
";

#[test]
fn a_missing_lab_is_reported_with_a_remedy() {
    let desk = folder(&[("ichor.yaml", CLUSTER)]);
    // Labs of unprivileged users are in this folder.
    let env = [("XDG_RUNTIME_DIR", desk.path().to_str().unwrap())];

    let run = ichor_with(desk.path(), "lab test ichor.yaml", &env);

    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("start one with `ichor lab up ichor.yaml`"), "{}", run.stderr);
    let run = ichor_with(desk.path(), "lab test nosuch", &env);
    assert!(run.code == 2 && run.stderr.contains("no lab `nosuch`"), "{}", run.stderr);
}
