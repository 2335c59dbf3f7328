use super::*;
use crate::lab::scene::{self, LabSessionEnd, LabSpeaker};
use crate::probe::ProbeError;
use ichor_bgp::agent::status::{AgentStage, PeerRole, SessionStatus};
use ichor_bgp::agent::{AgentStatus, Session};
use ichor_values::{Backend, Issue};

fn blank(name: &str, part: Part) -> Machine {
    let (vrfs, dummies, addresses) = (Vec::new(), Vec::new(), Vec::new());
    Machine { name: name.to_owned(), part, vrfs, dummies, addresses, ports: Vec::new(), gateways: Vec::new() }
}

fn router(name: &str, vrf: Option<&str>) -> Machine {
    let vrf = vrf.map(str::to_owned);
    blank(name, Part::Router { conf: String::new(), daemons: String::new(), vrf })
}

fn node(name: &str) -> Machine {
    let speaker = LabSpeaker {
        name: "metallb".to_owned(),
        conf: String::new(),
        announces: vec!["203.0.113.7/32".parse().unwrap()],
        refused: Vec::new(),
    };
    blank(
        name,
        Part::Node {
            backend: Backend::Frr,
            agent: String::new(),
            health: None,
            speaker: Some(speaker),
            sources: vec!["10.0.0.11".parse().unwrap()],
        },
    )
}

fn meant(one: [&str; 2], other: [&str; 2], bfd: bool) -> scene::Session {
    let end = |[name, peer]: [&str; 2]| LabSessionEnd { name: name.to_owned(), peer: peer.to_owned() };
    scene::Session { one: end(one), other: end(other), bfd, carries: true, fault: None }
}

fn scene() -> Scene {
    let mut fabric = router("leaf2", Some("fabric"));
    fabric.vrfs.push(("fabric".to_owned(), 100));
    Scene {
        cluster: "lab".to_owned(),
        machines: vec![router("leaf1", None), fabric, node("cp1")],
        cables: Vec::new(),
        sessions: vec![
            meant(["cp1", "eth0"], ["leaf1", "swp1"], true),
            meant(["cp1", "eth1"], ["leaf2", "swp1"], false),
            meant(["cp1", "10.244.0.2"], ["cp1:metallb", "10.244.0.1"], false),
        ],
        differs: Vec::new(),
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

fn route(prefix: &str, table: u32, paths: usize) -> Route {
    Route { prefix: prefix.parse().unwrap(), table, paths }
}

fn leaf(table: u32) -> Heard {
    let session = Session { bfd: (table == 254).then_some(true), ..up("swp1") };
    Heard {
        said: Ok(Said::Router(vec![session])),
        speaker: None,
        routes: vec![
            route("10.0.0.11/32", table, 1),
            route("203.0.113.7/32", table, 2),
            route("fd00::/64", 7, 1),
        ],
        memory: 30 << 20,
    }
}

fn agent() -> Heard {
    let told = |session: Session, with| SessionStatus { session, with, trouble: None };
    let sessions = vec![
        told(Session { bfd: Some(true), ..up("eth0") }, PeerRole::Fabric),
        told(up("eth1"), PeerRole::Fabric),
        told(up("10.244.0.2"), PeerRole::Speaker),
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
    Heard {
        said: Ok(Said::Node(Box::new(status))),
        speaker: Some(Ok(vec![up("10.244.0.1")])),
        routes: vec![route("0.0.0.0/0", 254, 2), route("::/0", 254, 2)],
        memory: 50 << 20,
    }
}

fn moment() -> Moment {
    Moment::from_unix(1_794_837_331).unwrap()
}

fn view(heard: &[Heard], cut: &[Cut]) -> LabStatus {
    LabStatus::of("lab", &scene(), heard, cut.to_vec(), moment())
}

fn all() -> [Heard; 3] {
    [leaf(254), leaf(100), agent()]
}

fn status(heard: &mut Heard) -> &mut AgentStatus {
    let Ok(Said::Node(status)) = &mut heard.said else { panic!("no node") };
    status
}

/// The cable to leaf1 was cut.
fn after_a_cut() -> LabStatus {
    let mut heard = all();
    heard[0].said = Ok(Said::Router(vec![Session {
        peer: "swp1".to_owned(),
        said: Some("Interface down".to_owned()),
        bfd: Some(false),
        ..Session::default()
    }]));
    heard[0].routes.clear();
    let told = &mut status(&mut heard[2]).sessions[0];
    told.session = Session { peer: "eth0".to_owned(), bfd: Some(false), ..Session::default() };
    told.trouble = Some(Issue::error("", "port eth0 has no carrier").with_help("look at the cable"));
    heard[1].routes[1].paths = 1;
    view(&heard, &[Cut { link: "cp1:fab0".to_owned(), silent: false }])
}

#[test]
fn all_stands_where_both_ends_say_so() {
    let view = view(&all(), &[]);

    assert!(view.stands);
    assert_eq!(view.standing(), (3, 3));
    assert_eq!(
        view.text(),
        "\
lab: 3 of 3 sessions stand, 3 of 3 machines ready

session                state        for     in  out  BFD
─────────────────────────────────────────────────────────
cp1 eth0 – leaf1 swp1  Established  1m 15s  3   2    up
cp1 eth1 – leaf2 swp1  Established  1m 15s  3   2
cp1 – cp1:metallb      Established  1m 15s  3   2

machine  is      state  IPv4  IPv6  memory
───────────────────────────────────────────
leaf1    router  ready  2     1     30 MiB
leaf2    router  ready  2     1     30 MiB
cp1      node    ready  1     1     50 MiB

prefix          of   leaf1  leaf2
──────────────────────────────────
10.0.0.11/32    cp1  1      1
203.0.113.7/32  cp1  2      2
"
    );
}

#[test]
fn a_cut_is_seen_from_both_ends_with_what_helps() {
    let view = after_a_cut();

    assert!(!view.stands);
    assert_eq!(
        view.text(),
        "\
lab: 2 of 3 sessions stand, 3 of 3 machines ready, 1 link cut

session                state        for     in  out  BFD
──────────────────────────────────────────────────────────
cp1 eth0 – leaf1 swp1  Idle                 0   0    down
cp1 eth1 – leaf2 swp1  Established  1m 15s  3   2
cp1 – cp1:metallb      Established  1m 15s  3   2

machine  is      state  IPv4  IPv6  memory
───────────────────────────────────────────
leaf1    router  ready  0     0     30 MiB
leaf2    router  ready  2     1     30 MiB
cp1      node    ready  1     1     50 MiB

prefix          of   leaf1  leaf2
──────────────────────────────────
10.0.0.11/32    cp1  –      1
203.0.113.7/32  cp1  –      1

cp1:fab0: cut
cp1 eth0 – leaf1 swp1: cp1: port eth0 has no carrier
hint: look at the cable
"
    );
}

#[test]
fn a_cut_and_its_healing_are_told_with_their_effects() {
    let (whole, cut) = (view(&all(), &[]), after_a_cut());
    let words = |before, after| changes(before, after).iter().map(ToString::to_string).collect::<Vec<_>>();

    assert_eq!(
        words(&whole, &cut),
        [
            "cp1:fab0: cut",
            "cp1 eth0 – leaf1 swp1: down: port eth0 has no carrier",
            "leaf1: 10.0.0.11/32: gone",
            "leaf1: 203.0.113.7/32: gone",
            "leaf2: 203.0.113.7/32: 1 path, of 2",
        ]
    );
    assert_eq!(
        words(&cut, &whole),
        [
            "cp1:fab0: healed",
            "cp1 eth0 – leaf1 swp1: up",
            "leaf1: 10.0.0.11/32: there, by 1 path",
            "leaf1: 203.0.113.7/32: there, by 2 paths",
            "leaf2: 203.0.113.7/32: 2 paths, 1 before",
        ]
    );
    assert_eq!(words(&whole, &whole), Vec::<String>::new());
}

#[test]
fn a_session_that_was_away_between_two_looks_is_told() {
    let mut heard = all();
    for session in &mut status(&mut heard[2]).sessions {
        session.session.uptime = Some(0);
    }

    let told = changes(&view(&all(), &[]), &view(&heard, &[]));

    assert_eq!(told[1].words, "cp1 eth1 – leaf2 swp1: went down, and is up again");
}

#[test]
fn ends_that_do_not_agree_are_both_told() {
    let mut heard = all();
    heard[1].said = Ok(Said::Router(vec![Session { state: SessionState::Active, ..up("swp1") }]));

    let view = view(&heard, &[]);

    assert!(!view.stands);
    assert_eq!(view.sessions[1].state(), "Established / Active");
}

#[test]
fn bfd_counts_where_it_is_meant() {
    let mut heard = all();
    let sessions = &mut status(&mut heard[2]).sessions;
    sessions[1].session.bfd = Some(false);

    assert!(view(&heard, &[]).stands, "nobody meant it to watch eth1");

    status(&mut heard[2]).sessions[0].session.bfd = Some(false);

    assert!(!view(&heard, &[]).stands);
}

#[test]
fn what_says_nothing_is_not_ready() {
    let mut heard = all();
    heard[0] = Heard {
        said: Err(ProbeError::new("bgpd does not answer")),
        speaker: None,
        routes: Vec::new(),
        memory: 0,
    };
    heard[2].speaker = Some(Err(ProbeError::new("gobgpd does not answer")));
    status(&mut heard[2]).sessions.remove(1);

    let view = view(&heard, &[]);

    let troubles: Vec<_> = view.machines.iter().map(|it| it.trouble.as_deref()).collect();
    assert_eq!(troubles, [Some("bgpd does not answer"), None, Some("gobgpd does not answer")]);
    let wrong: Vec<_> = view.sessions.iter().map(|it| it.trouble().unwrap().1).collect();
    assert_eq!(wrong, ["bgpd does not answer", "cp1 knows no neighbour eth1", "gobgpd does not answer"]);
    assert_eq!(view.standing(), (0, 3));
}

#[test]
fn a_session_that_shall_not_stand_is_missed_by_nobody() {
    let mut scene = scene();
    scene.sessions[0].fault = Some("both have the same router ID".to_owned());
    let mut heard = all();
    heard[0].said = Ok(Said::Router(vec![Session::default()]));

    let view = LabStatus::of("lab", &scene, &heard, Vec::new(), moment());

    assert!(view.stands);
    assert_eq!(view.standing(), (2, 2));
    assert!(view.text().ends_with("cp1 eth0 – leaf1 swp1: shall not stand: both have the same router ID\n"));
}

#[test]
fn what_a_speaker_announces_is_told_though_nobody_heard_it() {
    let mut heard = all();
    for it in &mut heard {
        it.routes.clear();
    }

    let view = view(&heard, &[]);

    assert_eq!(view.prefixes.len(), 1);
    assert_eq!(view.tables().prefixes.1, [["203.0.113.7/32", "cp1", "–", "–"]]);
}

#[test]
fn many_routers_are_counted() {
    let routers: Vec<String> = (0..9).map(|nth| format!("leaf{nth}")).collect();
    let scene = Scene {
        machines: routers.iter().map(|name| router(name, None)).collect(),
        sessions: Vec::new(),
        ..scene()
    };
    let heard: Vec<Heard> = (0..9)
        .map(|nth| Heard { routes: vec![route("10.0.0.0/24", 254, 1 + nth % 2)], ..leaf(254) })
        .collect();

    let view = LabStatus::of("lab", &scene, &heard, Vec::new(), moment());

    assert_eq!(view.tables().prefixes.1, [["10.0.0.0/24", "", "1 to 2 at 9 of 9 routers"]]);
}

#[test]
fn machines_read_it_as_json() {
    let json: serde_json::Value = serde_json::from_str(&after_a_cut().json()).unwrap();

    assert_eq!(json["ok"], false);
    assert_eq!(json["time"], "2026-11-16T13:55:31Z");
    assert_eq!(json["sessions"][0]["local"]["problem"], "port eth0 has no carrier");
    assert_eq!(json["sessions"][1]["remote"]["state"], "established");
    assert_eq!(json["prefixes"][1]["paths"]["leaf2"], 1);
    assert_eq!(json["failed_links"][0], serde_json::json!({"link": "cp1:fab0", "silent": false}));
    assert_eq!(json["machines"][2]["memory_bytes"], 50 << 20);
}

#[test]
fn a_cable_is_cut_at_either_end_and_a_network_plug_by_plug() {
    let port = |name: &str| scene::Port {
        name: name.to_owned(),
        alias: None,
        mac: None,
        mtu: None,
        vrf: None,
        addresses: Vec::new(),
    };
    let mut scene = scene();
    for machine in &mut scene.machines {
        machine.ports = vec![port("a"), scene::Port { alias: Some("fab1".to_owned()), ..port("b") }];
    }
    let plug = |machine, port| scene::Plug { machine, port };
    let cable =
        |name: &str, ends: &[scene::Plug]| scene::Cable { name: name.to_owned(), ends: ends.to_vec() };
    scene.cables = vec![
        cable("leaf1:a", &[plug(0, 0), plug(1, 0)]),
        cable("nodes", &[plug(0, 1), plug(1, 1), plug(2, 1)]),
    ];
    let cut = |out: &[(usize, usize, Carrier)]| {
        let carrier =
            |cable, end| out.iter().find(|it| (it.0, it.1) == (cable, end)).map_or(Carrier::Whole, |it| it.2);
        Cut::all(&scene, carrier).iter().map(ToString::to_string).collect::<Vec<_>>()
    };

    assert_eq!(cut(&[]), Vec::<String>::new());
    assert_eq!(cut(&[(0, 1, Carrier::Down)]), ["leaf1:a: cut"]);
    assert_eq!(
        cut(&[(0, 0, Carrier::Lost), (1, 2, Carrier::Down)]),
        ["leaf1:a: cut silently", "cp1:fab1: cut"]
    );
    let all = [0, 1, 2].map(|end| (1, end, Carrier::Down));
    assert_eq!(cut(&all), ["nodes: cut"]);
}

#[test]
fn a_virtual_machine_is_seen_from_the_other_ends() {
    let mut scene = scene();
    let guest = scene::Guest {
        cores: 2,
        memory: 2048,
        disk: 10,
        bus: scene::Bus::Sata,
        uefi: false,
        carrier: None,
        sources: vec!["10.0.0.11".parse().unwrap()],
    };
    scene.machines[2] = blank("cp1", Part::Guest(guest));
    scene.sessions.truncate(2);
    let booted = Heard { said: Ok(Said::Here), speaker: None, routes: Vec::new(), memory: 1 << 30 };
    let mut heard = [leaf(254), leaf(100), booted];

    let view = LabStatus::of("lab", &scene, &heard, Vec::new(), moment());

    assert!(view.stands);
    assert_eq!(view.sessions[0].row()[1..5], ["Established", "1m 15s", "2", "3"]);
    assert_eq!(view.prefixes[0].of, ["cp1"]);

    heard[0].said = Ok(Said::Router(vec![Session { state: SessionState::Active, ..up("swp1") }]));
    let view = LabStatus::of("lab", &scene, &heard, Vec::new(), moment());

    assert!(!view.stands);
    assert_eq!(view.sessions[0].state(), "Active");
}
