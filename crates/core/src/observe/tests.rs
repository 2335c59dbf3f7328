use super::*;
use crate::plan::tests::planned;
use ichor_values::TalosVersion;

fn expected(name: &str, role: Role) -> ExpectedNode {
    let talos = TalosVersion::parse("v1.13.9").unwrap();
    let extensions = vec!["qemu-guest-agent".to_owned()];
    let (image, service) = (Image::Any, Some("ext-frr".into()));
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

/// A node with which all is well.
fn well(role: Role) -> NodeSnapshot {
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

fn problems(told: NodeSnapshot) -> Vec<String> {
    NodeStatusReport::new(&expected("a", Role::Worker), None, QueryOutcome::Configured(Box::new(told)))
        .problems
}

#[test]
fn a_node_that_is_as_the_file_means_it_has_no_problem() {
    for role in [Role::Controlplane, Role::Worker] {
        let report =
            NodeStatusReport::new(&expected("a", role), None, QueryOutcome::Configured(Box::new(well(role))));

        assert_eq!(report.problems, [""; 0]);
    }
}

#[test]
fn whatever_is_not_right_is_told() {
    let well = || well(Role::Worker);
    let trouble = SessionStatus { trouble: Some("no cable; plug it in".into()), ..session("eth1", false) };
    let cases = [
        (NodeSnapshot { stage: "booting".into(), ..well() }, "it is booting"),
        (
            NodeSnapshot { ready: false, unmet: vec!["services: ext-frr not running".into()], ..well() },
            "not ready: services: ext-frr not running",
        ),
        (NodeSnapshot { ready: false, ..well() }, "it is not ready, and does not say why"),
        (
            NodeSnapshot { talos: Some("v1.12.1".into()), ..well() },
            "it runs Talos v1.12.1, and should run v1.13.9",
        ),
        (
            NodeSnapshot { extensions: Some(vec![]), ..well() },
            "its image lacks qemu-guest-agent: it runs another than the file means",
        ),
        (NodeSnapshot { sessions: Some(vec![session("eth1", false)]), ..well() }, "BGP with eth1 is Active"),
        (NodeSnapshot { sessions: Some(vec![trouble]), ..well() }, "BGP with eth1: no cable; plug it in"),
        (NodeSnapshot { sessions: None, ..well() }, "it tells nothing of its BGP sessions"),
        (
            NodeSnapshot { drift: Some(vec!["machine.token".into()]), ..well() },
            "its configuration is another in machine.token: `ichor diff` shows it",
        ),
        (
            NodeSnapshot { kubernetes: Some(KubernetesStatus { ready: true, schedulable: false }), ..well() },
            "it is cordoned",
        ),
        (NodeSnapshot { kubernetes: None, ..well() }, "Kubernetes does not know it"),
        (
            NodeSnapshot { down: vec!["kubelet (Waiting)".into()], ..well() },
            "service kubelet (Waiting): `ichor logs` says why",
        ),
    ];

    for (told, words) in cases {
        assert_eq!(problems(told), [words]);
    }
}

#[test]
fn what_is_told_by_its_cause_is_not_told_again_by_its_service() {
    let unmet = vec!["services: ext-frr not running".to_owned()];
    let told =
        NodeSnapshot { ready: false, unmet, down: vec!["ext-frr (Waiting)".into()], ..well(Role::Worker) };

    assert_eq!(problems(told), ["not ready: services: ext-frr not running"]);
}

#[test]
fn a_node_that_does_not_answer_says_why() {
    let reasons = vec!["10.0.0.1 (static): connection refused".to_owned()];
    let silent = NodeStatusReport::new(&expected("a", Role::Worker), None, QueryOutcome::Silent { reasons });
    let lost =
        NodeStatusReport::new(&expected("b", Role::Worker), None, QueryOutcome::Silent { reasons: vec![] });

    assert_eq!(silent.problems, ["it does not answer: 10.0.0.1 (static): connection refused"]);
    assert!(lost.problems[0].starts_with("nobody knows where it is"));
}

#[test]
fn strangers_in_etcd_and_planes_that_are_missing_are_told() {
    let plane = |name: &str, answer| NodeStatusReport::new(&expected(name, Role::Controlplane), None, answer);
    let nodes = vec![
        plane("a", QueryOutcome::Configured(Box::new(well(Role::Controlplane)))),
        plane("b", QueryOutcome::Silent { reasons: vec![] }),
    ];
    let members = EtcdMemberList { told_by: "a".into(), names: vec!["a".into(), "old".into()] };

    let report = ClusterStatusReport::new("sol".into(), nodes, Some(members));

    assert_eq!(
        report.problems,
        [
            "etcd has a member old that is no control plane of the file: it counts for the quorum",
            "b is no member of etcd, a says"
        ]
    );
    assert!(!report.is_right());
}

#[test]
fn a_table_has_a_row_for_each_node() {
    let differs =
        NodeSnapshot { talos: Some("v1.12.1".into()), drift: Some(vec!["x".into()]), ..well(Role::Worker) };
    let nodes = vec![
        NodeStatusReport::new(
            &expected("cp1", Role::Controlplane),
            None,
            QueryOutcome::Configured(Box::new(well(Role::Controlplane))),
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
            "NODE  ROLE           STAGE    TALOS                 K8S    ETCD   BGP  CONFIG",
            "cp1   control plane  running  v1.13.9               ready  leads  2/2  same",
            "wk1   worker         running  v1.12.1, not v1.13.9  ready         2/2  differs",
            "wk2   worker         silent",
        ]
    );
}

#[test]
fn json_has_what_the_table_has() {
    let report = NodeStatusReport::new(
        &expected("a", Role::Worker),
        None,
        QueryOutcome::Configured(Box::new(well(Role::Worker))),
    );

    let json = serde_json::to_value(&report).unwrap();

    assert_eq!(json["state"], "configured");
    assert_eq!(json["role"], "worker");
    assert_eq!(json["stage"], "running");
    assert_eq!(json["sessions"][0]["peer"], "eth0");
    assert_eq!(json["problems"], serde_json::json!([]));
}

#[test]
fn the_service_that_routes_is_named_by_backend_or_file() {
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
