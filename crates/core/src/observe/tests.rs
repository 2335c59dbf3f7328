use super::*;
use crate::plan::tests::planned;
use ichor_values::TalosVersion;

fn expected(name: &str, role: Role) -> ExpectedNode {
    let talos = TalosVersion::parse("v1.13.9").unwrap();
    let extensions = vec!["qemu-guest-agent".to_owned()];
    let (image, service) = (ExpectedImage::Any, Some("ext-frr".into()));
    ExpectedNode { name: name.into(), role, talos, extensions, image, service, sessions: true }
}

fn session(peer: &str, established: bool) -> SessionStatus {
    let state = if established { "Established" } else { "Active" }.to_owned();
    SessionStatus {
        peer: peer.into(),
        state,
        established,
        received: 3,
        sent: 1,
        speaker: false,
        trouble: None,
    }
}

/// A healthy node.
fn healthy(role: Role) -> NodeSnapshot {
    NodeSnapshot {
        stage: "running".into(),
        ready: true,
        talos: Some("v1.13.9".into()),
        kubernetes: Some(KubernetesStatus { ready: true, schedulable: true }),
        etcd: (role == Role::Controlplane).then(|| EtcdMemberSummary {
            leads: true,
            learner: false,
            errors: vec![],
        }),
        extensions: Some(vec![InstalledExtension { name: "qemu-guest-agent".into(), version: "9".into() }]),
        sessions: Some(vec![session("eth0", true), session("eth1", true)]),
        drift: Some(vec![]),
        ..NodeSnapshot::default()
    }
}

fn problems(snapshot: NodeSnapshot) -> Vec<String> {
    NodeStatusReport::new(&expected("a", Role::Worker), None, QueryOutcome::Configured(Box::new(snapshot)))
        .problems
}

#[test]
fn a_node_that_matches_the_file_has_no_problem() {
    for role in [Role::Controlplane, Role::Worker] {
        let report = NodeStatusReport::new(
            &expected("a", role),
            None,
            QueryOutcome::Configured(Box::new(healthy(role))),
        );

        assert_eq!(report.problems, [""; 0]);
    }
}

#[test]
fn every_problem_is_reported() {
    let healthy = || healthy(Role::Worker);
    let trouble = SessionStatus { trouble: Some("no cable; plug it in".into()), ..session("eth1", false) };
    let cases = [
        (NodeSnapshot { stage: "booting".into(), ..healthy() }, "the node is booting"),
        (
            NodeSnapshot { ready: false, unmet: vec!["services: ext-frr not running".into()], ..healthy() },
            "not ready: services: ext-frr not running",
        ),
        (NodeSnapshot { ready: false, ..healthy() }, "the node is not ready and reports no reason"),
        (
            NodeSnapshot { talos: Some("v1.12.1".into()), ..healthy() },
            "the node runs Talos v1.12.1, expected v1.13.9",
        ),
        (
            NodeSnapshot { extensions: Some(vec![]), ..healthy() },
            "the image lacks qemu-guest-agent: it is not the image of the cluster file",
        ),
        (
            NodeSnapshot { sessions: Some(vec![session("eth1", false)]), ..healthy() },
            "BGP with eth1 is Active",
        ),
        (NodeSnapshot { sessions: Some(vec![trouble]), ..healthy() }, "BGP with eth1: no cable; plug it in"),
        (NodeSnapshot { sessions: None, ..healthy() }, "the node does not report its BGP sessions"),
        (
            NodeSnapshot { drift: Some(vec!["machine.token".into()]), ..healthy() },
            "the configuration differs in machine.token: see `ichor diff`",
        ),
        (
            NodeSnapshot {
                kubernetes: Some(KubernetesStatus { ready: true, schedulable: false }),
                ..healthy()
            },
            "the Kubernetes node is cordoned",
        ),
        (NodeSnapshot { kubernetes: None, ..healthy() }, "the node is not registered in Kubernetes"),
        (
            NodeSnapshot { down: vec!["kubelet (Waiting)".into()], ..healthy() },
            "service kubelet (Waiting): see `ichor logs`",
        ),
    ];

    for (snapshot, words) in cases {
        assert_eq!(problems(snapshot), [words]);
    }
}

#[test]
fn a_service_named_by_an_unmet_condition_is_reported_once() {
    let unmet = vec!["services: ext-frr not running".to_owned()];
    let snapshot =
        NodeSnapshot { ready: false, unmet, down: vec!["ext-frr (Waiting)".into()], ..healthy(Role::Worker) };

    assert_eq!(problems(snapshot), ["not ready: services: ext-frr not running"]);
}

#[test]
fn a_node_that_does_not_answer_is_reported_with_the_reason() {
    let reasons = vec!["10.0.0.1 (static): connection refused".to_owned()];
    let silent = NodeStatusReport::new(&expected("a", Role::Worker), None, QueryOutcome::Silent { reasons });
    let lost =
        NodeStatusReport::new(&expected("b", Role::Worker), None, QueryOutcome::Silent { reasons: vec![] });

    assert_eq!(silent.problems, ["the node does not answer: 10.0.0.1 (static): connection refused"]);
    assert!(lost.problems[0].starts_with("the node's address is unknown"));
}

#[test]
fn unknown_and_missing_members_of_etcd_are_reported() {
    let plane = |name: &str, answer| NodeStatusReport::new(&expected(name, Role::Controlplane), None, answer);
    let nodes = vec![
        plane("a", QueryOutcome::Configured(Box::new(healthy(Role::Controlplane)))),
        plane("b", QueryOutcome::Silent { reasons: vec![] }),
    ];
    let members = EtcdMemberList { told_by: "a".into(), names: vec!["a".into(), "old".into()] };

    let report = ClusterStatusReport::new("sol".into(), nodes, Some(members));

    assert_eq!(
        report.problems,
        [
            "etcd has a member old that is not in the cluster file and counts towards the quorum",
            "a reports that b is not a member of etcd"
        ]
    );
    assert!(!report.is_healthy());
}

#[test]
fn the_table_has_a_row_for_each_node() {
    let differs = NodeSnapshot {
        talos: Some("v1.12.1".into()),
        drift: Some(vec!["x".into()]),
        ..healthy(Role::Worker)
    };
    let nodes = vec![
        NodeStatusReport::new(
            &expected("cp1", Role::Controlplane),
            None,
            QueryOutcome::Configured(Box::new(healthy(Role::Controlplane))),
        ),
        NodeStatusReport::new(
            &expected("wk1", Role::Worker),
            None,
            QueryOutcome::Configured(Box::new(differs)),
        ),
        NodeStatusReport::new(&expected("wk2", Role::Worker), None, QueryOutcome::Silent { reasons: vec![] }),
    ];

    let table = ClusterStatusReport::new("sol".into(), nodes, None).table();

    let lines: Vec<_> = table.lines().map(str::trim_end).collect();
    assert_eq!(
        [lines[0], lines[2], lines[3], lines[4]],
        [
            "NODE  ROLE           STAGE        TALOS                 K8S    ETCD    BGP  CONFIG",
            "cp1   control plane  running      v1.13.9               ready  leader  2/2  same",
            "wk1   worker         running      v1.12.1, not v1.13.9  ready          2/2  differs",
            "wk2   worker         unreachable",
        ]
    );
}

#[test]
fn the_report_as_json_has_the_table_values() {
    let report = NodeStatusReport::new(
        &expected("a", Role::Worker),
        None,
        QueryOutcome::Configured(Box::new(healthy(Role::Worker))),
    );

    let json = serde_json::to_value(&report).unwrap();

    assert_eq!(json["state"], "configured");
    assert_eq!(json["role"], "worker");
    assert_eq!(json["stage"], "running");
    assert_eq!(json["sessions"][0]["peer"], "eth0");
    assert_eq!(json["problems"], serde_json::json!([]));
}

#[test]
fn the_routing_service_is_named_after_the_backend_or_the_setting() {
    let service = |routing: &'static str| {
        let text = format!(
            "{{cluster: {{name: sol, id: 101, talos: v1.14.0}}, routing: {{asn: 65001, {routing}}}, nodes: [{{name: a, index: 11}}]}}"
        );
        routing_service(&planned(text.leak()).nodes[0])
    };

    assert_eq!(service("backend: frr").as_deref(), Some("ext-frr"));
    assert_eq!(service("backend: bird").as_deref(), Some("ext-bird"));
    assert_eq!(service("backend: frr, service: routes").as_deref(), Some("ext-routes"));
    assert_eq!(service("backend: native"), None);
}
