//! Machines that wait for their configuration, and what is in their drives.

use super::*;

/// Makes a node one that waits for its configuration, as its medium has brought it so far.
fn early(seen: &mut Seen, release: Option<&str>) {
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
        assert!(matches!(verdict, Verdict::Holds { .. }), "{check}: {verdict:?}");
    }
    let Verdict::Broken { evidence, remedy } = verdict(&report, CP1, "configured") else {
        panic!("{report:?}")
    };
    assert_eq!(evidence, "it waits for its configuration");
    assert!(remedy.contains("ichor up"));
    let because = Cause { check: "configured", node: Some("cp1".into()) };
    assert_eq!(*verdict(&report, CP1, "etcd-member"), Verdict::NotLookedAt { because });
}

#[test]
fn a_medium_that_was_not_read_is_the_cause_of_all_that_follows() {
    /// What is done to what was seen.
    type Blow = fn(&mut Detail);
    let cases: [(Blow, &str); 3] = [
        (|it| it.platform = Ok(None), "its platform tells nothing of a medium"),
        (
            |it| it.platform.as_mut().unwrap().as_mut().unwrap().instance_id = "cp2".into(),
            "it read the medium of another node, cp2",
        ),
        (|it| it.command_line = Ok(Some("talos.platform=metal".into())), "an image for the platform metal"),
    ];
    for (change, words) in cases {
        let report = judged(EARLY, |seen| {
            early(seen, Some("v1.13.9"));
            change(more(seen, "cp1"));
        });

        let Verdict::Broken { evidence, remedy } = verdict(&report, CP1, "medium") else { panic!("{words}") };
        assert!(evidence.contains(words), "{evidence}");
        assert!(remedy.contains("ichor media inspect"));
        let because = Cause { check: "medium", node: Some("cp1".into()) };
        for check in ["first-configuration", "service", "links", "sessions", "configured"] {
            assert_eq!(
                *verdict(&report, CP1, check),
                Verdict::NotLookedAt { because: because.clone() },
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

    let Verdict::Broken { evidence, .. } = verdict(&report, CP1, "first-configuration") else {
        panic!("{report:?}")
    };
    assert_eq!(evidence, "no document for a service is in force");
    assert!(matches!(verdict(&report, CP1, "service"), Verdict::NotLookedAt { .. }));
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
    let hidden = |seen: &mut Seen| {
        early(seen, None);
        of(seen, "cp1").sessions = None;
    };
    let nothing = judged(OLD, hidden);
    let routes = judged(OLD, |seen| {
        hidden(seen);
        let route = RouteStatus { protocol: "bgp".into(), ..RouteStatus::default() };
        more(seen, "cp1").routes = Ok(vec![route]);
    });

    let Verdict::Unknown { why } = verdict(&nothing, CP1, "sessions") else { panic!("{nothing:?}") };
    assert!(why.contains("its log is closed before it is configured on Talos before 1.13"), "{why}");
    assert!(matches!(verdict(&nothing, CP1, "release"), Verdict::Unknown { .. }));
    assert_eq!(
        *verdict(&routes, CP1, "sessions"),
        Verdict::Holds { evidence: "routes came by BGP: default".into() }
    );
}

#[test]
fn media_that_are_left_in_an_installed_machine_are_named_and_not_held_against_it() {
    let report = judged(FILE, |seen| {
        node(seen, "cp1").drives = Some(Ok(drives(&[Kind::Boots, Kind::Carries], &[])));
    });

    let Verdict::Holds { evidence } = verdict(&report, CP1, "drives") else { panic!("{report:?}") };
    assert!(evidence.contains("which `ichor machine eject --only cp1` takes out"), "{evidence}");
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
        matches!(foreign, Verdict::Broken { evidence, .. } if evidence.contains("windows.iso of somebody else"))
    );
    assert!(matches!(empty, Verdict::Unknown { why } if why.contains("if not, it lacks talos.iso")));
    assert!(matches!(full, Verdict::Holds { .. }));
}
