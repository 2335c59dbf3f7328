//! Machines that wait for their configuration, and what is in their drives.

use super::*;

/// Makes a node one that waits for its configuration, as its medium has brought it so far.
fn early(seen: &mut Observations, release: Option<&str>) {
    let mut own = std::mem::take(of(seen, "cp1"));
    (own.stage, own.talos, own.drift) = ("maintenance".into(), release.map(str::to_owned), None);
    let pin = ichor_talos::peer::Pin::of_key(b"key");
    node(seen, "cp1").answer = Answer::Maintenance { fingerprint: pin, told: Box::new(own) };
    node(seen, "cp1").drives = Some(Ok(drives(&[Kind::Boots, Kind::Carries], &[])));
    let detail = more(seen, "cp1");
    detail.command_line = Ok(Some("talos.platform=nocloud console=tty0".into()));
    let platform = PlatformMetadata { instance_id: "cp1".into(), ..PlatformMetadata::default() };
    detail.platform = Ok(Some(platform));
    detail.documents = Ok(["frr".to_owned()].into());
    detail.links.as_mut().unwrap()[0].1.mtu = 1500;
}

#[test]
fn a_machine_with_its_medium_is_judged_before_it_is_installed() {
    let report = judged(EARLY, |seen| early(seen, Some("v1.13.9")));

    for check in
        ["release", "medium", "first-configuration", "service", "links", "addresses", "sessions", "loopback"]
    {
        let verdict = verdict(&report, CP1, check);
        assert!(matches!(verdict, CheckResult::Holds { .. }), "{check}: {verdict:?}");
    }
    let CheckResult::Broken { evidence, remedy } = verdict(&report, CP1, "configured") else {
        panic!("{report:?}")
    };
    assert_eq!(evidence, "the node is in maintenance mode and waits for its configuration");
    assert!(remedy.contains("ichor up"));
    let because = RootCause { check: "configured", node: Some("cp1".into()) };
    assert_eq!(*verdict(&report, CP1, "etcd-member"), CheckResult::NotLookedAt { because });
}

#[test]
fn a_medium_that_was_not_read_is_the_cause_of_all_that_follows() {
    /// What is done to what was seen.
    type Mutation = fn(&mut NodeDetail);
    let cases: [(Mutation, &str); 3] = [
        (|it| it.platform = Ok(None), "the platform metadata name no boot media"),
        (
            |it| it.platform.as_mut().unwrap().as_mut().unwrap().instance_id = "cp2".into(),
            "the node read the boot media of another node, cp2",
        ),
        (|it| it.command_line = Ok(Some("talos.platform=metal".into())), "an image for the platform metal"),
    ];
    for (change, words) in cases {
        let report = judged(EARLY, |seen| {
            early(seen, Some("v1.13.9"));
            change(more(seen, "cp1"));
        });

        let CheckResult::Broken { evidence, remedy } = verdict(&report, CP1, "medium") else {
            panic!("{words}")
        };
        assert!(evidence.contains(words), "{evidence}");
        assert!(remedy.contains("ichor media inspect"));
        let because = RootCause { check: "medium", node: Some("cp1".into()) };
        for check in ["first-configuration", "service", "links", "sessions", "configured"] {
            assert_eq!(
                *verdict(&report, CP1, check),
                CheckResult::NotLookedAt { because: because.clone() },
                "{check}"
            );
        }
    }
}

#[test]
fn a_document_that_is_not_in_force_is_told_before_the_service_that_waits_for_it() {
    let report = judged(EARLY, |seen| {
        early(seen, Some("v1.13.9"));
        more(seen, "cp1").documents = Ok(std::collections::BTreeSet::new());
    });

    let CheckResult::Broken { evidence, .. } = verdict(&report, CP1, "first-configuration") else {
        panic!("{report:?}")
    };
    assert_eq!(evidence, "no document for an extension service is active");
    assert!(matches!(verdict(&report, CP1, "service"), CheckResult::NotLookedAt { .. }));
}

#[test]
fn what_old_releases_do_not_show_before_installation_is_not_known_unless_routes_tell() {
    const OLD: &str = "\
cluster: {name: sol, id: 101, talos: v1.12.4}
fabric: {routers: [{name: leaf1, asn: 65101}]}
routing: {backend: frr}
boot: {from: cidata}
nodes: [{name: cp1, role: controlplane, index: 11, macs: [\"02:00:00:00:00:01\"]}]
";
    let hidden = |seen: &mut Observations| {
        early(seen, None);
        of(seen, "cp1").sessions = None;
    };
    let nothing = judged(OLD, hidden);
    let routes = judged(OLD, |seen| {
        hidden(seen);
        let route = RouteStatus { protocol: "bgp".into(), ..RouteStatus::default() };
        more(seen, "cp1").routes = Ok(vec![route]);
    });

    let CheckResult::Unknown { why } = verdict(&nothing, CP1, "sessions") else { panic!("{nothing:?}") };
    assert!(why.contains("Talos before 1.13 gives no access to its log in maintenance mode"), "{why}");
    assert!(matches!(verdict(&nothing, CP1, "release"), CheckResult::Unknown { .. }));
    assert_eq!(
        *verdict(&routes, CP1, "sessions"),
        CheckResult::Holds { evidence: "BGP routes: default".into() }
    );
}

#[test]
fn media_that_are_left_in_an_installed_machine_are_named_and_not_held_against_it() {
    let report = judged(FILE, |seen| {
        node(seen, "cp1").drives = Some(Ok(drives(&[Kind::Boots, Kind::Carries], &[])));
    });

    let CheckResult::Holds { evidence } = verdict(&report, CP1, "drives") else { panic!("{report:?}") };
    assert!(evidence.contains("`ichor machine eject --only cp1` ejects it"), "{evidence}");
}

#[test]
fn media_that_are_not_in_are_held_against_a_machine_only_where_it_needs_them() {
    let silent = |drives: Drives| {
        let report = judged(FILE, |seen| {
            let cp1 = node(seen, "cp1");
            (cp1.answer, cp1.detail) = (Answer::Silent { reasons: vec!["no route".into()] }, None);
            cp1.drives = Some(Ok(drives));
        });
        verdict(&report, CP1, "drives").clone()
    };

    let foreign = silent(drives(&[Kind::Foreign], &[Kind::Boots]));
    let empty = silent(drives(&[], &[Kind::Boots]));
    let full = silent(drives(&[Kind::Boots, Kind::Carries], &[]));

    assert!(
        matches!(foreign, CheckResult::Broken { evidence, .. } if evidence.contains("windows.iso (not inserted by ichor)"))
    );
    assert!(
        matches!(empty, CheckResult::Unknown { why } if why.contains("until then talos.iso (boots Talos) is missing"))
    );
    assert!(matches!(full, CheckResult::Holds { .. }));
}
