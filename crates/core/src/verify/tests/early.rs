//! Machines in maintenance mode, and their drives.

use super::*;

/// Puts a node into maintenance mode, with the configuration of its boot media.
fn set_maintenance(seen: &mut Observations, release: Option<&str>) {
    let mut own = std::mem::take(snapshot_of(seen, "cp1"));
    (own.stage, own.talos, own.drift) = ("maintenance".into(), release.map(str::to_owned), None);
    let pin = ichor_talos::peer::Pin::of_key(b"key");
    observations_of(seen, "cp1").answer =
        QueryOutcome::Maintenance { fingerprint: pin, snapshot: Box::new(own) };
    observations_of(seen, "cp1").drives = Some(Ok(drives(&[MediumKind::Boots, MediumKind::Carries], &[])));
    let detail = detail_of(seen, "cp1");
    detail.command_line = Ok(Some("talos.platform=nocloud console=tty0".into()));
    let platform = PlatformMetadata { instance_id: "cp1".into(), ..PlatformMetadata::default() };
    detail.platform = Ok(Some(platform));
    detail.documents = Ok(["frr".to_owned()].into());
    detail.links.as_mut().unwrap()[0].1.mtu = 1500;
}

#[test]
fn a_machine_with_boot_media_is_checked_before_installation() {
    let report = report_for(EARLY, |seen| set_maintenance(seen, Some("v1.13.9")));

    for check in
        ["release", "medium", "first-configuration", "service", "links", "addresses", "sessions", "loopback"]
    {
        let verdict = verdict(&report, CP1, check);
        assert!(matches!(verdict, CheckResult::Passed { .. }), "{check}: {verdict:?}");
    }
    let CheckResult::Failed { evidence, remedy } = verdict(&report, CP1, "configured") else {
        panic!("{report:?}")
    };
    assert_eq!(evidence, "the node is in maintenance mode and waits for its configuration");
    assert!(remedy.contains("ichor up"));
    let because = RootCause { check: "configured", node: Some("cp1".into()) };
    assert_eq!(*verdict(&report, CP1, "etcd-member"), CheckResult::Skipped { because });
}

#[test]
fn a_speaker_is_not_expected_before_installation() {
    /// Talos' own BGP, whose sessions are those of Talos 1.14 in maintenance mode.
    const NATIVE: &str = "\
cluster: {name: sol, id: 101, talos: v1.14.1}
fabric: {routers: [{name: leaf1, asn: 65101}]}
routing: {backend: native, workload: {speaker: metallb, metallb: {version: 0.16.1}}}
boot: {from: cidata}
nodes: [{name: cp1, role: controlplane, index: 11, macs: [\"02:00:00:00:00:01\"]}]
";
    let peer = |instance: &str, peer: &str, state: &str| {
        let (instance, peer, state) = (instance.into(), peer.into(), state.into());
        SessionStatus::from_talos(&BgpPeerStatus { instance, peer, state, received: 3, advertised: 1 })
    };
    let sessions = [
        peer("fabric", "eth0", "ESTABLISHED"),
        peer("load-balancer", "fda1:b2c3:d4e5:101::1", "BGP_FSM_ACTIVE"),
    ];
    let early = report_for(NATIVE, |seen| {
        set_maintenance(seen, Some("v1.14.1"));
        snapshot_of(seen, "cp1").sessions = Some(sessions.to_vec());
    });
    let installed = report_for(NATIVE, |seen| {
        let snapshot = snapshot_of(seen, "cp1");
        (snapshot.sessions, snapshot.extensions) = (Some(sessions.to_vec()), None);
    });

    for report in [&early, &installed] {
        let evidence = "eth0 (fabric) is established, 3 prefixes received, 1 sent".to_owned();
        assert_eq!(*verdict(report, CP1, "sessions"), CheckResult::Passed { evidence });
    }
    assert!(early.nodes[0].checks.iter().all(|outcome| outcome.check != "speaker"), "{early:?}");
    let CheckResult::Failed { evidence, remedy } = verdict(&installed, CP1, "speaker") else {
        panic!("{installed:?}")
    };
    assert_eq!(evidence, "fda1:b2c3:d4e5:101::1 (load-balancer) is bgp fsm active");
    assert!(remedy.contains("check that the speaker runs on the node"), "{remedy}");
}

#[test]
fn unread_boot_media_are_the_root_cause() {
    /// A change of the observations.
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
        let report = report_for(EARLY, |seen| {
            set_maintenance(seen, Some("v1.13.9"));
            change(detail_of(seen, "cp1"));
        });

        let CheckResult::Failed { evidence, remedy } = verdict(&report, CP1, "medium") else {
            panic!("{words}")
        };
        assert!(evidence.contains(words), "{evidence}");
        assert!(remedy.contains("ichor media inspect"));
        let because = RootCause { check: "medium", node: Some("cp1".into()) };
        for check in ["first-configuration", "service", "links", "sessions", "configured"] {
            assert_eq!(
                *verdict(&report, CP1, check),
                CheckResult::Skipped { because: because.clone() },
                "{check}"
            );
        }
    }
}

#[test]
fn an_inactive_document_is_the_cause_of_a_missing_service() {
    let report = report_for(EARLY, |seen| {
        set_maintenance(seen, Some("v1.13.9"));
        detail_of(seen, "cp1").documents = Ok(std::collections::BTreeSet::new());
    });

    let CheckResult::Failed { evidence, .. } = verdict(&report, CP1, "first-configuration") else {
        panic!("{report:?}")
    };
    assert_eq!(evidence, "no document for an extension service is active");
    assert!(matches!(verdict(&report, CP1, "service"), CheckResult::Skipped { .. }));
}

#[test]
fn old_releases_report_sessions_in_maintenance_mode_only_by_routes() {
    const OLD: &str = "\
cluster: {name: sol, id: 101, talos: v1.12.4}
fabric: {routers: [{name: leaf1, asn: 65101}]}
routing: {backend: frr}
boot: {from: cidata}
nodes: [{name: cp1, role: controlplane, index: 11, macs: [\"02:00:00:00:00:01\"]}]
";
    let hidden = |seen: &mut Observations| {
        set_maintenance(seen, None);
        snapshot_of(seen, "cp1").sessions = None;
    };
    let nothing = report_for(OLD, hidden);
    let routes = report_for(OLD, |seen| {
        hidden(seen);
        let route = RouteStatus { protocol: "bgp".into(), ..RouteStatus::default() };
        detail_of(seen, "cp1").routes = Ok(vec![route]);
    });

    let CheckResult::Unknown { why } = verdict(&nothing, CP1, "sessions") else { panic!("{nothing:?}") };
    assert!(why.contains("Talos before 1.13 gives no access to its log in maintenance mode"), "{why}");
    assert!(matches!(verdict(&nothing, CP1, "release"), CheckResult::Unknown { .. }));
    assert_eq!(
        *verdict(&routes, CP1, "sessions"),
        CheckResult::Passed { evidence: "BGP routes: default".into() }
    );
}

#[test]
fn media_in_an_installed_machine_are_reported_without_a_failure() {
    let report = report_for(FILE, |seen| {
        observations_of(seen, "cp1").drives =
            Some(Ok(drives(&[MediumKind::Boots, MediumKind::Carries], &[])));
    });

    let CheckResult::Passed { evidence } = verdict(&report, CP1, "drives") else { panic!("{report:?}") };
    assert!(evidence.contains("`ichor machine eject --only cp1` ejects it"), "{evidence}");
}

#[test]
fn missing_media_are_a_failure_only_if_they_are_needed() {
    let silent = |drives: Drives| {
        let report = report_for(FILE, |seen| {
            let cp1 = observations_of(seen, "cp1");
            (cp1.answer, cp1.detail) = (QueryOutcome::Silent { reasons: vec!["no route".into()] }, None);
            cp1.drives = Some(Ok(drives));
        });
        verdict(&report, CP1, "drives").clone()
    };

    let foreign = silent(drives(&[MediumKind::Foreign], &[MediumKind::Boots]));
    let empty = silent(drives(&[], &[MediumKind::Boots]));
    let full = silent(drives(&[MediumKind::Boots, MediumKind::Carries], &[]));

    assert!(
        matches!(foreign, CheckResult::Failed { evidence, .. } if evidence.contains("windows.iso (not inserted by ichor)"))
    );
    assert!(
        matches!(empty, CheckResult::Unknown { why } if why.contains("until then talos.iso (boots Talos) is missing"))
    );
    assert!(matches!(full, CheckResult::Passed { .. }));
}
