//! Every check, broken by one change.

use super::*;

/// A change, the check that it fails with evidence and remedy, and the skipped checks.
struct BreakCase {
    check: &'static str,
    node: Option<&'static str>,
    change: fn(&mut Observations),
    evidence: &'static str,
    remedy: &'static str,
    consequence: Option<(Option<&'static str>, &'static str)>,
}

const BREAKS: &[BreakCase] = &[
    BreakCase {
        check: "machine",
        node: CP1,
        change: |seen| observations_of(seen, "cp1").machine = Some(Ok(MachinePower::Off)),
        evidence: "the machine is powered off",
        remedy: "ichor machine start --only cp1",
        consequence: Some((CP1, "talos-api")),
    },
    BreakCase {
        check: "drives",
        node: CP1,
        change: |seen| {
            let full = drives(&[MediumKind::Boots], &[MediumKind::Carries]);
            observations_of(seen, "cp1").drives = Some(Ok(Drives { boots_cd: true, ..full }));
        },
        evidence: "ide0 has talos.iso (boots Talos); the machine boots it before its disk",
        remedy: "ichor machine eject --only cp1",
        consequence: None,
    },
    BreakCase {
        check: "talos-api",
        node: CP1,
        change: |seen| silence(seen, "cp1"),
        evidence: "10.101.0.11 (static): connection refused",
        remedy: "check on its console",
        consequence: Some((CP1, "identity")),
    },
    BreakCase {
        check: "identity",
        node: CP1,
        change: |seen| {
            observations_of(seen, "cp1").answer =
                QueryOutcome::Other { reason: "another machine is there".into() }
        },
        evidence: "another machine is there",
        remedy: "correct its `macs`",
        consequence: Some((CP1, "release")),
    },
    BreakCase {
        check: "release",
        node: CP1,
        change: |seen| snapshot_of(seen, "cp1").talos = Some("v1.12.1".into()),
        evidence: "the node runs Talos v1.12.1, expected v1.13.9",
        remedy: "upgrade it to v1.13.9",
        consequence: None,
    },
    BreakCase {
        check: "configuration",
        node: CP1,
        change: |seen| snapshot_of(seen, "cp1").drift = Some(vec!["machine.token".into()]),
        evidence: "the configuration differs in machine.token",
        remedy: "`ichor up` applies the one of the cluster file",
        consequence: None,
    },
    BreakCase {
        check: "extensions",
        node: CP1,
        change: |seen| snapshot_of(seen, "cp1").extensions = Some(Vec::new()),
        evidence: "the image lacks ",
        remedy: "`ichor upgrade` installs the image of the cluster file",
        consequence: Some((CP1, "service")),
    },
    BreakCase {
        check: "service",
        node: CP1,
        change: |seen| {
            // Talos lists the services that run.
            detail_of(seen, "cp1").services = Ok(BTreeMap::new());
            snapshot_of(seen, "cp1").down = vec!["ext-frr (Waiting)".into()];
        },
        evidence: "ext-frr (Waiting) is not running; last log lines:\npeer eth0 is up",
        remedy: "`ichor logs cp1 ext-frr`",
        consequence: Some((CP1, "sessions")),
    },
    BreakCase {
        check: "links",
        node: CP1,
        change: |seen| {
            let port = &mut detail_of(seen, "cp1").links.as_mut().unwrap()[0].1;
            (port.operational_state, port.link_state) = ("down".into(), false);
        },
        evidence: "eth0 (02:00:00:00:00:01) is down",
        remedy: "cable",
        consequence: Some((CP1, "addresses")),
    },
    BreakCase {
        check: "links",
        node: CP1,
        change: |seen| detail_of(seen, "cp1").links.as_mut().unwrap()[0].1.mtu = 1500,
        evidence: "eth0 (02:00:00:00:00:01) has MTU 1500, expected 9000",
        remedy: "raise the MTU there",
        consequence: Some((CP1, "sessions")),
    },
    BreakCase {
        check: "links",
        node: CP1,
        change: |seen| drop(detail_of(seen, "cp1").links.as_mut().unwrap().remove(1)),
        evidence: "eth1 (02:00:00:00:00:02) not found; the machine has eth0 (02:00:00:00:00:01)",
        remedy: "correct `macs`",
        consequence: Some((CP1, "addresses")),
    },
    BreakCase {
        check: "addresses",
        node: CP1,
        change: |seen| detail_of(seen, "cp1").addresses.as_mut().unwrap().retain(|it| it.link_name != "lo"),
        evidence: "on lo; present ",
        remedy: "`ichor logs cp1 --dmesg`",
        consequence: Some((CP1, "etcd-member")),
    },
    BreakCase {
        check: "sessions",
        node: CP1,
        change: |seen| {
            let down = &mut snapshot_of(seen, "cp1").sessions.as_mut().unwrap()[1];
            (down.established, down.state) = (false, "Active".into());
        },
        evidence: "eth1 is Active",
        remedy: "check that the router has a session with AS",
        consequence: Some((CP1, "loopback")),
    },
    BreakCase {
        check: "sessions",
        node: CP1,
        change: |seen| drop(snapshot_of(seen, "cp1").sessions.as_mut().unwrap().remove(0)),
        evidence: "the node reports 1 sessions with the fabric, expected 2",
        remedy: "another configuration",
        consequence: Some((CP1, "loopback")),
    },
    BreakCase {
        check: "routers",
        node: CP1,
        change: |seen| {
            seen.routers.get_mut("leaf1").unwrap().as_mut().unwrap()[0].state = SessionState::Active;
        },
        evidence: "leaf1 reports swp1 as Active",
        remedy: "compare the configuration of leaf1 with fabric/leaf1",
        consequence: Some((CP1, "loopback")),
    },
    BreakCase {
        check: "routers",
        node: CP1,
        change: |seen| seen.routers.get_mut("leaf1").unwrap().as_mut().unwrap()[0].received = 0,
        evidence: "accepts no prefixes",
        remedy: "an import filter of leaf1",
        consequence: Some((CP1, "loopback")),
    },
    BreakCase {
        check: "routers",
        node: CP1,
        change: |seen| drop(seen.routers.get_mut("leaf1").unwrap().as_mut().unwrap().remove(0)),
        evidence: "leaf1 has no session with swp1",
        remedy: "fabric/leaf1",
        consequence: Some((CP1, "loopback")),
    },
    BreakCase {
        check: "loopback",
        node: CP1,
        change: |seen| {
            observations_of(seen, "cp1").loopbacks[0].1 = Err(ProbeError::new("no response within 5 s"));
        },
        evidence: "does not answer: no response within 5 s",
        remedy: "`ichor prove`",
        consequence: None,
    },
    BreakCase {
        check: "configured",
        node: CP1,
        change: |seen| snapshot_of(seen, "cp1").stage = "installing".into(),
        evidence: "the node is installing",
        remedy: "wait",
        consequence: Some((CP1, "etcd-member")),
    },
    BreakCase {
        check: "overlay",
        node: WK1,
        change: |seen| {
            detail_of(seen, "wk1").addresses.as_mut().unwrap().retain(|it| it.link_name != "tailscale0");
        },
        evidence: "tailscale0 has no address",
        remedy: "ichor logs wk1 ext-tailscale",
        consequence: Some((WK1, "kubernetes-node")),
    },
    BreakCase {
        check: "etcd-member",
        node: CP1,
        change: |seen| detail_of(seen, "cp1").etcd = Some(Err(ProbeError::new("etcd is not running"))),
        evidence: "etcd is not running",
        remedy: "`ichor up` bootstraps etcd",
        consequence: Some((CP1, "ready")),
    },
    BreakCase {
        check: "etcd",
        node: None,
        change: |seen| seen.etcd.as_mut().unwrap().as_mut().unwrap().names.push("old".into()),
        evidence: "cp1 lists members that are not in the cluster file and count towards the quorum: old",
        remedy: "remove its member",
        consequence: Some((None, "api-address")),
    },
    BreakCase {
        check: "etcd",
        node: None,
        change: |seen| {
            seen.etcd.as_mut().unwrap().as_mut().unwrap().alarms.push("NOSPACE of member 1".into());
        },
        evidence: "NOSPACE",
        remedy: "defragment",
        consequence: Some((None, "kubernetes-api")),
    },
    BreakCase {
        check: "api-address",
        node: None,
        change: |seen| seen.api_addresses[0].answers = Err(ProbeError::new("connection refused")),
        evidence: "VIP 10.101.0.10 does not answer: connection refused",
        remedy: "one control plane holds it while etcd has a leader",
        consequence: Some((None, "kubernetes-api")),
    },
    BreakCase {
        check: "kubernetes-api",
        node: None,
        change: |seen| seen.kubernetes_api = Some(Err(ProbeError::new("it answers with status 500"))),
        evidence: "it answers with status 500",
        remedy: "kubelet",
        consequence: Some((WK1, "kubernetes-node")),
    },
    BreakCase {
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
    BreakCase {
        check: "kubernetes-node",
        node: WK1,
        change: |seen| {
            let all = seen.kubernetes.as_mut().unwrap().as_mut().unwrap();
            all.get_mut("wk1").unwrap().unschedulable = true;
        },
        evidence: "the Kubernetes node is cordoned",
        remedy: "kubectl uncordon wk1",
        consequence: Some((WK1, "speaker")),
    },
    BreakCase {
        check: "speaker",
        node: WK1,
        change: |seen| {
            let down = snapshot_of(seen, "wk1").sessions.as_mut().unwrap().last_mut().unwrap();
            (down.established, down.state) = (false, "Idle".into());
        },
        evidence: "the speaker is Idle",
        remedy: "manifests",
        consequence: None,
    },
    BreakCase {
        check: "ready",
        node: WK1,
        change: |seen| snapshot_of(seen, "wk1").diagnostics = vec!["address overlap".into()],
        evidence: "address overlap",
        remedy: "ichor logs wk1",
        consequence: None,
    },
];

#[test]
fn a_failed_check_is_reported_with_its_remedy_and_skips_its_consequences() {
    for case in BREAKS {
        let report = report_for(FILE, case.change);

        match verdict(&report, case.node, case.check) {
            CheckResult::Failed { evidence, remedy } => {
                assert!(evidence.contains(case.evidence), "{}: {evidence}", case.check);
                assert!(remedy.contains(case.remedy), "{}: {remedy}", case.check);
            }
            other => panic!("{}: {other:?}", case.check),
        }
        assert!(!report.is_healthy());
        if let Some((node, check)) = case.consequence {
            let because = RootCause { check: case.check, node: case.node.map(str::to_owned) };
            assert_eq!(
                *verdict(&report, node, check),
                CheckResult::Skipped { because },
                "{} by {}",
                check,
                case.check
            );
        }
    }
}

#[test]
fn every_check_fails_in_a_case_and_needs_only_earlier_checks() {
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
