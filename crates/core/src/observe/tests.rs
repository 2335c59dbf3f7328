use super::*;
use crate::plan::tests::planned;
use ichor_values::TalosVersion;

fn expected(name: &str, role: Role) -> Expected {
    let talos = TalosVersion::parse("v1.13.9").unwrap();
    let extensions = vec!["qemu-guest-agent".to_owned()];
    let (image, service) = (Image::Any, Some("ext-frr".into()));
    Expected { name: name.into(), role, talos, extensions, image, service, sessions: true }
}

fn session(peer: &str, established: bool) -> SessionTold {
    let state = if established { "Established" } else { "Active" }.to_owned();
    SessionTold { peer: peer.into(), state, established, received: 3, sent: 1, speaker: false, trouble: None }
}

/// A node with which all is well.
fn well(role: Role) -> Told {
    Told {
        stage: "running".into(),
        ready: true,
        talos: Some("v1.13.9".into()),
        kubernetes: Some(KubernetesTold { ready: true, schedulable: true }),
        etcd: (role == Role::Controlplane).then(|| EtcdTold { leads: true, learner: false, errors: vec![] }),
        extensions: Some(vec![ExtensionTold { name: "qemu-guest-agent".into(), version: "9".into() }]),
        sessions: Some(vec![session("eth0", true), session("eth1", true)]),
        drift: Some(vec![]),
        ..Told::default()
    }
}

fn problems(told: Told) -> Vec<String> {
    NodeReport::new(&expected("a", Role::Worker), None, Answer::Configured(Box::new(told))).problems
}

#[test]
fn a_node_that_is_as_the_file_means_it_has_no_problem() {
    for role in [Role::Controlplane, Role::Worker] {
        let report = NodeReport::new(&expected("a", role), None, Answer::Configured(Box::new(well(role))));

        assert_eq!(report.problems, [""; 0]);
    }
}

#[test]
fn whatever_is_not_right_is_told() {
    let well = || well(Role::Worker);
    let trouble = SessionTold { trouble: Some("no cable; plug it in".into()), ..session("eth1", false) };
    let cases = [
        (Told { stage: "booting".into(), ..well() }, "it is booting"),
        (
            Told { ready: false, unmet: vec!["services: ext-frr not running".into()], ..well() },
            "not ready: services: ext-frr not running",
        ),
        (Told { ready: false, ..well() }, "it is not ready, and does not say why"),
        (Told { talos: Some("v1.12.1".into()), ..well() }, "it runs Talos v1.12.1, and should run v1.13.9"),
        (
            Told { extensions: Some(vec![]), ..well() },
            "its image lacks qemu-guest-agent: it runs another than the file means",
        ),
        (Told { sessions: Some(vec![session("eth1", false)]), ..well() }, "BGP with eth1 is Active"),
        (Told { sessions: Some(vec![trouble]), ..well() }, "BGP with eth1: no cable; plug it in"),
        (Told { sessions: None, ..well() }, "it tells nothing of its BGP sessions"),
        (
            Told { drift: Some(vec!["machine.token".into()]), ..well() },
            "its configuration is another in machine.token: `ichor diff` shows it",
        ),
        (
            Told { kubernetes: Some(KubernetesTold { ready: true, schedulable: false }), ..well() },
            "it is cordoned",
        ),
        (Told { kubernetes: None, ..well() }, "Kubernetes does not know it"),
        (
            Told { down: vec!["kubelet (Waiting)".into()], ..well() },
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
    let told = Told { ready: false, unmet, down: vec!["ext-frr (Waiting)".into()], ..well(Role::Worker) };

    assert_eq!(problems(told), ["not ready: services: ext-frr not running"]);
}

#[test]
fn a_node_that_does_not_answer_says_why() {
    let reasons = vec!["10.0.0.1 (static): nothing listens there".to_owned()];
    let silent = NodeReport::new(&expected("a", Role::Worker), None, Answer::Silent { reasons });
    let lost = NodeReport::new(&expected("b", Role::Worker), None, Answer::Silent { reasons: vec![] });

    assert_eq!(silent.problems, ["it does not answer: 10.0.0.1 (static): nothing listens there"]);
    assert!(lost.problems[0].starts_with("nobody knows where it is"));
}

#[test]
fn strangers_in_etcd_and_planes_that_are_missing_are_told() {
    let plane = |name: &str, answer| NodeReport::new(&expected(name, Role::Controlplane), None, answer);
    let nodes = vec![
        plane("a", Answer::Configured(Box::new(well(Role::Controlplane)))),
        plane("b", Answer::Silent { reasons: vec![] }),
    ];
    let members = Members { told_by: "a".into(), names: vec!["a".into(), "old".into()] };

    let report = Report::new("sol".into(), nodes, Some(members));

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
    let differs = Told { talos: Some("v1.12.1".into()), drift: Some(vec!["x".into()]), ..well(Role::Worker) };
    let nodes = vec![
        NodeReport::new(
            &expected("cp1", Role::Controlplane),
            None,
            Answer::Configured(Box::new(well(Role::Controlplane))),
        ),
        NodeReport::new(&expected("wk1", Role::Worker), None, Answer::Configured(Box::new(differs))),
        NodeReport::new(&expected("wk2", Role::Worker), None, Answer::Silent { reasons: vec![] }),
    ];

    let table = Report::new("sol".into(), nodes, None).table();

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
    let report =
        NodeReport::new(&expected("a", Role::Worker), None, Answer::Configured(Box::new(well(Role::Worker))));

    let json = serde_json::to_value(&report).unwrap();

    assert_eq!(json["answer"], "configured");
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
