use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use ichor_bgp::agent::session::SessionState;
use ichor_core::lab::scene::{CableEnd, LabCable, LabMachine, LabPort, LabTopology, MachineRole};
use ichor_core::lab::view::{CutCable, LabMachineStatus, LabSessionStatus, PrefixStatus, SessionEndStatus};
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

/// Two leafs, three nodes, and a network outside.
fn scene() -> LabTopology {
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
    LabTopology { cluster: "lab".to_owned(), machines, cables, sessions: Vec::new(), differs: Vec::new() }
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

/// What is seen while these cables are cut.
fn view(seconds: u64, cut: &[CutCable]) -> View {
    let scene = scene();
    let mut sessions = Vec::new();
    let mut paths = BTreeMap::from([("leaf1".to_owned(), 3), ("leaf2".to_owned(), 3)]);
    for cable in scene.cables.iter().filter(|cable| cable.ends.len() == 2) {
        let out = cut.iter().any(|cut| cut.link == cable.name);
        let state = if out { SessionState::Idle } else { SessionState::Established };
        let [one, other] = [0, 1].map(|end| {
            let CableEnd { machine, port } = cable.ends[end];
            let machine = &scene.machines[machine];
            side(&machine.name, &machine.ports[port].name, state)
        });
        if out {
            *paths.get_mut(&other.name).unwrap() -= 1;
        }
        let one =
            SessionEndStatus { trouble: out.then(|| format!("port {} has no carrier", one.peer)), ..one };
        sessions.push(LabSessionStatus { one, other, stands: !out, fault: None });
    }
    let seen = |machine: &LabMachine| LabMachineStatus {
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
    View {
        lab: "lab".to_owned(),
        time: Moment::from_unix(1_794_837_331 + seconds).unwrap(),
        stands: cut.is_empty(),
        machines: scene.machines.iter().map(seen).collect(),
        sessions,
        prefixes,
        cut: cut.to_vec(),
    }
}

fn press(board: &mut Dashboard, code: KeyCode) -> KeyAction {
    board.key(KeyEvent::new(code, KeyModifiers::NONE))
}

/// Draws a board, and compares it with the screen that is written down.
#[track_caller]
fn shows(board: &mut Dashboard, width: u16, height: u16, name: &str) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::draw(board, frame)).unwrap();
    let lines: Vec<String> = terminal
        .backend()
        .to_string()
        .lines()
        .map(|line| line.trim_matches('"').trim_end().to_owned())
        .collect();
    let seen = lines.join("\n") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands/lab/watch/screens").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &seen).unwrap();
    }
    let meant = fs::read_to_string(&path).unwrap_or_default();
    assert!(seen == meant, "{name}: this is seen\n{seen}\nand this is meant\n{meant}");
}

fn cut(link: &str, silent: bool) -> CutCable {
    CutCable { link: link.to_owned(), silent }
}

#[test]
fn before_the_first_look_there_is_a_board() {
    shows(&mut Dashboard::new("lab", &scene()), 80, 24, "first.txt");
}

#[test]
fn a_small_terminal_shows_all_of_it() {
    let mut board = Dashboard::new("lab", &scene());
    board.take(view(0, &[]));

    shows(&mut board, 80, 24, "small.txt");
}

#[test]
fn a_cut_is_on_top_and_in_the_log() {
    let mut board = Dashboard::new("lab", &scene());
    board.take(view(0, &[]));
    board.take(view(1, &[cut("cp2:fab1", false), cut("wk1:fab0", true)]));

    shows(&mut board, 80, 24, "cut.txt");
    shows(&mut board, 160, 40, "wide.txt");
}

#[test]
fn healing_is_told() {
    let mut board = Dashboard::new("lab", &scene());
    board.take(view(0, &[cut("cp2:fab1", false)]));
    board.take(view(1, &[]));

    let told: Vec<String> = board.log.iter().map(|(_, change)| change.to_string()).collect();

    assert_eq!(
        told,
        ["cp2:fab1: healed", "cp2 fab1 – leaf2 swp2: up", "leaf2: 203.0.113.100/32: 3 paths, 2 before"]
    );
    assert!(board.stands());
}

#[test]
fn a_network_is_cut_where_one_of_its_plugs_is_out() {
    let mut board = Dashboard::new("lab", &scene());
    board.take(view(0, &[cut("leaf2:out", true)]));

    let out: Vec<&str> =
        board.links.iter().filter(|link| board.cut(link).is_some()).map(|link| link.name.as_str()).collect();

    assert_eq!(out, ["outside"]);
}

#[test]
fn keys_choose_a_cable_and_say_what_becomes_of_it() {
    let mut board = Dashboard::new("lab", &scene());
    let link = "cp1:fab1".to_owned();

    assert_eq!(press(&mut board, KeyCode::Up), KeyAction::None);
    assert_eq!(press(&mut board, KeyCode::Down), KeyAction::None);
    assert_eq!(press(&mut board, KeyCode::Char('c')), KeyAction::Cut { link: link.clone(), silent: false });
    assert_eq!(press(&mut board, KeyCode::Char('s')), KeyAction::Cut { link: link.clone(), silent: true });
    assert_eq!(press(&mut board, KeyCode::Char('h')), KeyAction::Heal { link });
    for _ in 0..20 {
        press(&mut board, KeyCode::Down);
    }
    assert_eq!(press(&mut board, KeyCode::Char('h')), KeyAction::Heal { link: "outside".to_owned() });
    assert_eq!(press(&mut board, KeyCode::Char('q')), KeyAction::Quit);
    assert_eq!(board.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), KeyAction::Quit);
}

#[test]
fn tables_end_where_their_rows_do() {
    let mut board = Dashboard::new("lab", &scene());
    board.take(view(0, &[]));
    for _ in 0..9 {
        press(&mut board, KeyCode::PageDown);
    }

    shows(&mut board, 80, 24, "below.txt");

    assert_eq!(board.above, 2);
    press(&mut board, KeyCode::PageUp);
    assert_eq!(board.above, 0);
}

#[test]
fn no_terminal_is_too_small_to_be_drawn_on() {
    let mut board = Dashboard::new("lab", &scene());
    board.take(view(0, &[cut("cp2:fab1", false)]));

    for (width, height) in [(1, 1), (10, 3), (20, 8), (79, 10), (300, 5)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw::draw(&mut board, frame)).unwrap();
    }
}
