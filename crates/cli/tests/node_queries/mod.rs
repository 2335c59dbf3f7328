//! `ichor status`, `logs`, `discover` and `diff` on simulated nodes, before and after they are configured.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Run, command, folder, ichor};
use crate::simulated::Simulated;
use serde_json::{Value, json};
use socket2::{Domain, SockAddr, Socket, Type};

fn run_command(nodes: &Simulated, words: &str) -> Run {
    ichor(&nodes.folder(), words)
}

/// Runs a command until it answers within a time limit: a busy machine may exceed it once, a blocked address always does.
fn asked_within(time: Duration, nodes: &Simulated, words: &str) -> Run {
    let mut took = Vec::new();
    while took.len() < 5 {
        let start = Instant::now();
        let run = run_command(nodes, words);
        took.push(start.elapsed());
        if took[took.len() - 1] < time {
            return run;
        }
    }
    panic!("{words}: {took:?}")
}

/// The element with this value under this key.
fn find<'v>(all: &'v Value, key: &str, value: &str) -> &'v Value {
    all.as_array().unwrap().iter().find(|it| it[key] == value).unwrap_or_else(|| panic!("no {value}: {all}"))
}

fn problems(report: &Value, node: &str) -> String {
    find(&report["nodes"], "node", node)["problems"].to_string()
}

#[test]
fn machines_in_maintenance_mode_are_discovered_and_reported() {
    let nodes = Simulated::waiting(3, "");

    let found = run_command(&nodes, "discover --json");
    let status = run_command(&nodes, "status --json");
    let services = run_command(&nodes, "logs cp1 --json");
    let kernel = run_command(&nodes, "logs cp1 --dmesg --tail 1");
    let diff = run_command(&nodes, "diff");

    assert_eq!((found.code, status.code, diff.code), (0, 1, 2), "{}", found.all());
    let all = found.json();
    assert_eq!(all.as_array().unwrap().len(), 3);
    let first = find(&all, "node", "cp1");
    assert_eq!((&first["state"], &first["disks"][0]["path"]), (&"maintenance".into(), &"/dev/sda".into()));
    let report = status.json();
    let node = find(&report["nodes"], "node", "cp1");
    assert_eq!((&node["state"], &node["talos_version"]), (&"maintenance".into(), &"v1.13.9".into()));
    assert_eq!(node["fingerprint"], first["fingerprint"]);
    assert!(problems(&report, "cp1").contains("`ichor up` applies its configuration"), "{report}");
    assert_eq!(find(&services.json(), "service", "machined")["state"], "Running");
    assert_eq!(kernel.stdout.lines().count(), 1, "{}", kernel.all());
    assert!(diff.stdout.contains("cp1: not compared: the node is in maintenance mode"), "{}", diff.stdout);
}

#[test]
fn unknown_machines_are_printed_as_yaml_for_the_cluster_file() {
    let nodes = Simulated::waiting(1, "");
    let address = nodes.file().split("dhcp: ").nth(1).unwrap().split('}').next().unwrap().to_owned();
    let desk = folder(&[]);

    let found = ichor(desk.path(), &format!("discover {address}/32"));
    let unused = ichor(desk.path(), "discover 127.0.0.200/32");
    let nowhere = ichor(desk.path(), "discover");
    let everywhere = ichor(desk.path(), "discover 10.0.0.0/8");

    assert_eq!((found.code, unused.code, nowhere.code, everywhere.code), (0, 1, 2, 2), "{}", found.all());
    assert!(found.stdout.contains("- {name: new1, macs: [\"02:00:"), "{}", found.stdout);
    assert!(
        unused.stderr.contains("no machine answered on port 50000 in 127.0.0.200/32"),
        "{}",
        unused.all()
    );
    assert!(nowhere.stderr.contains("no prefix to scan"), "{}", nowhere.all());
    assert!(everywhere.stderr.contains("more than 65536 addresses"), "{}", everywhere.all());
}

#[test]
fn a_running_cluster_matches_until_the_file_or_a_node_changes() {
    let nodes = Simulated::start(4, "");
    nodes.up_well("");

    let status = run_command(&nodes, "status --json");
    let diff = run_command(&nodes, "diff");
    let log = run_command(&nodes, "logs cp1 etcd");
    let unknown = run_command(&nodes, "logs cp1 nothing");

    assert_eq!((status.code, diff.code, log.code, unknown.code), (0, 0, 0, 2), "{}", status.all());
    let report = status.json();
    assert_eq!(report["etcd"]["members"], serde_json::json!(["cp1", "cp2", "cp3"]));
    assert_eq!(
        diff.stdout,
        "cp1: no differences\ncp2: no differences\ncp3: no differences\nworker1: no differences\n"
    );
    assert!(unknown.stderr.starts_with("error: cp1 at 127."), "{}", unknown.all());
    assert!(unknown.stderr.ends_with("; `ichor logs cp1` lists the services\n"), "{}", unknown.all());

    nodes.write(&nodes.file().replace("disk: /dev/sda", "disk: /dev/sdb"));
    let diff = run_command(&nodes, "diff --only worker1");
    let found = run_command(&nodes, "diff --only worker1 --json").json();
    let drift = run_command(&nodes, "status --json");
    assert_eq!((diff.code, drift.code), (1, 1));
    assert_eq!(diff.stdout, "worker1\n  machine.install.disk\n    - \"/dev/sda\"\n    + \"/dev/sdb\"\n");
    let disk = json!({"path": "machine.install.disk", "actual": "/dev/sda", "expected": "/dev/sdb"});
    assert_eq!(found, json!([{"node": "worker1", "differences": [disk]}]));
    assert!(problems(&drift.json(), "worker1").contains("machine.install.disk"), "{}", drift.stdout);

    run_command(&nodes, "lab nodes power worker1 off -o .");
    let gone = run_command(&nodes, "status");
    assert_eq!(gone.code, 1);
    assert!(gone.stdout.contains("worker1: the node does not answer: "), "{}", gone.stdout);
    assert!(gone.stdout.contains("connection refused"), "{}", gone.stdout);
}

#[test]
fn reset_streams_slow_nodes_and_foreign_clusters_are_reported() {
    let nodes = Simulated::waiting(3, "--fault cp2:slow:300ms --fault cp3:other-ca");
    run_command(&nodes, "lab nodes fault cp1:reset-mid-stream:1 -o .");

    let broken = run_command(&nodes, "logs cp1 machined");
    let again = run_command(&nodes, "logs cp1 machined");
    let status = run_command(&nodes, "status --json");

    assert_eq!((broken.code, again.code), (2, 0), "{} {}", broken.all(), again.all());
    assert!(broken.stderr.contains("connection lost"), "{}", broken.stderr);
    let report = status.json();
    assert_eq!(find(&report["nodes"], "node", "cp2")["state"], "maintenance");
    assert_eq!(find(&report["nodes"], "node", "cp3")["state"], "foreign");
    assert!(problems(&report, "cp3").contains("not of this cluster"), "{report}");
}

/// Makes an address neither accept nor refuse connections, like an unused one, while the sockets are held.
fn dead(address: Ipv4Addr) -> Vec<Socket> {
    let address = SockAddr::from(SocketAddr::from((address, 50000)));
    let socket = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let listener = socket();
    listener.bind(&address).unwrap();
    listener.listen(0).unwrap();
    let mut held = vec![listener];
    // One connection fills the backlog; further ones are dropped.
    for _ in 0..3 {
        let caller = socket();
        caller.set_nonblocking(true).unwrap();
        let _ = caller.connect(&address);
        held.push(caller);
    }
    held
}

#[test]
fn an_unused_address_does_not_delay_a_node_found_at_another_one() {
    let nodes = Simulated::waiting(3, "");
    let mut file = nodes.file();
    let id: u8 = file.split("dhcp: 127.").nth(1).unwrap().split('.').next().unwrap().parse().unwrap();
    let mut held = Vec::new();
    for nth in 11..14 {
        let at = Ipv4Addr::new(127, id, 200, nth);
        let known = format!("dhcp: 127.{id}.128.{nth}");
        file = file.replace(&known, &format!("{known}, external: {at}"));
        held.extend(dead(at));
    }
    nodes.write(&file);

    let waits = asked_within(Duration::from_secs(4), &nodes, "status --json");
    nodes.up_well("");
    let runs = asked_within(Duration::from_secs(4), &nodes, "status --json");

    assert_eq!((waits.code, runs.code), (1, 0), "{}{}", waits.all(), runs.all());
    assert_eq!(find(&waits.json()["nodes"], "node", "cp1")["state"], "maintenance");
    drop(held);
}

/// `ichor logs -f` until it is dropped, with its output lines.
struct FollowedLog {
    logs: Child,
    out: mpsc::Receiver<String>,
    messages: mpsc::Receiver<String>,
}

impl FollowedLog {
    fn start(nodes: &Simulated, words: &str) -> Self {
        let mut logs = command(&nodes.folder(), &format!("logs {words} -f"));
        let mut logs = logs.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, messages) = (lines(logs.stdout.take().unwrap()), lines(logs.stderr.take().unwrap()));
        Self { logs, out, messages }
    }

    /// Waits for a line on stderr that contains this text.
    fn says(&self, words: &str) {
        let end = Instant::now() + Duration::from_mins(1);
        let mut output = Vec::new();
        while output.last().is_none_or(|line: &String| !line.contains(words)) {
            let left = end.saturating_duration_since(Instant::now());
            output.push(
                self.messages.recv_timeout(left).unwrap_or_else(|_| panic!("no `{words}`: {output:?}")),
            );
        }
    }

    /// Lines written until a pause; at least one.
    fn writes(&self) -> Vec<String> {
        let mut all = vec![self.out.recv_timeout(Duration::from_mins(1)).unwrap()];
        while let Ok(line) = self.out.recv_timeout(Duration::from_millis(700)) {
            all.push(line);
        }
        all
    }
}

impl Drop for FollowedLog {
    fn drop(&mut self) {
        let _ = self.logs.kill();
        let _ = self.logs.wait();
    }
}

fn lines(from: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (tell, hear) = mpsc::channel();
    thread::spawn(move || {
        BufReader::new(from).lines().map_while(Result::ok).try_for_each(|line| tell.send(line))
    });
    hear
}

#[test]
fn a_followed_log_resumes_after_a_broken_connection_and_a_reboot() {
    let nodes = Simulated::start(1, "");
    nodes.up_well("");
    let kernel = FollowedLog::start(&nodes, "cp1 --dmesg");
    let service = FollowedLog::start(&nodes, "cp1 machined");
    let first = kernel.writes();
    assert_eq!(service.writes(), ["machined is running (simulated)"]);

    // Each of the two streams is cut once.
    nodes.fault("cp1:reset-mid-stream:2");
    for one in [&kernel, &service] {
        one.says("lost cp1: connection lost");
        one.says("reconnected to cp1 at 127.");
    }
    run_command(&nodes, "lab nodes power cp1 off -o .");
    kernel.says("lost cp1: ");
    run_command(&nodes, "lab nodes power cp1 on -o .");
    kernel.says("reconnected to cp1 at 127.");
    service.says("reconnected to cp1 at 127.");

    let (later, again) = (kernel.writes(), service.writes());
    // Lines from before the broken connection are not repeated; after a reboot the same text is new.
    assert_eq!(again[0], "machined is running (simulated)");
    let all: Vec<_> = first.iter().chain(&later).collect();
    assert!(!later.is_empty() && all.iter().collect::<BTreeSet<_>>().len() == all.len(), "{all:#?}");
}

#[test]
fn ctrl_c_ends_a_followed_log() {
    let nodes = Simulated::start(1, "");
    nodes.up_well("");
    let mut log = FollowedLog::start(&nodes, "cp1 machined");
    log.writes();

    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(log.logs.id().cast_signed()),
        nix::sys::signal::Signal::SIGINT,
    )
    .unwrap();

    assert!(!log.logs.wait().unwrap().success());
}
