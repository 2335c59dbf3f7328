use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use ichor_bgp::agent::session::SessionState;
use ichor_core::lab::status::{CutCable, LabMachineStatus, LabSessionStatus, PrefixStatus, SessionEndStatus};
use ichor_core::lab::topology::{CableEnd, LabCable, LabMachine, LabPort, LabTopology, MachineRole};
use ichor_values::Moment;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;

fn machine(name: &str, part: MachineRole, ports: &[&str]) -> LabMachine {
    let port = |name: &&str| LabPort {
        name: (*name).to_owned(),
        alias: None,
        mac: None,
        mtu: None,
        vrf: None,
        addresses: Vec::new(),
    };
    LabMachine {
        name: name.to_owned(),
        part,
        vrfs: Vec::new(),
        dummies: Vec::new(),
        addresses: Vec::new(),
        ports: ports.iter().map(port).collect(),
        gateways: Vec::new(),
    }
}

/// Two leafs, three nodes, and an outside network.
fn topology() -> LabTopology {
    let router = || MachineRole::Router { conf: String::new(), daemons: String::new(), vrf: None };
    let names = ["leaf1", "leaf2", "cp1", "cp2", "wk1"];
    let machines = names.map(|name| match name.strip_prefix("leaf") {
        Some(_) => machine(name, router(), &["swp1", "swp2", "swp3", "out"]),
        None => machine(name, MachineRole::Outside { doors: Vec::new() }, &["fab0", "fab1"]),
    });
    let mut cables = Vec::new();
    for (nth, name) in names.iter().enumerate().skip(2) {
        for leaf in 0..2 {
            let ends = vec![CableEnd { machine: nth, port: leaf }, CableEnd { machine: leaf, port: nth - 2 }];
            cables.push(LabCable { name: format!("{name}:fab{leaf}"), ends });
        }
    }
    let outside = [0, 1, 2].map(|machine| CableEnd { machine, port: usize::from(machine < 2) * 3 });
    cables.push(LabCable { name: "outside".to_owned(), ends: outside.to_vec() });
    let machines = machines.to_vec();
    LabTopology { cluster: "lab".to_owned(), machines, cables, sessions: Vec::new(), deviations: Vec::new() }
}

fn side(name: &str, peer: &str, state: SessionState) -> SessionEndStatus {
    let up = state == SessionState::Established;
    SessionEndStatus {
        name: name.to_owned(),
        peer: peer.to_owned(),
        state: Some(state),
        uptime: up.then_some(133),
        received: Some(if up { 7 } else { 0 }),
        sent: Some(if up { 3 } else { 0 }),
        bfd: Some(up),
        ..SessionEndStatus::default()
    }
}

/// The status of the lab while these cables are cut.
fn status(seconds: u64, cut: &[CutCable]) -> LabStatus {
    let topology = topology();
    let mut sessions = Vec::new();
    let mut paths = BTreeMap::from([("leaf1".to_owned(), 3), ("leaf2".to_owned(), 3)]);
    for cable in topology.cables.iter().filter(|cable| cable.ends.len() == 2) {
        let out = cut.iter().any(|cut| cut.link == cable.name);
        let state = if out { SessionState::Idle } else { SessionState::Established };
        let [one, other] = [0, 1].map(|end| {
            let CableEnd { machine, port } = cable.ends[end];
            let machine = &topology.machines[machine];
            side(&machine.name, &machine.ports[port].name, state)
        });
        if out {
            *paths.get_mut(&other.name).unwrap() -= 1;
        }
        let one =
            SessionEndStatus { trouble: out.then(|| format!("port {} has no carrier", one.peer)), ..one };
        sessions.push(LabSessionStatus { one, other, up: !out, fault: None });
    }
    let machine_status = |machine: &LabMachine| LabMachineStatus {
        name: machine.name.clone(),
        part: if machine.name.starts_with("leaf") { "router" } else { "node" },
        trouble: None,
        ipv4: 7,
        ipv6: 7,
        memory: 30 << 20,
    };
    let nodes = ["cp1", "cp2", "wk1"].map(str::to_owned);
    let own = |(nth, name): (usize, &String)| PrefixStatus {
        prefix: format!("10.0.0.1{nth}/32").parse().unwrap(),
        of: vec![name.clone()],
        paths: BTreeMap::from([("leaf1".to_owned(), 1), ("leaf2".to_owned(), 1)]),
    };
    let mut prefixes: Vec<PrefixStatus> = nodes.iter().enumerate().map(own).collect();
    prefixes.push(PrefixStatus { prefix: "203.0.113.100/32".parse().unwrap(), of: nodes.to_vec(), paths });
    LabStatus {
        lab: "lab".to_owned(),
        time: Moment::from_unix(1_794_837_331 + seconds).unwrap(),
        ok: cut.is_empty(),
        machines: topology.machines.iter().map(machine_status).collect(),
        sessions,
        prefixes,
        cut: cut.to_vec(),
    }
}

fn press(dashboard: &mut Dashboard, code: KeyCode) -> KeyAction {
    dashboard.handle_key(KeyEvent::new(code, KeyModifiers::NONE))
}

/// Draws a dashboard, and compares it with the expected screen.
#[track_caller]
fn assert_screen(dashboard: &mut Dashboard, width: u16, height: u16, name: &str) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::draw(dashboard, frame)).unwrap();
    let lines: Vec<String> = terminal
        .backend()
        .to_string()
        .lines()
        .map(|line| line.trim_matches('"').trim_end().to_owned())
        .collect();
    let screen = lines.join("\n") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands/lab/watch/screens").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &screen).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(screen == expected, "{name}: got\n{screen}\nwant\n{expected}");
}

fn cut(link: &str, silent: bool) -> CutCable {
    CutCable { link: link.to_owned(), silent }
}

#[test]
fn a_dashboard_without_a_status_is_drawn() {
    assert_screen(&mut Dashboard::new("lab", &topology()), 80, 24, "first.txt");
}

#[test]
fn a_small_terminal_shows_all_parts() {
    let mut dashboard = Dashboard::new("lab", &topology());
    dashboard.update(status(0, &[]));

    assert_screen(&mut dashboard, 80, 24, "small.txt");
}

#[test]
fn a_cut_session_is_listed_first_and_logged() {
    let mut dashboard = Dashboard::new("lab", &topology());
    dashboard.update(status(0, &[]));
    dashboard.update(status(1, &[cut("cp2:fab1", false), cut("wk1:fab0", true)]));

    assert_screen(&mut dashboard, 80, 24, "cut.txt");
    assert_screen(&mut dashboard, 160, 40, "wide.txt");
}

#[test]
fn healing_is_logged() {
    let mut dashboard = Dashboard::new("lab", &topology());
    dashboard.update(status(0, &[cut("cp2:fab1", false)]));
    dashboard.update(status(1, &[]));

    let logged: Vec<String> = dashboard.log.iter().map(|(_, change)| change.to_string()).collect();

    assert_eq!(
        logged,
        ["cp2:fab1: healed", "cp2 fab1 – leaf2 swp2: up", "leaf2: 203.0.113.100/32: 3 paths, 2 before"]
    );
    assert!(dashboard.is_healthy());
}

#[test]
fn a_network_counts_as_cut_if_one_of_its_ports_is() {
    let mut dashboard = Dashboard::new("lab", &topology());
    dashboard.update(status(0, &[cut("leaf2:out", true)]));

    let cut: Vec<&str> = dashboard
        .links
        .iter()
        .filter(|link| dashboard.cut(link).is_some())
        .map(|link| link.name.as_str())
        .collect();

    assert_eq!(cut, ["outside"]);
}

#[test]
fn keys_select_a_cable_and_return_an_action() {
    let mut dashboard = Dashboard::new("lab", &topology());
    let link = "cp1:fab1".to_owned();

    assert_eq!(press(&mut dashboard, KeyCode::Up), KeyAction::None);
    assert_eq!(press(&mut dashboard, KeyCode::Down), KeyAction::None);
    assert_eq!(
        press(&mut dashboard, KeyCode::Char('c')),
        KeyAction::Cut { link: link.clone(), silent: false }
    );
    assert_eq!(
        press(&mut dashboard, KeyCode::Char('s')),
        KeyAction::Cut { link: link.clone(), silent: true }
    );
    assert_eq!(press(&mut dashboard, KeyCode::Char('h')), KeyAction::Heal { link });
    for _ in 0..20 {
        press(&mut dashboard, KeyCode::Down);
    }
    assert_eq!(press(&mut dashboard, KeyCode::Char('h')), KeyAction::Heal { link: "outside".to_owned() });
    assert_eq!(press(&mut dashboard, KeyCode::Char('q')), KeyAction::Quit);
    assert_eq!(
        dashboard.handle_key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)),
        KeyAction::Quit
    );
}

#[test]
fn tables_do_not_scroll_past_their_last_row() {
    let mut dashboard = Dashboard::new("lab", &topology());
    dashboard.update(status(0, &[]));
    for _ in 0..9 {
        press(&mut dashboard, KeyCode::PageDown);
    }

    assert_screen(&mut dashboard, 80, 24, "below.txt");

    assert_eq!(dashboard.above, 2);
    press(&mut dashboard, KeyCode::PageUp);
    assert_eq!(dashboard.above, 0);
}

#[test]
fn a_tiny_terminal_does_not_panic() {
    let mut dashboard = Dashboard::new("lab", &topology());
    dashboard.update(status(0, &[cut("cp2:fab1", false)]));

    for (width, height) in [(1, 1), (10, 3), (20, 8), (79, 10), (300, 5)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw::draw(&mut dashboard, frame)).unwrap();
    }
}
