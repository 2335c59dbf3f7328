use super::*;
use crate::lab::topology::{self, LabSessionEnd, LabSpeaker};
use crate::probe::ProbeError;
use ichor_bgp::agent::status::{AgentStage, PeerRole, SessionStatus};
use ichor_bgp::agent::{AgentStatus, Session};
use ichor_values::{Backend, Issue};

fn blank(name: &str, part: MachineRole) -> LabMachine {
    let (vrfs, dummies, addresses) = (Vec::new(), Vec::new(), Vec::new());
    LabMachine {
        name: name.to_owned(),
        part,
        vrfs,
        dummies,
        addresses,
        ports: Vec::new(),
        gateways: Vec::new(),
    }
}

fn router(name: &str, vrf: Option<&str>) -> LabMachine {
    let vrf = vrf.map(str::to_owned);
    blank(name, MachineRole::Router { conf: String::new(), daemons: String::new(), vrf })
}

fn node(name: &str) -> LabMachine {
    let speaker = LabSpeaker {
        name: "metallb".to_owned(),
        conf: String::new(),
        announces: vec!["203.0.113.7/32".parse().unwrap()],
        refused: Vec::new(),
    };
    blank(
        name,
        MachineRole::Node {
            backend: Backend::Frr,
            agent: String::new(),
            health: None,
            speaker: Some(speaker),
            sources: vec!["10.0.0.11".parse().unwrap()],
        },
    )
}

fn lab_session(one: [&str; 2], other: [&str; 2], bfd: bool) -> topology::LabSession {
    let end = |[name, peer]: [&str; 2]| LabSessionEnd { name: name.to_owned(), peer: peer.to_owned() };
    topology::LabSession { one: end(one), other: end(other), bfd, carries: true, fault: None }
}

fn topology() -> LabTopology {
    let mut fabric = router("leaf2", Some("fabric"));
    fabric.vrfs.push(("fabric".to_owned(), 100));
    LabTopology {
        cluster: "lab".to_owned(),
        machines: vec![router("leaf1", None), fabric, node("cp1")],
        cables: Vec::new(),
        sessions: vec![
            lab_session(["cp1", "eth0"], ["leaf1", "swp1"], true),
            lab_session(["cp1", "eth1"], ["leaf2", "swp1"], false),
            lab_session(["cp1", "10.244.0.2"], ["cp1:metallb", "10.244.0.1"], false),
        ],
        deviations: Vec::new(),
    }
}

fn up(peer: &str) -> Session {
    Session {
        peer: peer.to_owned(),
        state: SessionState::Established,
        uptime: Some(75),
        received: 3,
        sent: 2,
        ..Session::default()
    }
}

fn route(prefix: &str, table: u32, paths: usize) -> InstalledRoute {
    InstalledRoute { prefix: prefix.parse().unwrap(), table, paths }
}

fn leaf(table: u32) -> MachineReport {
    let session = Session { bfd: (table == 254).then_some(true), ..up("swp1") };
    MachineReport {
        daemon: Ok(DaemonReport::Router(vec![session])),
        speaker: None,
        routes: vec![
            route("10.0.0.11/32", table, 1),
            route("203.0.113.7/32", table, 2),
            route("fd00::/64", 7, 1),
        ],
        memory: 30 << 20,
    }
}

fn agent() -> MachineReport {
    let session_status = |session: Session, with| SessionStatus { session, with, trouble: None };
    let sessions = vec![
        session_status(Session { bfd: Some(true), ..up("eth0") }, PeerRole::Fabric),
        session_status(up("eth1"), PeerRole::Fabric),
        session_status(up("10.244.0.2"), PeerRole::Speaker),
    ];
    let status = AgentStatus {
        time: moment(),
        node: "cp1".to_owned(),
        agent: "0.1.0".to_owned(),
        backend: Backend::Frr,
        version: None,
        stage: AgentStage::Running,
        reason: None,
        waiting: Vec::new(),
        sessions,
        anycast: None,
        daemons: Vec::new(),
        reload: None,
        restored: 0,
    };
    MachineReport {
        daemon: Ok(DaemonReport::Node(Box::new(status))),
        speaker: Some(Ok(vec![up("10.244.0.1")])),
        routes: vec![route("0.0.0.0/0", 254, 2), route("::/0", 254, 2)],
        memory: 50 << 20,
    }
}

fn moment() -> Moment {
    Moment::from_unix(1_794_837_331).unwrap()
}

fn status_of(reports: &[MachineReport], cut: &[CutCable]) -> LabStatus {
    LabStatus::new("lab", &topology(), reports, cut.to_vec(), moment())
}

fn all() -> [MachineReport; 3] {
    [leaf(254), leaf(100), agent()]
}

fn agent_status(reports: &mut MachineReport) -> &mut AgentStatus {
    let Ok(DaemonReport::Node(status)) = &mut reports.daemon else { panic!("no node") };
    status
}

/// The cable to leaf1 was cut.
fn after_a_cut() -> LabStatus {
    let mut reports = all();
    reports[0].daemon = Ok(DaemonReport::Router(vec![Session {
        peer: "swp1".to_owned(),
        said: Some("Interface down".to_owned()),
        bfd: Some(false),
        ..Session::default()
    }]));
    reports[0].routes.clear();
    let broken = &mut agent_status(&mut reports[2]).sessions[0];
    broken.session = Session { peer: "eth0".to_owned(), bfd: Some(false), ..Session::default() };
    broken.trouble = Some(Issue::error("", "port eth0 has no carrier").with_help("look at the cable"));
    reports[1].routes[1].paths = 1;
    status_of(&reports, &[CutCable { link: "cp1:fab0".to_owned(), silent: false }])
}

#[test]
fn a_session_is_up_if_both_ends_report_it() {
    let status = status_of(&all(), &[]);

    assert!(status.ok);
    assert_eq!(status.session_counts(), (3, 3));
    assert_eq!(
        status.to_text(),
        "\
lab: 3 of 3 sessions up, 3 of 3 machines ready

SESSION                STATE        UPTIME  RECEIVED  SENT  BFD
────────────────────────────────────────────────────────────────
cp1 eth0 – leaf1 swp1  Established  1m 15s  3         2     up
cp1 eth1 – leaf2 swp1  Established  1m 15s  3         2
cp1 – cp1:metallb      Established  1m 15s  3         2

MACHINE  ROLE    STATE  IPV4 ROUTES  IPV6 ROUTES  MEMORY
─────────────────────────────────────────────────────────
leaf1    router  ready  2            1            30 MiB
leaf2    router  ready  2            1            30 MiB
cp1      node    ready  1            1            50 MiB

PREFIX          ORIGIN  leaf1  leaf2
─────────────────────────────────────
10.0.0.11/32    cp1     1      1
203.0.113.7/32  cp1     2      2
"
    );
}

#[test]
fn a_cut_is_reported_at_both_ends_with_a_remedy() {
    let status = after_a_cut();

    assert!(!status.ok);
    assert_eq!(
        status.to_text(),
        "\
lab: 2 of 3 sessions up, 3 of 3 machines ready, 1 link cut

SESSION                STATE        UPTIME  RECEIVED  SENT  BFD
─────────────────────────────────────────────────────────────────
cp1 eth0 – leaf1 swp1  Idle                 0         0     down
cp1 eth1 – leaf2 swp1  Established  1m 15s  3         2
cp1 – cp1:metallb      Established  1m 15s  3         2

MACHINE  ROLE    STATE  IPV4 ROUTES  IPV6 ROUTES  MEMORY
─────────────────────────────────────────────────────────
leaf1    router  ready  0            0            30 MiB
leaf2    router  ready  2            1            30 MiB
cp1      node    ready  1            1            50 MiB

PREFIX          ORIGIN  leaf1  leaf2
─────────────────────────────────────
10.0.0.11/32    cp1     –      1
203.0.113.7/32  cp1     –      1

cp1:fab0: cut
cp1 eth0 – leaf1 swp1: cp1: port eth0 has no carrier
hint: look at the cable
"
    );
}

#[test]
fn a_cut_and_its_repair_are_reported_with_their_effects() {
    let (intact, cut) = (status_of(&all(), &[]), after_a_cut());
    let words = |before, after| changes(before, after).iter().map(ToString::to_string).collect::<Vec<_>>();

    assert_eq!(
        words(&intact, &cut),
        [
            "cp1:fab0: cut",
            "cp1 eth0 – leaf1 swp1: down: port eth0 has no carrier",
            "leaf1: 10.0.0.11/32: withdrawn",
            "leaf1: 203.0.113.7/32: withdrawn",
            "leaf2: 203.0.113.7/32: 1 path, 2 before",
        ]
    );
    assert_eq!(
        words(&cut, &intact),
        [
            "cp1:fab0: healed",
            "cp1 eth0 – leaf1 swp1: up",
            "leaf1: 10.0.0.11/32: 1 path",
            "leaf1: 203.0.113.7/32: 2 paths",
            "leaf2: 203.0.113.7/32: 2 paths, 1 before",
        ]
    );
    assert_eq!(words(&intact, &intact), Vec::<String>::new());
}

#[test]
fn a_flap_between_two_statuses_is_reported() {
    let mut reports = all();
    for session in &mut agent_status(&mut reports[2]).sessions {
        session.session.uptime = Some(0);
    }

    let log = changes(&status_of(&all(), &[]), &status_of(&reports, &[]));

    assert_eq!(log[1].words, "cp1 eth1 – leaf2 swp1: flapped");
}

#[test]
fn the_states_of_ends_that_disagree_are_both_shown() {
    let mut reports = all();
    reports[1].daemon = Ok(DaemonReport::Router(vec![Session { state: SessionState::Active, ..up("swp1") }]));

    let status = status_of(&reports, &[]);

    assert!(!status.ok);
    assert_eq!(status.sessions[1].state(), "Established / Active");
}

#[test]
fn bfd_counts_only_if_it_is_configured() {
    let mut reports = all();
    let sessions = &mut agent_status(&mut reports[2]).sessions;
    sessions[1].session.bfd = Some(false);

    assert!(status_of(&reports, &[]).ok, "the session on eth1 has no BFD");

    agent_status(&mut reports[2]).sessions[0].session.bfd = Some(false);

    assert!(!status_of(&reports, &[]).ok);
}

#[test]
fn a_daemon_that_does_not_answer_is_not_ready() {
    let mut reports = all();
    reports[0] = MachineReport {
        daemon: Err(ProbeError::new("bgpd does not answer")),
        speaker: None,
        routes: Vec::new(),
        memory: 0,
    };
    reports[2].speaker = Some(Err(ProbeError::new("gobgpd does not answer")));
    agent_status(&mut reports[2]).sessions.remove(1);

    let status = status_of(&reports, &[]);

    let troubles: Vec<_> = status.machines.iter().map(|it| it.trouble.as_deref()).collect();
    assert_eq!(troubles, [Some("bgpd does not answer"), None, Some("gobgpd does not answer")]);
    let wrong: Vec<_> = status.sessions.iter().map(|it| it.problem().unwrap().1).collect();
    assert_eq!(wrong, ["bgpd does not answer", "cp1 has no neighbour eth1", "gobgpd does not answer"]);
    assert_eq!(status.session_counts(), (0, 3));
}

#[test]
fn a_session_expected_to_be_down_is_no_problem() {
    let mut topology = topology();
    topology.sessions[0].fault = Some("both have the same router ID".to_owned());
    let mut reports = all();
    reports[0].daemon = Ok(DaemonReport::Router(vec![Session::default()]));

    let status = LabStatus::new("lab", &topology, &reports, Vec::new(), moment());

    assert!(status.ok);
    assert_eq!(status.session_counts(), (2, 2));
    assert!(
        status.to_text().ends_with("cp1 eth0 – leaf1 swp1: expected down: both have the same router ID\n")
    );
}

#[test]
fn prefixes_of_a_speaker_are_listed_even_without_a_route() {
    let mut reports = all();
    for it in &mut reports {
        it.routes.clear();
    }

    let status = status_of(&reports, &[]);

    assert_eq!(status.prefixes.len(), 1);
    assert_eq!(status.tables().prefixes.1, [["203.0.113.7/32", "cp1", "–", "–"]]);
}

#[test]
fn many_routers_are_counted() {
    let routers: Vec<String> = (0..9).map(|nth| format!("leaf{nth}")).collect();
    let topology = LabTopology {
        machines: routers.iter().map(|name| router(name, None)).collect(),
        sessions: Vec::new(),
        ..topology()
    };
    let reports: Vec<MachineReport> = (0..9)
        .map(|nth| MachineReport { routes: vec![route("10.0.0.0/24", 254, 1 + nth % 2)], ..leaf(254) })
        .collect();

    let status = LabStatus::new("lab", &topology, &reports, Vec::new(), moment());

    assert_eq!(status.tables().prefixes.1, [["10.0.0.0/24", "", "1 to 2 at 9 of 9 routers"]]);
}

#[test]
fn the_status_as_json_has_stable_keys() {
    let json: serde_json::Value = serde_json::from_str(&after_a_cut().to_json()).unwrap();

    assert_eq!(json["ok"], false);
    assert_eq!(json["time"], "2026-11-16T13:55:31Z");
    assert_eq!(json["sessions"][0]["local"]["problem"], "port eth0 has no carrier");
    assert_eq!(json["sessions"][1]["remote"]["state"], "established");
    assert_eq!(json["prefixes"][1]["path_counts"]["leaf2"], 1);
    assert_eq!(json["failed_links"][0], serde_json::json!({"link": "cp1:fab0", "silent": false}));
    assert_eq!(json["machines"][2]["memory_bytes"], 50 << 20);
}

#[test]
fn a_cut_names_the_cable_or_the_ends_of_a_network() {
    let port = |name: &str| topology::LabPort {
        name: name.to_owned(),
        alias: None,
        mac: None,
        mtu: None,
        vrf: None,
        addresses: Vec::new(),
    };
    let mut topology = topology();
    for machine in &mut topology.machines {
        machine.ports = vec![port("a"), topology::LabPort { alias: Some("fab1".to_owned()), ..port("b") }];
    }
    let plug = |machine, port| topology::CableEnd { machine, port };
    let cable = |name: &str, ends: &[topology::CableEnd]| topology::LabCable {
        name: name.to_owned(),
        ends: ends.to_vec(),
    };
    topology.cables = vec![
        cable("leaf1:a", &[plug(0, 0), plug(1, 0)]),
        cable("nodes", &[plug(0, 1), plug(1, 1), plug(2, 1)]),
    ];
    let cut = |out: &[(usize, usize, CableState)]| {
        let carrier = |cable, end| {
            out.iter().find(|it| (it.0, it.1) == (cable, end)).map_or(CableState::Whole, |it| it.2)
        };
        CutCable::find_all(&topology, carrier).iter().map(ToString::to_string).collect::<Vec<_>>()
    };

    assert_eq!(cut(&[]), Vec::<String>::new());
    assert_eq!(cut(&[(0, 1, CableState::Down)]), ["leaf1:a: cut"]);
    assert_eq!(
        cut(&[(0, 0, CableState::Lost), (1, 2, CableState::Down)]),
        ["leaf1:a: cut silently", "cp1:fab1: cut"]
    );
    let all = [0, 1, 2].map(|end| (1, end, CableState::Down));
    assert_eq!(cut(&all), ["nodes: cut"]);
}

#[test]
fn sessions_of_a_virtual_machine_are_known_from_their_remote_ends() {
    let mut topology = topology();
    let guest = topology::LabVm {
        cores: 2,
        memory: 2048,
        disk: 10,
        bus: topology::DiskBus::Sata,
        uefi: false,
        carrier: None,
        sources: vec!["10.0.0.11".parse().unwrap()],
    };
    topology.machines[2] = blank("cp1", MachineRole::Guest(guest));
    topology.sessions.truncate(2);
    let booted = MachineReport {
        daemon: Ok(DaemonReport::Opaque),
        speaker: None,
        routes: Vec::new(),
        memory: 1 << 30,
    };
    let mut reports = [leaf(254), leaf(100), booted];

    let status = LabStatus::new("lab", &topology, &reports, Vec::new(), moment());

    assert!(status.ok);
    assert_eq!(status.sessions[0].row()[1..5], ["Established", "1m 15s", "2", "3"]);
    assert_eq!(status.prefixes[0].of, ["cp1"]);

    reports[0].daemon = Ok(DaemonReport::Router(vec![Session { state: SessionState::Active, ..up("swp1") }]));
    let status = LabStatus::new("lab", &topology, &reports, Vec::new(), moment());

    assert!(!status.ok);
    assert_eq!(status.sessions[0].state(), "Active");
}
