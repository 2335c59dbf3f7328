//! Running labs with the daemons of Debian 13, as unpacked by `scripts/lab-root`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Run, agent, command, folder, ichor};
use crate::lab_fabric::CLUSTER;

/// A lab that is removed on drop.
struct Lab {
    name: String,
    desk: tempfile::TempDir,
}

impl Lab {
    fn new(test: &str, text: &str) -> Self {
        let lab =
            Self { name: format!("{test}-{}", std::process::id()), desk: folder(&[("ichor.yaml", text)]) };
        drop(ichor(lab.desk.path(), &format!("lab down {}", lab.name)));
        lab
    }

    fn words(&self) -> String {
        format!("lab up --name {} --root {} --agent {}", self.name, trixie().display(), agent().display())
    }

    fn up(&self, more: &str) -> Run {
        ichor(self.desk.path(), &format!("{} {more}", self.words()))
    }

    fn act(&self, words: &str) -> Run {
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        ichor(self.desk.path(), &format!("lab {verb} --lab {} {rest}", self.name))
    }

    /// Output of a command in a machine.
    fn exec(&self, machine: &str, script: &str) -> (bool, String) {
        let mut command =
            command(self.desk.path(), &format!("lab exec --lab {} {machine} -- sh -c", self.name));
        let output = command.arg(script).output().unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        )
    }

    fn down(&self) -> Run {
        ichor(self.desk.path(), &format!("lab down {}", self.name))
    }

    fn folder(&self) -> PathBuf {
        Path::new("/run/ichor/lab").join(&self.name)
    }

    /// PIDs of the lab's processes on this machine.
    fn processes(&self) -> Vec<String> {
        let mark = self.folder().display().to_string();
        let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines.filter(|line| line.contains("lab hold") && line.contains(&mark)).collect()
    }

    fn wait_until_gone(&self) {
        wait_for("its end", || !self.folder().exists() && self.processes().is_empty());
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        drop(self.down());
    }
}

fn trixie() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lab/trixie");
    assert!(path.exists(), "{}: not there; make it with `scripts/lab-root`", path.display());
    path.canonicalize().unwrap()
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}: never seen");
        thread::sleep(Duration::from_millis(50));
    }
}

/// The network configuration of this machine that a lab must not change.
fn network() -> String {
    let script = "ip -o link; ip -o address; ip rule; ip -6 rule; ip route show table all; ip -6 route show table all; \
                  ip netns list; cd /proc/sys/net; grep -r . ipv4/conf/all ipv4/conf/default ipv6/conf/all \
                  ipv6/conf/default ipv4/ip_forward ipv4/fib_multipath_hash_policy 2>/dev/null; hostname";
    let output = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // Cached routes expire.
    text.lines().map(|line| line.split(" expires ").next().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn labs_of_one_file_run_side_by_side_without_changing_the_host() {
    let before = network();
    let labs = ["one", "two"].map(|test| Lab::new(test, CLUSTER));

    let [one, two] = thread::scope(|scope| {
        labs.each_ref().map(|lab| scope.spawn(|| lab.up("--json"))).map(|hand| hand.join().unwrap())
    });

    for run in [&one, &two] {
        assert_eq!(run.code, 0, "{}", run.all());
        let report = run.json();
        let sessions = report["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), 9);
        assert!(sessions.iter().all(|session| session["established"] == true), "{report:#}");
        assert!(report["convergence_ms"].as_u64().unwrap() > 0);
        assert!(
            report["deviations"][0].as_str().unwrap().contains("runs instead of FRR 10.3.1"),
            "{report:#}"
        );
    }
    assert_eq!(network(), before);
    let [lab, other] = &labs;

    // A service address answers from a leaf and from outside; the address of another node is not accepted.
    let ping = |from: &str, to: &str| lab.exec("outside", &format!("busybox ping -c 1 -W 2 -I {from} {to}"));
    for to in ["203.0.113.1", "203.0.113.3", "10.10.10.12"] {
        for from in ["198.18.1.1", "198.18.2.1"] {
            wait_for(&format!("{to} from {from}"), || ping(from, to).0);
        }
    }
    let (_, table) = lab.exec("leaf1", "vtysh -c 'show bgp ipv4 unicast'");
    assert!(!table.contains("192.0.2.66") && table.contains("203.0.113.4/32"), "{table}");

    // A cable is cut at both ends, and only in its own lab.
    let state = |lab: &Lab, machine: &str, port: &str| {
        lab.exec(machine, &format!("cat /sys/class/net/{port}/carrier")).1
    };
    assert_eq!(lab.act("cut row1:eth0 leaf1:swp1").code, 0);
    assert_eq!((state(lab, "row1", "eth0").trim(), state(lab, "leaf1", "swp1").trim()), ("0", "0"));
    assert_eq!(state(other, "row1", "eth0").trim(), "1");
    wait_for("the path through the other leaf", || ping("198.18.2.1", "10.10.10.10").0);
    let heal = lab.act("heal leaf1:swp1");
    assert!(heal.code == 0 && heal.stderr == "row1:eth0 is reconnected\n", "{}", heal.all());
    assert_eq!(state(lab, "row1", "eth0").trim(), "1");
    assert_eq!(lab.act("cut --silent row2").code, 0);
    assert_eq!(state(lab, "row2", "eth0").trim(), "1");
    wait_for("no answer from a node that is cut off", || !ping("198.18.1.1", "10.10.10.11").0);
    assert_eq!(lab.act("heal").code, 0);
    wait_for("the node again", || ping("198.18.1.1", "10.10.10.11").0);
    let wrong = lab.act("cut row1:eth7");
    assert!(wrong.code == 2 && wrong.stderr.contains("did you mean `row1:eth"), "{}", wrong.stderr);
    let unknown = ichor(lab.desk.path(), &format!("lab status --lab x{}", lab.name));
    let near = format!("did you mean `{}`?", lab.name);
    assert!(unknown.code == 2 && unknown.stderr.contains(&near), "{}", unknown.stderr);
    let report = ichor(lab.desk.path(), &format!("lab test {} --html nowhere/report.html", lab.name));
    assert!(
        report.code == 2 && report.stderr.starts_with("error: cannot write nowhere/report.html"),
        "{}",
        report.all()
    );

    // A second start changes nothing; another file is refused.
    let again = lab.up("");
    assert!(again.code == 0 && again.stderr.contains("nothing has changed"), "{}", again.all());
    fs::write(lab.desk.path().join("ichor.yaml"), CLUSTER.replace("203.0.113.0/24", "203.0.113.0/25"))
        .unwrap();
    let changed = lab.up("");
    assert!(changed.code == 2 && changed.stderr.contains("--replace"), "{}", changed.all());

    let listed = ichor(lab.desk.path(), "lab ls --json");
    assert!(labs.iter().all(|lab| listed.stdout.contains(&lab.name)), "{}", listed.stdout);
    for lab in &labs {
        let down = lab.down();
        assert_eq!(down.code, 0, "{}", down.all());
        assert!(!lab.folder().exists() && lab.processes().is_empty());
    }
    assert_eq!(network(), before);
}

#[test]
fn killed_processes_leave_no_remains() {
    let before = network();
    let lab = Lab::new("dies", CLUSTER);

    // `ichor lab up` is killed while it starts the lab.
    let mut up =
        command(lab.desk.path(), &lab.words()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("the first machines", || lab.processes().len() > 3);
    up.kill().unwrap();
    up.wait().unwrap();
    lab.wait_until_gone();

    // The lab does not come up in time.
    let late = lab.up("--timeout 0");
    assert_eq!(late.code, 1, "{}", late.all());
    assert!(late.stderr.contains("after 0 s 9 sessions are not established"), "{}", late.stderr);
    lab.wait_until_gone();

    // A kept lab runs until its init process dies.
    let kept = lab.up("--timeout 0 --keep");
    assert_eq!(kept.code, 1, "{}", kept.all());
    let holder = fs::read_to_string(lab.folder().join("lock")).unwrap();
    assert!(lab.exec("row1", "hostname").1.contains("row1"));
    assert!(Command::new("kill").args(["-KILL", holder.trim()]).status().unwrap().success());
    wait_for("the end of all processes", || lab.processes().is_empty());
    assert!(lab.act("exec row1 -- true").stderr.contains("no lab `"));
    assert_eq!(lab.down().code, 0);
    assert!(!lab.folder().exists());
    assert_eq!(network(), before);
}

/// Numbered sessions, gateways that do not run FRR or are unknown, and every daemon.
#[test]
fn gateways_of_all_kinds_come_up() {
    let cases = ["dhcp", "unlisted", "routeros", "fabric"].map(|case| {
        let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/cases");
        let path = cases.join(format!("lab-{case}")).join("ichor.yaml");
        Lab::new(case, &fs::read_to_string(path).unwrap())
    });
    for lab in &cases {
        let run = if lab.name.starts_with("fabric") {
            // FRR 8.4 of this machine.
            ichor(
                lab.desk.path(),
                &format!("lab up --json --name {} --agent {}", lab.name, agent().display()),
            )
        } else {
            lab.up("--json")
        };

        assert_eq!(run.code, 0, "{}: {}", lab.name, run.all());
        let report = run.json();
        for session in report["sessions"].as_array().unwrap() {
            assert_eq!(
                session["established"] == true,
                session["expected_down"].is_null(),
                "{}: {report:#}",
                lab.name
            );
        }
        drop(lab.down());
    }
}

#[test]
fn sessions_of_gobgp_come_up_without_bfd() {
    let lab = Lab::new("gobgp", include_str!("../../../../examples/gobgp/ichor.yaml"));

    let run = lab.up("");

    assert_eq!(run.code, 0, "{}", run.all());
    assert!(run.stderr.contains("no BFD with the nodes: GoBGP 3.36"), "{}", run.stderr);
}

/// With next-hop groups enabled, FRR 8.4 omits such a path from the group that its routes share.
#[test]
fn a_path_is_used_again_after_a_short_loss_of_carrier() {
    let lab = Lab::new("carrier", CLUSTER);
    let words = format!("lab up --name {} --agent {}", lab.name, agent().display());
    let up = ichor(lab.desk.path(), &words);
    assert_eq!(up.code, 0, "{}", up.all());
    assert!(up.stderr.contains("FRR 8.4"), "{}", up.stderr);
    let paths = |machine: &str, to: &str| {
        lab.exec(machine, &format!("ip route show {to} proto bgp | grep -c ' dev '")).1.trim().to_owned()
    };
    let all_paths = || paths("leaf1", "203.0.113.1") == "3" && paths("row1", "default") == "2";
    wait_for("all paths", all_paths);

    assert_eq!(lab.act("cut row1:eth0").code, 0);
    wait_for("the other paths", || paths("leaf1", "203.0.113.1") == "2" && paths("row1", "default") == "1");
    assert_eq!(lab.act("heal").code, 0);

    wait_for("all paths again", all_paths);
}
