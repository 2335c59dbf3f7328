//! Status of a lab with the daemons of Debian 13, as unpacked by `scripts/lab-root`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::common::{Run, agent, command, folder, ichor, root};

const CLUSTER: &str = include_str!("../../../../examples/namespace/ichor.yaml");

/// A lab that is removed on drop.
struct Lab {
    name: String,
    desk: tempfile::TempDir,
}

impl Lab {
    fn up(test: &str) -> Self {
        let lab =
            Self { name: format!("{test}-{}", std::process::id()), desk: folder(&[("ichor.yaml", CLUSTER)]) };
        let root = root().join("target/lab/trixie").canonicalize().expect("`scripts/lab-root` makes it");
        let agent = agent();
        let words =
            format!("lab up --name {} --root {} --agent {}", lab.name, root.display(), agent.display());
        let run = ichor(lab.desk.path(), &words);
        assert_eq!(run.code, 0, "{}", run.all());
        lab
    }

    fn words(&self, words: &str) -> String {
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        format!("lab {verb} --lab {} {rest}", self.name)
    }

    fn act(&self, words: &str) -> Run {
        ichor(self.desk.path(), &self.words(words))
    }

    /// Starts a command in the background.
    fn start(&self, words: &str) -> Child {
        let mut command = command(self.desk.path(), &self.words(words));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn view(&self) -> Value {
        self.act("status --json").json()
    }

    /// Polls the status until a condition holds.
    fn wait(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let view = self.view();
            if holds(&view) {
                return view;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "{what}: never seen\n{view:#}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        drop(ichor(self.desk.path(), &format!("lab down {}", self.name)));
    }
}

/// The session between two machines.
fn session<'v>(view: &'v Value, one: &str, other: &str) -> &'v Value {
    let sessions = view["sessions"].as_array().unwrap();
    sessions.iter().find(|it| it["local"]["machine"] == one && it["remote"]["machine"] == other).unwrap()
}

fn paths(view: &Value, prefix: &str, router: &str) -> u64 {
    let prefixes = view["prefixes"].as_array().unwrap();
    let prefix = prefixes.iter().find(|it| it["prefix"] == prefix);
    prefix.and_then(|it| it["path_counts"][router].as_u64()).unwrap_or(0)
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

#[test]
fn the_status_shows_sessions_and_cut_cables() {
    let lab = Lab::up("seen");

    // Every session is established at both ends, with BFD and prefix counts.
    let is_complete = |view: &Value| {
        let fabric = session(view, "row1", "leaf1");
        let came = ["local", "remote"].iter().all(|end| fabric[end]["prefixes_received"].as_u64() > Some(0));
        view["ok"] == true && came && paths(view, "203.0.113.1/32", "leaf2") == 3
    };
    let view = lab.wait("all of it", is_complete);
    let fabric = session(&view, "row1", "leaf1");
    for end in ["local", "remote"] {
        assert_eq!(
            (&fabric[end]["state"], &fabric[end]["bfd_up"]),
            (&"established".into(), &true.into()),
            "{fabric:#}"
        );
        assert!(fabric[end]["uptime_seconds"].is_u64(), "{fabric:#}");
    }
    assert_eq!(session(&view, "row1", "row1:metallb")["remote"]["state"], "established");
    assert_eq!(paths(&view, "10.10.10.10/32", "leaf1"), 1);
    let leaf = view["machines"].as_array().unwrap().iter().find(|it| it["machine"] == "leaf1").unwrap();
    assert!(
        leaf["memory_bytes"].as_u64().unwrap() > 1 << 20 && leaf["ipv4_route_count"].as_u64().unwrap() > 3,
        "{leaf:#}"
    );
    let text = lab.act("status");
    assert_eq!(text.code, 0, "{}", text.all());
    assert!(text.stdout.contains("9 of 9 sessions up, 6 of 6 machines ready"), "{}", text.stdout);

    // Without a terminal, every change is printed.
    let mut watch = lab.start("status --watch");
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("9 of 9"));
    assert_eq!(lab.act("cut row1:eth0").code, 0);
    let mut next_change = |part: &str| lines.by_ref().find(|line| line.contains(part)).unwrap_or_default();
    assert!(next_change("row1:eth0: cut").starts_with("20"));
    let view = lab.wait("a cut", |view| session(view, "row1", "leaf1")["up"] == false);
    assert_eq!(view["failed_links"], serde_json::json!([{"link": "row1:eth0", "silent": false}]));
    lab.wait("one path less, and why", |view| {
        paths(view, "203.0.113.1/32", "leaf1") == 2
            && session(view, "row1", "leaf1")["local"]["problem"].is_string()
    });
    let text = lab.act("status");
    assert_eq!(text.code, 1, "{}", text.all());
    assert!(text.stdout.contains("row1:eth0: cut") && text.stdout.contains("hint: "), "{}", text.stdout);
    assert_eq!(lab.act("heal").code, 0);
    lab.wait("all of it again", is_complete);
    next_change("row1:eth0: healed");
    signal(&watch, Signal::SIGTERM);
    let status = watch.wait().unwrap();
    assert!(status.code().is_some(), "the capture ends: {status}");

    // A silent cut keeps the carrier and is detected by BFD.
    assert_eq!(lab.act("cut --silent row2:eth1").code, 0);
    let view = lab.wait("a silent cut", |view| session(view, "row2", "leaf2")["up"] == false);
    assert_eq!(view["failed_links"], serde_json::json!([{"link": "row2:eth1", "silent": true}]));
    assert_eq!(lab.act("heal").code, 0);
    lab.wait("all of it at last", is_complete);
}

#[test]
fn packets_on_a_cable_are_captured_once() {
    let lab = Lab::up("kept");
    lab.wait("all of it", |view| view["ok"] == true);
    let dump = |path: &Path, filter: &str| {
        let mut command = Command::new("tcpdump");
        let output = command.arg("-nr").arg(path).arg(filter).output();
        let output = output.expect("no tcpdump: `scripts/tools tcpdump` installs it");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };

    // Three pings with replies are six packets, and Ctrl-C leaves a complete file.
    let mut capture = lab.start("capture leaf1:swp1");
    let mut lines = BufReader::new(capture.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("listening on row1:eth0, leaf1:swp1"));
    let record: Value =
        serde_json::from_slice(&fs::read(format!("/run/ichor/lab/{}/lab.json", lab.name)).unwrap()).unwrap();
    let leaf = record["machine_pids"][0].as_i64().unwrap().to_string();
    let ping = ["busybox", "ping", "-c", "3", "fe80::5054:ff:fe10:10%swp1"];
    let pinged = Command::new("nsenter").args(["--net", "--target", &leaf]).args(ping).output().unwrap();
    assert!(pinged.status.success(), "{}", String::from_utf8_lossy(&pinged.stdout));
    signal(&capture, Signal::SIGINT);
    assert!(capture.wait().unwrap().success());
    let last = lines.last().unwrap();
    let file = lab.desk.path().join("leaf1-swp1.pcapng");
    let all = dump(&file, "");
    assert_eq!(last, format!("{} packets of leaf1:swp1 in leaf1-swp1.pcapng", all.lines().count()));
    let pings = dump(&file, "icmp6 and (ip6[40] == 128 or ip6[40] == 129)");
    assert_eq!(pings.lines().count(), 6, "{pings}");
    assert!(dump(&file, "udp port 3784").lines().count() > 4, "{all}");

    // A limited number of packets to a pipe.
    let output = command(lab.desk.path(), &lab.words("capture row1 -o - --count 7")).output().unwrap();
    assert!(output.status.success());
    let file = lab.desk.path().join("piped.pcapng");
    fs::write(&file, &output.stdout).unwrap();
    assert_eq!(dump(&file, "").lines().count(), 7);
    assert!(String::from_utf8_lossy(&output.stderr).contains("7 packets of row1 in stdout"));

    let wrong = lab.act("capture row1:eth9");
    assert!(wrong.code == 2 && wrong.stderr.contains("did you mean `row1:eth"), "{}", wrong.stderr);
}

#[test]
fn the_dashboard_cuts_and_heals_cables_and_restores_the_terminal() {
    let lab = Lab::up("shown");
    lab.wait("all of it", |view| view["ok"] == true);
    let ichor = env!("CARGO_BIN_EXE_ichor");
    let shown = |keys: &[(&str, &str)], before: &str| {
        let script = format!(
            "stty rows 24 cols 80; stty -g; {before} {ichor} {}; echo; stty -g; echo done",
            lab.words("status --watch")
        );
        let mut script = Command::new("script")
            .args(["-qfec", &script, "/dev/null"])
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = script.stdin.take().unwrap();
        for (key, cut) in keys {
            thread::sleep(Duration::from_millis(2500));
            stdin.write_all(key.as_bytes()).unwrap();
            stdin.flush().unwrap();
            if !cut.is_empty() {
                lab.wait(cut, |view| (view["failed_links"] != serde_json::json!([])) == (*cut == "cut"));
            }
        }
        let output = script.wait_with_output().unwrap();
        drop(stdin);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let untouched = |screen: &str| {
        let modes: Vec<&str> = screen
            .lines()
            .map(str::trim)
            .filter(|line| {
                line.matches(':').count() > 20 && line.bytes().all(|it| it == b':' || it.is_ascii_hexdigit())
            })
            .collect();
        assert!(modes.len() == 2 && modes[0] == modes[1], "{screen}");
        assert!(screen.rfind("\x1b[?1049l") > screen.rfind("\x1b[?1049h"), "{screen}");
        assert!(screen.trim_end().ends_with("done"), "{screen}");
    };

    // Selects the second cable, cuts and heals it.
    let screen = shown(&[("\x1b[B", ""), ("c", "cut"), ("h", "healed"), ("q", "")], "");
    untouched(&screen);
    for part in ["sessions", "prefixes", "row1:eth1", "events", "healed"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }

    let screen = shown(&[], "timeout --foreground -s TERM 3");
    untouched(&screen);
}
