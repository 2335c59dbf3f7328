//! Checks of clusters that are healthy, have one fault, or are not installed yet.

mod breaks;
mod early;

use std::net::IpAddr;

use super::*;
use crate::bringup::{AddressOrigin, AddressStage};
use crate::machines::Drives;
use crate::machines::drives::{DriveMedium, MediumKind};
use crate::observe::{InstalledExtension, KubernetesStatus, NodeSnapshot, QueryOutcome, SessionStatus};
use crate::plan::tests::planned_with;
use crate::plan::{self, NodePlan};
use crate::probe::ProbeError;
use ichor_bgp::agent::Session;
use ichor_bgp::agent::session::SessionState;
use ichor_talos::kubernetes::KubeNode;
use ichor_talos::resource::{AddressStatus, BgpPeerStatus, LinkStatus, PlatformMetadata, RouteStatus};

/// Three control planes with routing and a worker in an overlay, with all features that checks use.
const FILE: &str = "\
cluster: {name: sol, id: 101, talos: v1.13.9}
network: {api: {vip: 10.101.0.10}}
fabric:
  routers: [{name: leaf1, asn: 65101, reach: {ssh: root@leaf1}}, {name: leaf2, asn: 65102}]
  cables: [[cp1:eth0, leaf1:swp1], [cp1:eth1, leaf2:swp1]]
routing: {backend: frr, workload: {speaker: metallb}}
defaults: {extensions: [siderolabs/qemu-guest-agent], ports: [eth0, eth1], links: [{name: eth0, mtu: 9000}]}
nodes:
  - {name: cp1, role: controlplane, index: 11, macs: [\"02:00:00:00:00:01\", \"02:00:00:00:00:02\"]}
  - {name: cp2, role: controlplane, index: 12, macs: [\"02:00:00:00:00:03\", \"02:00:00:00:00:04\"]}
  - {name: cp3, role: controlplane, index: 13, macs: [\"02:00:00:00:00:05\", \"02:00:00:00:00:06\"]}
  - {name: wk1, index: 21, macs: [\"02:00:00:00:00:07\", \"02:00:00:00:00:08\"], overlay: {tailscale: {key: {env: KEY}}}}
";

/// Machines in maintenance mode with boot media; `cidata` is the placeholder for the kind.
const EARLY: &str = "\
cluster: {name: sol, id: 101, talos: v1.13.9}
fabric: {routers: [{name: leaf1, asn: 65101}]}
routing: {backend: frr}
boot: {from: cidata}
nodes: [{name: cp1, role: controlplane, index: 11, macs: [\"02:00:00:00:00:01\"]}]
";

fn session(peer: &str) -> SessionStatus {
    let state = "Established".to_owned();
    SessionStatus {
        peer: peer.into(),
        state,
        established: true,
        received: 3,
        sent: 1,
        speaker: false,
        trouble: None,
    }
}

fn node_snapshot(node: &NodePlan) -> NodeSnapshot {
    let neighbors = node.routing.as_ref().map_or(0, |routing| routing.neighbors.len());
    let fabric = (0..neighbors).map(|nth| session(&format!("eth{nth}")));
    let speaker = SessionStatus { speaker: true, ..session("the speaker") };
    let has_speaker = node.routing.as_ref().is_some_and(|routing| routing.workload.is_some());
    let names = node.boot.extensions.iter().map(|it| it.value.rsplit('/').next().unwrap_or_default());
    NodeSnapshot {
        stage: "running".into(),
        ready: true,
        talos: Some(node.talos.value.to_string()),
        kubernetes: Some(KubernetesStatus { ready: true, schedulable: true }),
        extensions: Some(
            names.map(|name| InstalledExtension { name: name.into(), version: "1".into() }).collect(),
        ),
        sessions: Some(fabric.chain(has_speaker.then_some(speaker)).collect()),
        drift: Some(Vec::new()),
        ..NodeSnapshot::default()
    }
}

fn link(node: &NodePlan, nth: usize) -> (String, LinkStatus) {
    let mac = node.ports[nth].mac.as_ref().unwrap().value.to_string();
    let mtu = if nth == 0 { 9000 } else { 1500 };
    let status = LinkStatus {
        r#type: "ether".into(),
        permanent_addr: mac,
        mtu,
        operational_state: "up".into(),
        link_state: true,
        ..LinkStatus::default()
    };
    (format!("eth{nth}"), status)
}

fn address(address: &(impl ToString + ?Sized), link: &str) -> AddressStatus {
    let (address, link_name) = (address.to_string(), link.to_owned());
    AddressStatus { address, link_name, scope: "global".into() }
}

fn detail(node: &NodePlan) -> NodeDetail {
    let links = node.links(plan::ConfigStage::Final);
    let on = |link: &plan::LinkPlan| {
        let name = link.name.to_string();
        link.addresses.iter().map(move |net| address(net, &name)).collect::<Vec<_>>()
    };
    let service = ServiceState { running: true, healthy: None };
    NodeDetail {
        services: Ok([("ext-frr".to_owned(), service)].into()),
        log: Ok(vec!["peer eth0 is up".into()]),
        links: Ok((0..node.ports.len()).map(|nth| link(node, nth)).collect()),
        addresses: Ok(links.iter().flat_map(on).chain([address("100.64.0.7/32", "tailscale0")]).collect()),
        etcd: Some(Ok(EtcdMemberState { leader: true, learner: false, errors: Vec::new() })),
        ..NodeDetail::default()
    }
}

/// Drives with inserted and missing media.
fn drives(inside: &[MediumKind], missing: &[MediumKind]) -> Drives {
    let one = |kind: &MediumKind| {
        let what = match kind {
            MediumKind::Boots => "talos.iso",
            MediumKind::Carries => "sol_cp1-cidata.iso",
            MediumKind::Foreign => "windows.iso",
        };
        DriveMedium { drive: "ide0".into(), what: what.into(), kind: *kind }
    };
    let [inside, missing] = [inside, missing].map(|all| all.iter().map(one).collect());
    Drives { inside, missing, boots_cd: false }
}

fn observations(node: &NodePlan) -> NodeObservations {
    NodeObservations {
        machine: Some(Ok(MachinePower::On)),
        drives: Some(Ok(drives(&[], &[MediumKind::Boots, MediumKind::Carries]))),
        at: Some(NodeAddress {
            address: IpAddr::from([10, 101, 0, 11]),
            stage: AddressStage::Static,
            source: AddressOrigin::File,
        }),
        answer: QueryOutcome::Configured(Box::new(node_snapshot(node))),
        detail: Some(Box::new(detail(node))),
        loopbacks: node.loopback.iter().map(|(net, _)| (net.addr(), Ok(()))).collect(),
    }
}

/// A healthy cluster.
fn healthy(plan: &Plan) -> Observations {
    let names = || plan.nodes.iter().map(|node| node.name.to_string());
    let planes = plan.control_planes().map(|node| node.name.to_string());
    let at_leaf = |peer: &str| Session {
        peer: peer.into(),
        state: SessionState::Established,
        received: 2,
        ..Session::default()
    };
    Observations {
        nodes: plan.nodes.iter().map(|node| (node.name.to_string(), observations(node))).collect(),
        routers: [("leaf1".to_owned(), Ok((1..=9).map(|port| at_leaf(&format!("swp{port}"))).collect()))]
            .into(),
        etcd: Some(Ok(EtcdMembership { told_by: "cp1".into(), names: planes.collect(), alarms: Vec::new() })),
        api_addresses: vec![ApiAddress {
            address: IpAddr::from([10, 101, 0, 10]),
            anycast: false,
            answers: Ok(()),
        }],
        kubernetes_api: Some(Ok(())),
        kubernetes: Some(Ok(names()
            .map(|name| (name, KubeNode { ready: true, ..KubeNode::default() }))
            .collect())),
    }
}

fn report_for(text: &'static str, change: impl FnOnce(&mut Observations)) -> VerifyReport {
    let (cluster, plan) = planned_with(text);
    let mut seen = healthy(&plan);
    change(&mut seen);
    run_checks(&cluster, &plan, &seen)
}

fn verdict<'r>(report: &'r VerifyReport, node: Option<&str>, check: &str) -> &'r CheckResult {
    let checks = match node {
        Some(name) => &report.nodes.iter().find(|node| node.name == name).unwrap().checks,
        None => &report.checks,
    };
    let found = checks.iter().find(|outcome| outcome.check == check);
    &found.unwrap_or_else(|| panic!("{check} does not concern {node:?}: {checks:?}")).verdict
}

fn observations_of<'s>(seen: &'s mut Observations, name: &str) -> &'s mut NodeObservations {
    seen.nodes.get_mut(name).unwrap()
}

fn snapshot_of<'s>(seen: &'s mut Observations, name: &str) -> &'s mut NodeSnapshot {
    match &mut observations_of(seen, name).answer {
        QueryOutcome::Configured(snapshot) | QueryOutcome::Maintenance { snapshot, .. } => snapshot,
        other => panic!("{other:?}"),
    }
}

fn detail_of<'s>(seen: &'s mut Observations, name: &str) -> &'s mut NodeDetail {
    observations_of(seen, name).detail.as_mut().unwrap()
}

fn silence(seen: &mut Observations, name: &str) {
    let node = observations_of(seen, name);
    node.answer = QueryOutcome::Silent { reasons: vec!["10.101.0.11 (static): connection refused".into()] };
    node.detail = None;
}

/// Checks of machines in maintenance mode, which have separate cases.
const EARLY_ALONE: [&str; 2] = ["medium", "first-configuration"];

const CP1: Option<&str> = Some("cp1");
const WK1: Option<&str> = Some("wk1");

#[test]
fn a_cluster_that_matches_its_file_passes_every_check() {
    let report = report_for(FILE, |_| {});

    let all: Vec<_> = report.nodes.iter().flat_map(|node| &node.checks).chain(&report.checks).collect();
    let other: Vec<_> =
        all.iter().filter(|outcome| !matches!(outcome.verdict, CheckResult::Passed { .. })).collect();
    assert_eq!(other, Vec::<&&CheckOutcome>::new());
    assert!(report.is_healthy());
    for check in CHECKS.iter().filter(|check| !EARLY_ALONE.contains(&check.id)) {
        assert!(all.iter().any(|outcome| outcome.check == check.id), "{} concerns no node", check.id);
    }
}

#[test]
fn cluster_checks_are_skipped_only_without_a_majority_of_control_planes() {
    let one = report_for(FILE, |seen| silence(seen, "cp2"));
    let two = report_for(FILE, |seen| {
        silence(seen, "cp2");
        silence(seen, "cp3");
        seen.kubernetes_api = Some(Err(ProbeError::new("no response")));
    });

    assert!(matches!(verdict(&one, None, "etcd"), CheckResult::Passed { .. }));
    let because = RootCause { check: "talos-api", node: Some("cp2".into()) };
    assert_eq!(*verdict(&two, None, "etcd"), CheckResult::Skipped { because: because.clone() });
    assert_eq!(*verdict(&two, None, "kubernetes-api"), CheckResult::Skipped { because: because.clone() });
    assert_eq!(*verdict(&two, WK1, "kubernetes-node"), CheckResult::Skipped { because });
}

#[test]
fn unreachable_routers_and_missing_local_routes_are_unknown() {
    let report = report_for(FILE, |seen| {
        seen.routers.insert("leaf1".into(), Err(ProbeError::new("no answer")));
        observations_of(seen, "cp1").loopbacks[0].1 = Err(ProbeError::new("network is unreachable"));
    });

    let why = |check| match verdict(&report, CP1, check) {
        CheckResult::Unknown { why } => why.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(why("routers"), "cannot query leaf1: no answer");
    assert!(why("loopback").starts_with("this host has no route to "));
    assert!(report.is_healthy());
}

#[test]
fn the_text_has_the_root_cause_and_the_checks_it_skips() {
    let report = report_for(FILE, |seen| {
        silence(seen, "cp2");
        snapshot_of(seen, "wk1").talos = None;
    });
    let installed =
        "cp2: drives unknown: no media are inserted, which is correct once Talos is installed; until then ";

    let text = report.to_text();

    let row = text.lines().find(|line| line.starts_with("cp2")).unwrap();
    assert!(row.trim_end().ends_with("talos-api"), "{row}");
    assert!(text.contains(
        "\n\ncp2: talos-api\n  evidence: 10.101.0.11 (static): connection refused\n  remedy: check on its console"
    ));
    assert!(text.contains("\n  skipped: identity, release, configuration, extensions, service, "), "{text}");
    assert!(text.contains(&format!("\n\n{installed}")), "{text}");
    assert!(text.ends_with("\nwk1: release unknown: the node does not report its release"), "{text}");
}

#[test]
fn the_json_has_every_check_with_its_result() {
    let report = report_for(FILE, |seen| silence(seen, "cp2"));

    let json = serde_json::to_value(&report).unwrap();

    let checks = json["nodes"][1]["checks"].as_array().unwrap();
    assert_eq!(checks[0]["result"], "passed");
    assert_eq!((&checks[2]["check"], &checks[2]["result"]), (&"talos-api".into(), &"failed".into()));
    assert_eq!(checks[3]["caused_by"], serde_json::json!({"check": "talos-api", "node": "cp2"}));
    assert_eq!(json["checks"][0]["check"], "etcd");
    assert_eq!(json["nodes"][1]["role"], "controlplane");
}
