use std::net::IpAddr;

use super::*;
use crate::agent::Session;
use crate::agent::session::State;
use crate::bringup::{Source, Stage};
use crate::kubernetes::KubeNode;
use crate::machines::Drives;
use crate::machines::drives::{Inside, Kind};
use crate::observe::{Answer, ExtensionTold, KubernetesTold, SessionTold, Told};
use crate::plan::tests::planned_with;
use crate::plan::{self, NodePlan};
use crate::talos::resource::{AddressStatus, LinkStatus, PlatformMetadata, RouteStatus};

/// Three control planes that route and a worker in an overlay, with everything that a check looks at.
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

/// Machines that wait, with a medium for them; `cidata` stands for the one that differs.
const EARLY: &str = "\
cluster: {name: sol, id: 101, talos: v1.13.9}
fabric: {routers: [{name: leaf1, asn: 65101}]}
routing: {backend: frr}
boot: {from: cidata}
nodes: [{name: cp1, role: controlplane, index: 11, macs: [\"02:00:00:00:00:01\"]}]
";

fn session(peer: &str) -> SessionTold {
    let state = "Established".to_owned();
    SessionTold {
        peer: peer.into(),
        state,
        established: true,
        received: 3,
        sent: 1,
        speaker: false,
        trouble: None,
    }
}

fn told(node: &NodePlan) -> Told {
    let neighbors = node.routing.as_ref().map_or(0, |routing| routing.neighbors.len());
    let fabric = (0..neighbors).map(|nth| session(&format!("eth{nth}")));
    let speaker = SessionTold { speaker: true, ..session("the speaker") };
    let has_speaker = node.routing.as_ref().is_some_and(|routing| routing.workload.is_some());
    let names = node.boot.extensions.iter().map(|it| it.value.rsplit('/').next().unwrap_or_default());
    Told {
        stage: "running".into(),
        ready: true,
        talos: Some(node.talos.value.to_string()),
        kubernetes: Some(KubernetesTold { ready: true, schedulable: true }),
        extensions: Some(
            names.map(|name| ExtensionTold { name: name.into(), version: "1".into() }).collect(),
        ),
        sessions: Some(fabric.chain(has_speaker.then_some(speaker)).collect()),
        drift: Some(Vec::new()),
        ..Told::default()
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
    AddressStatus { address, link_name, scope: "global".into(), ..AddressStatus::default() }
}

fn detail(node: &NodePlan) -> Detail {
    let links = node.links(plan::Stage::Final);
    let on = |link: &plan::LinkPlan| {
        let name = link.name.to_string();
        link.addresses.iter().map(move |net| address(net, &name)).collect::<Vec<_>>()
    };
    let service = ServiceSeen { running: true, healthy: None };
    Detail {
        services: Ok([("ext-frr".to_owned(), service)].into()),
        log: Ok(vec!["peer eth0 is up".into()]),
        links: Ok((0..node.ports.len()).map(|nth| link(node, nth)).collect()),
        addresses: Ok(links.iter().flat_map(on).chain([address("100.64.0.7/32", "tailscale0")]).collect()),
        etcd: Some(Ok(EtcdSeen { leader: true, learner: false, errors: Vec::new() })),
        ..Detail::default()
    }
}

/// Drives with some of a machine's media in them, and others missing.
fn drives(inside: &[Kind], missing: &[Kind]) -> Drives {
    let one = |kind: &Kind| {
        let what = match kind {
            Kind::Boots => "talos.iso",
            Kind::Carries => "sol_cp1-cidata.iso",
            Kind::Foreign => "windows.iso",
        };
        Inside { drive: "ide0".into(), what: what.into(), kind: *kind }
    };
    let [inside, missing] = [inside, missing].map(|all| all.iter().map(one).collect());
    Drives { inside, missing, boots_cd: false }
}

fn seen(node: &NodePlan) -> NodeSeen {
    NodeSeen {
        machine: Some(Ok(MachineTold::On)),
        drives: Some(Ok(drives(&[], &[Kind::Boots, Kind::Carries]))),
        at: Some(Contact {
            address: IpAddr::from([10, 101, 0, 11]),
            stage: Stage::Static,
            source: Source::File,
        }),
        answer: Answer::Configured(Box::new(told(node))),
        detail: Some(Box::new(detail(node))),
        loopbacks: node.loopback.iter().map(|(net, _)| (net.addr(), Ok(()))).collect(),
    }
}

/// A cluster with which all is well.
fn well(plan: &Plan) -> Seen {
    let names = || plan.nodes.iter().map(|node| node.name.to_string());
    let planes = plan.control_planes().map(|node| node.name.to_string());
    let at_leaf = |peer: &str| Session {
        peer: peer.into(),
        state: State::Established,
        received: 2,
        ..Session::default()
    };
    Seen {
        nodes: plan.nodes.iter().map(|node| (node.name.to_string(), seen(node))).collect(),
        routers: [("leaf1".to_owned(), Ok((1..=9).map(|port| at_leaf(&format!("swp{port}"))).collect()))]
            .into(),
        etcd: Some(Ok(EtcdMembers { told_by: "cp1".into(), names: planes.collect(), alarms: Vec::new() })),
        doors: vec![Door { address: IpAddr::from([10, 101, 0, 10]), anycast: false, answers: Ok(()) }],
        kubernetes_api: Some(Ok(())),
        kubernetes: Some(Ok(names()
            .map(|name| (name, KubeNode { ready: true, ..KubeNode::default() }))
            .collect())),
    }
}

fn judged(text: &'static str, change: impl FnOnce(&mut Seen)) -> Report {
    let (cluster, plan) = planned_with(text);
    let mut seen = well(&plan);
    change(&mut seen);
    judge(&cluster, &plan, &seen)
}

fn verdict<'r>(report: &'r Report, node: Option<&str>, check: &str) -> &'r Verdict {
    let checks = match node {
        Some(name) => &report.nodes.iter().find(|node| node.name == name).unwrap().checks,
        None => &report.checks,
    };
    let found = checks.iter().find(|outcome| outcome.check == check);
    &found.unwrap_or_else(|| panic!("{check} does not concern {node:?}: {checks:?}")).verdict
}

fn node<'s>(seen: &'s mut Seen, name: &str) -> &'s mut NodeSeen {
    seen.nodes.get_mut(name).unwrap()
}

fn of<'s>(seen: &'s mut Seen, name: &str) -> &'s mut Told {
    match &mut node(seen, name).answer {
        Answer::Configured(told) | Answer::Maintenance { told, .. } => told,
        other => panic!("{other:?}"),
    }
}

fn more<'s>(seen: &'s mut Seen, name: &str) -> &'s mut Detail {
    node(seen, name).detail.as_mut().unwrap()
}

fn silence(seen: &mut Seen, name: &str) {
    let node = node(seen, name);
    node.answer = Answer::Silent { reasons: vec!["10.101.0.11 (static): nothing listens there".into()] };
    node.detail = None;
}

/// What is changed, which check that breaks, by which evidence and remedy, and what is then not looked at.
struct Break {
    check: &'static str,
    node: Option<&'static str>,
    change: fn(&mut Seen),
    evidence: &'static str,
    remedy: &'static str,
    consequence: Option<(Option<&'static str>, &'static str)>,
}

/// Checks of machines that wait, which have cases of their own.
const EARLY_ALONE: [&str; 2] = ["medium", "first-configuration"];

const CP1: Option<&str> = Some("cp1");
const WK1: Option<&str> = Some("wk1");

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
        change: |seen| node(seen, "cp1").loopbacks[0].1 = Err("no answer within 5 s".into()),
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
        change: |seen| more(seen, "cp1").etcd = Some(Err("etcd is not running".into())),
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
        change: |seen| seen.doors[0].answers = Err("connection refused".into()),
        evidence: "VIP 10.101.0.10 does not answer: connection refused",
        remedy: "a control plane holds it while etcd has a leader",
        consequence: Some((None, "kubernetes-api")),
    },
    Break {
        check: "kubernetes-api",
        node: None,
        change: |seen| seen.kubernetes_api = Some(Err("it answers with status 500".into())),
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
fn a_cluster_that_is_as_its_file_means_it_holds_in_every_check() {
    let report = judged(FILE, |_| {});

    let all: Vec<_> = report.nodes.iter().flat_map(|node| &node.checks).chain(&report.checks).collect();
    let other: Vec<_> =
        all.iter().filter(|outcome| !matches!(outcome.verdict, Verdict::Holds { .. })).collect();
    assert_eq!(other, Vec::<&&Outcome>::new());
    assert!(report.is_right());
    for check in CHECKS.iter().filter(|check| !EARLY_ALONE.contains(&check.id)) {
        assert!(all.iter().any(|outcome| outcome.check == check.id), "{} concerns nobody", check.id);
    }
}

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

#[test]
fn one_silent_control_plane_does_not_hide_what_two_others_tell_and_two_do() {
    let one = judged(FILE, |seen| silence(seen, "cp2"));
    let two = judged(FILE, |seen| {
        silence(seen, "cp2");
        silence(seen, "cp3");
        seen.kubernetes_api = Some(Err("nobody".into()));
    });

    assert!(matches!(verdict(&one, None, "etcd"), Verdict::Holds { .. }));
    let because = Cause { check: "talos-api", node: Some("cp2".into()) };
    assert_eq!(*verdict(&two, None, "etcd"), Verdict::NotLookedAt { because: because.clone() });
    assert_eq!(*verdict(&two, None, "kubernetes-api"), Verdict::NotLookedAt { because: because.clone() });
    assert_eq!(*verdict(&two, WK1, "kubernetes-node"), Verdict::NotLookedAt { because });
}

/// Makes a node one that waits for its configuration, as its medium has brought it so far.
fn early(seen: &mut Seen, release: Option<&str>) {
    let mut own = std::mem::take(of(seen, "cp1"));
    (own.stage, own.talos, own.drift) = ("maintenance".into(), release.map(str::to_owned), None);
    let pin = crate::talos::peer::Pin::of_key(b"key");
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
fn routers_that_cannot_be_asked_and_networks_without_a_way_are_not_broken() {
    let report = judged(FILE, |seen| {
        seen.routers.insert("leaf1".into(), Err("no answer".into()));
        node(seen, "cp1").loopbacks[0].1 = Err("network is unreachable".into());
    });

    let why = |check| match verdict(&report, CP1, check) {
        Verdict::Unknown { why } => why.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(why("routers"), "leaf1 cannot be asked: no answer");
    assert!(why("loopback").starts_with("this machine has no route to "));
    assert!(report.is_right());
}

#[test]
fn people_are_told_the_first_cause_in_full_and_what_hides_behind_it() {
    let report = judged(FILE, |seen| {
        silence(seen, "cp2");
        of(seen, "wk1").talos = None;
    });
    let installed =
        "cp2: drives is not known: its drives are empty: right if it is installed; if not, it lacks ";

    let text = report.text();

    let row = text.lines().find(|line| line.starts_with("cp2")).unwrap();
    assert!(row.trim_end().ends_with("talos-api"), "{row}");
    assert!(text.contains(
        "\n\ncp2: talos-api\n  seen: 10.101.0.11 (static): nothing listens there\n  remedy: look at its console"
    ));
    assert!(
        text.contains("\n  not looked at for it: identity, release, configuration, extensions, service, "),
        "{text}"
    );
    assert!(text.contains(&format!("\n\n{installed}")), "{text}");
    assert!(text.ends_with("\nwk1: release is not known: it does not tell its release"), "{text}");
}

#[test]
fn json_has_every_check_with_its_verdict() {
    let report = judged(FILE, |seen| silence(seen, "cp2"));

    let json = serde_json::to_value(&report).unwrap();

    let checks = json["nodes"][1]["checks"].as_array().unwrap();
    assert_eq!(checks[0]["verdict"], "holds");
    assert_eq!((&checks[2]["check"], &checks[2]["verdict"]), (&"talos-api".into(), &"broken".into()));
    assert_eq!(checks[3]["because"], serde_json::json!({"check": "talos-api", "node": "cp2"}));
    assert_eq!(json["checks"][0]["check"], "etcd");
    assert_eq!(json["nodes"][1]["role"], "controlplane");
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
