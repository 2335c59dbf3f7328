//! Every check, broken by one change.

use super::*;

/// What is changed, which check that breaks, by which evidence and remedy, and what is then not looked at.
struct Break {
    check: &'static str,
    node: Option<&'static str>,
    change: fn(&mut Seen),
    evidence: &'static str,
    remedy: &'static str,
    consequence: Option<(Option<&'static str>, &'static str)>,
}

const BREAKS: &[Break] = &[
    Break {
        check: "machine",
        node: CP1,
        change: |seen| node(seen, "cp1").machine = Some(Ok(MachineTold::Off)),
        evidence: "it is switched off",
        remedy: "ichor machine start --only cp1",
        consequence: Some((CP1, "talos-api")),
    },
    Break {
        check: "drives",
        node: CP1,
        change: |seen| {
            let full = drives(&[Kind::Boots], &[Kind::Carries]);
            node(seen, "cp1").drives = Some(Ok(Drives { boots_cd: true, ..full }));
        },
        evidence: "ide0 has talos.iso with Talos; it boots that before its disk",
        remedy: "ichor machine eject --only cp1",
        consequence: None,
    },
    Break {
        check: "talos-api",
        node: CP1,
        change: |seen| silence(seen, "cp1"),
        evidence: "10.101.0.11 (static): nothing listens there",
        remedy: "look at its console",
        consequence: Some((CP1, "identity")),
    },
    Break {
        check: "identity",
        node: CP1,
        change: |seen| node(seen, "cp1").answer = Answer::Other { reason: "another machine is there".into() },
        evidence: "another machine is there",
        remedy: "correct its `macs`",
        consequence: Some((CP1, "release")),
    },
    Break {
        check: "release",
        node: CP1,
        change: |seen| of(seen, "cp1").talos = Some("v1.12.1".into()),
        evidence: "it runs Talos v1.12.1, and should run v1.13.9",
        remedy: "upgrade it to v1.13.9",
        consequence: None,
    },
    Break {
        check: "configuration",
        node: CP1,
        change: |seen| of(seen, "cp1").drift = Some(vec!["machine.token".into()]),
        evidence: "it is another in machine.token",
        remedy: "`ichor up` brings the one of the file",
        consequence: None,
    },
    Break {
        check: "extensions",
        node: CP1,
        change: |seen| of(seen, "cp1").extensions = Some(Vec::new()),
        evidence: "its image lacks ",
        remedy: "`ichor upgrade` installs the image of the file",
        consequence: Some((CP1, "service")),
    },
    Break {
        check: "service",
        node: CP1,
        change: |seen| {
            let stopped = ServiceSeen { running: false, healthy: None };
            more(seen, "cp1").services = Ok([("ext-frr".to_owned(), stopped)].into());
            of(seen, "cp1").down = vec!["ext-frr (Waiting)".into()];
        },
        evidence: "ext-frr (Waiting) does not run; it last wrote:\npeer eth0 is up",
        remedy: "`ichor logs cp1 ext-frr`",
        consequence: Some((CP1, "sessions")),
    },
    Break {
        check: "links",
        node: CP1,
        change: |seen| {
            let port = &mut more(seen, "cp1").links.as_mut().unwrap()[0].1;
            (port.operational_state, port.link_state) = ("down".into(), false);
        },
        evidence: "eth0 (02:00:00:00:00:01) is down",
        remedy: "cable",
        consequence: Some((CP1, "addresses")),
    },
    Break {
        check: "links",
        node: CP1,
        change: |seen| more(seen, "cp1").links.as_mut().unwrap()[0].1.mtu = 1500,
        evidence: "eth0 (02:00:00:00:00:01) has an MTU of 1500, and should have 9000",
        remedy: "raise the MTU there",
        consequence: Some((CP1, "sessions")),
    },
    Break {
        check: "links",
        node: CP1,
        change: |seen| drop(more(seen, "cp1").links.as_mut().unwrap().remove(1)),
        evidence: "eth1 (02:00:00:00:00:02) is not there; it has eth0 (02:00:00:00:00:01)",
        remedy: "correct `macs`",
        consequence: Some((CP1, "addresses")),
    },
    Break {
        check: "addresses",
        node: CP1,
        change: |seen| more(seen, "cp1").addresses.as_mut().unwrap().retain(|it| it.link_name != "lo"),
        evidence: "of lo; it has ",
        remedy: "`ichor logs cp1 --dmesg`",
        consequence: Some((CP1, "etcd-member")),
    },
    Break {
        check: "sessions",
        node: CP1,
        change: |seen| {
            let down = &mut of(seen, "cp1").sessions.as_mut().unwrap()[1];
            (down.established, down.state) = (false, "Active".into());
        },
        evidence: "eth1 is Active",
        remedy: "see that the router has a session with AS",
        consequence: Some((CP1, "loopback")),
    },
    Break {
        check: "sessions",
        node: CP1,
        change: |seen| drop(of(seen, "cp1").sessions.as_mut().unwrap().remove(0)),
        evidence: "it tells of 1 sessions with the fabric, and should have 2",
        remedy: "another configuration",
        consequence: Some((CP1, "loopback")),
    },
    Break {
        check: "routers",
        node: CP1,
        change: |seen| seen.routers.get_mut("leaf1").unwrap().as_mut().unwrap()[0].state = State::Active,
        evidence: "leaf1 sees swp1 as Active",
        remedy: "compare leaf1 with what `ichor build` writes",
        consequence: Some((CP1, "loopback")),
    },
    Break {
        check: "routers",
        node: CP1,
        change: |seen| seen.routers.get_mut("leaf1").unwrap().as_mut().unwrap()[0].received = 0,
        evidence: "takes no prefix",
        remedy: "a filter of leaf1",
        consequence: Some((CP1, "loopback")),
    },
    Break {
        check: "routers",
        node: CP1,
        change: |seen| drop(seen.routers.get_mut("leaf1").unwrap().as_mut().unwrap().remove(0)),
        evidence: "leaf1 has no session with swp1",
        remedy: "fabric/leaf1",
        consequence: Some((CP1, "loopback")),
    },
    Break {
        check: "loopback",
        node: CP1,
        change: |seen| node(seen, "cp1").loopbacks[0].1 = Err(ProbeError::new("no answer within 5 s")),
        evidence: "does not answer: no answer within 5 s",
        remedy: "`ichor prove`",
        consequence: None,
    },
    Break {
        check: "configured",
        node: CP1,
        change: |seen| of(seen, "cp1").stage = "installing".into(),
        evidence: "it is installing",
        remedy: "wait",
        consequence: Some((CP1, "etcd-member")),
    },
    Break {
        check: "overlay",
        node: WK1,
        change: |seen| {
            more(seen, "wk1").addresses.as_mut().unwrap().retain(|it| it.link_name != "tailscale0");
        },
        evidence: "tailscale0 has no address",
        remedy: "ichor logs wk1 ext-tailscale",
        consequence: Some((WK1, "kubernetes-node")),
    },
    Break {
        check: "etcd-member",
        node: CP1,
        change: |seen| more(seen, "cp1").etcd = Some(Err(ProbeError::new("etcd is not running"))),
        evidence: "etcd is not running",
        remedy: "`ichor up` bootstraps etcd",
        consequence: Some((CP1, "ready")),
    },
    Break {
        check: "etcd",
        node: None,
        change: |seen| seen.etcd.as_mut().unwrap().as_mut().unwrap().names.push("old".into()),
        evidence: "cp1 counts old, which the file does not have",
        remedy: "remove its member",
        consequence: Some((None, "api-address")),
    },
    Break {
        check: "etcd",
        node: None,
        change: |seen| {
            seen.etcd.as_mut().unwrap().as_mut().unwrap().alarms.push("NOSPACE of member 1".into());
        },
        evidence: "NOSPACE",
        remedy: "defragment",
        consequence: Some((None, "kubernetes-api")),
    },
    Break {
        check: "api-address",
        node: None,
        change: |seen| seen.doors[0].answers = Err(ProbeError::new("connection refused")),
        evidence: "VIP 10.101.0.10 does not answer: connection refused",
        remedy: "a control plane holds it while etcd has a leader",
        consequence: Some((None, "kubernetes-api")),
    },
    Break {
        check: "kubernetes-api",
        node: None,
        change: |seen| seen.kubernetes_api = Some(Err(ProbeError::new("it answers with status 500"))),
        evidence: "it answers with status 500",
        remedy: "kubelet",
        consequence: Some((WK1, "kubernetes-node")),
    },
    Break {
        check: "cni",
        node: WK1,
        change: |seen| {
            let all = seen.kubernetes.as_mut().unwrap().as_mut().unwrap();
            let network = Some("cni plugin not initialized".to_owned());
            all.insert("wk1".into(), KubeNode { network, ..KubeNode::default() });
        },
        evidence: "cni plugin not initialized",
        remedy: "kube-flannel",
        consequence: Some((WK1, "kubernetes-node")),
    },
    Break {
        check: "kubernetes-node",
        node: WK1,
        change: |seen| {
            let all = seen.kubernetes.as_mut().unwrap().as_mut().unwrap();
            all.get_mut("wk1").unwrap().unschedulable = true;
        },
        evidence: "it is cordoned",
        remedy: "kubectl uncordon wk1",
        consequence: Some((WK1, "speaker")),
    },
    Break {
        check: "speaker",
        node: WK1,
        change: |seen| {
            let down = of(seen, "wk1").sessions.as_mut().unwrap().last_mut().unwrap();
            (down.established, down.state) = (false, "Idle".into());
        },
        evidence: "the speaker is Idle",
        remedy: "manifests",
        consequence: None,
    },
    Break {
        check: "ready",
        node: WK1,
        change: |seen| of(seen, "wk1").diagnostics = vec!["address overlap".into()],
        evidence: "address overlap",
        remedy: "ichor logs wk1",
        consequence: None,
    },
];

#[test]
fn what_is_broken_is_told_with_its_remedy_and_without_its_consequences() {
    for case in BREAKS {
        let report = judged(FILE, case.change);

        match verdict(&report, case.node, case.check) {
            Verdict::Broken { evidence, remedy } => {
                assert!(evidence.contains(case.evidence), "{}: {evidence}", case.check);
                assert!(remedy.contains(case.remedy), "{}: {remedy}", case.check);
            }
            other => panic!("{}: {other:?}", case.check),
        }
        assert!(!report.is_right());
        if let Some((node, check)) = case.consequence {
            let because = Cause { check: case.check, node: case.node.map(str::to_owned) };
            assert_eq!(
                *verdict(&report, node, check),
                Verdict::NotLookedAt { because },
                "{} by {}",
                check,
                case.check
            );
        }
    }
}

#[test]
fn every_check_is_broken_by_a_case_and_needs_only_what_comes_before_it() {
    for (nth, check) in CHECKS.iter().enumerate() {
        assert!(
            EARLY_ALONE.contains(&check.id) || BREAKS.iter().any(|case| case.check == check.id),
            "nothing breaks {}",
            check.id
        );
        for need in check.needs {
            assert!(CHECKS[..nth].iter().any(|earlier| earlier.id == *need), "{} needs {need}", check.id);
        }
    }
}
