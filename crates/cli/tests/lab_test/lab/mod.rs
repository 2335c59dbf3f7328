//! Tests a running lab, also after manual changes and interrupted. The daemons are those of Debian 13, as unpacked by
//! `scripts/lab-root`, unless stated otherwise.

mod backend;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::common::{Run, agent, command, folder, ichor};
use crate::lab_test::CLUSTER;

/// A lab that is removed on drop.
struct Lab {
    name: String,
    desk: tempfile::TempDir,
}

impl Lab {
    /// A lab with the daemons of Debian 13.
    fn up(test: &str, cluster: &str) -> Self {
        Self::up_with(test, cluster, |_| made("trixie"), |lab, root| ichor(lab.desk.path(), &lab.words(root)))
    }

    /// A lab with the daemons of this machine.
    fn up_with_own(test: &str, cluster: &str) -> Self {
        let own = |_: &Path| PathBuf::from("/");
        Self::up_with(test, cluster, own, |lab, root| ichor(lab.desk.path(), &lab.words(root)))
    }

    /// A lab with GoBGP 4, on a temporary root file system.
    fn up_with_gobgp_4(test: &str, cluster: &str) -> Self {
        let root = |desk: &Path| {
            let root = desk.join("root");
            fs::create_dir(&root).unwrap();
            root
        };
        Self::up_with(test, cluster, root, |lab, root| {
            let (below, above) = (made("trixie"), made("gobgp4"));
            let script = format!(
                "mount -t overlay overlay -o lowerdir={}:{} {} && exec {} {}",
                above.display(),
                below.display(),
                root.display(),
                env!("CARGO_BIN_EXE_ichor"),
                lab.words(root)
            );
            let mut shell = Command::new("unshare");
            shell.args(["--mount", "sh", "-c", &script]).current_dir(lab.desk.path());
            let output = shell.output().unwrap();
            Run {
                code: output.status.code().expect("not killed"),
                stdout: String::from_utf8(output.stdout).unwrap(),
                stderr: String::from_utf8(output.stderr).unwrap(),
            }
        })
    }

    fn up_with(
        test: &str,
        cluster: &str,
        root: impl Fn(&Path) -> PathBuf,
        run: impl Fn(&Self, &Path) -> Run,
    ) -> Self {
        let desk = folder(&[("ichor.yaml", cluster)]);
        let lab = Self { name: format!("{test}-{}", std::process::id()), desk };
        let run = run(&lab, &root(lab.desk.path()));
        assert_eq!(run.code, 0, "{}", run.all());
        lab
    }

    fn words(&self, root: &Path) -> String {
        let (root, agent) = (root.display(), agent());
        format!("lab up --name {} --root {root} --agent {}", self.name, agent.display())
    }

    fn test(&self, words: &str) -> Run {
        ichor(self.desk.path(), &format!("lab test {} {words}", self.name))
    }

    fn configure(&self, router: &str, lines: &[&str]) {
        let mut vtysh = command(
            self.desk.path(),
            &format!("lab exec --lab {} {router} -- vtysh -c configure", self.name),
        );
        for line in lines {
            vtysh.args(["-c", line]);
        }
        assert!(vtysh.status().unwrap().success(), "{lines:?}");
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        drop(ichor(self.desk.path(), &format!("lab down {}", self.name)));
    }
}

/// A file system of `scripts/lab-root`.
fn made(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lab").join(name);
    assert!(root.exists(), "{}: not there; make it with `scripts/lab-root`", root.display());
    root.canonicalize().unwrap()
}

fn row<'v>(report: &'v Value, name: &str) -> &'v Value {
    let rows = report["results"].as_array().unwrap();
    rows.iter().find(|row| row["failure"]["name"] == name).unwrap_or_else(|| panic!("{name}: {report:#}"))
}

#[test]
fn failures_are_measured_and_differences_are_named() {
    let lab = Lab::up("trial", CLUSTER);

    // Everything matches the prediction, and BFD detects a cable that drops packets.
    let run = lab.test("--fail row1:eth0 --fail row2:metallb --json --html report.html --junit report.xml");

    assert_eq!(run.code, 0, "{}", run.all());
    let report = run.json();
    assert_eq!(
        (&report["ok"], &report["link_failure"], &report["emulated"]),
        (&true.into(), &"silent".into(), &false.into())
    );
    let cable = row(&report, "row1:eth0");
    let ms = cable["outage"]["duration_ms"].as_u64().unwrap();
    assert!((300..3000).contains(&ms), "{report:#}");
    assert_eq!(cable["expected"], "nothing is lost");
    let speaker = row(&report, "row2:metallb");
    assert!(speaker["observed"].as_str().unwrap().contains("203.0.113.3/32 is gone"), "{speaker:#}");
    assert_eq!(speaker["expected"], speaker["observed"]);
    let page = fs::read_to_string(lab.desk.path().join("report.html")).unwrap();
    assert!(page.contains("as predicted") && page.contains("row1:eth0") && page.contains("<svg"));
    let junit = fs::read_to_string(lab.desk.path().join("report.xml")).unwrap();
    assert!(junit.contains("tests=\"3\" failures=\"0\""), "{junit}");

    // The loss of a carrier and a closed speaker session are detected immediately.
    let run = lab.test("--carrier --fail spine1 --fail row1:metallb --json");
    assert_eq!(run.code, 0, "{}", run.all());
    let report = run.json();
    assert!(row(&report, "spine1")["outage"]["duration_ms"].as_u64().unwrap() < 3000, "{report:#}");

    // A manually changed leaf. FRR applies changed filters after some seconds.
    lab.configure("leaf1", &["ip prefix-list NODES-ALLOWED-v4 seq 1 deny 10.10.10.10/32"]);
    let run =
        (0..8).map(|_| lab.test("--k 0")).find(|run| run.code != 0).expect("the changed leaf is detected");
    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stdout.contains("to 10.10.10.10/32"), "{}", run.stdout);
    assert!(run.stdout.contains("spine1: 1 path to 10.10.10.10/32, expected 2"), "{}", run.stdout);
    lab.configure("leaf1", &["no ip prefix-list NODES-ALLOWED-v4 seq 1 deny 10.10.10.10/32"]);

    // An interrupted test heals the injected failure.
    let mut child = command(lab.desk.path(), &format!("lab test {} --fail row1:eth1 --fail row1", lab.name));
    let child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_secs(4));
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && message.contains("the injected failure is healed"),
        "{message}"
    );
    let run = lab.test("--k 0");
    assert_eq!(run.code, 0, "{}", run.all());

    // A changed cluster file cannot be tested.
    fs::write(lab.desk.path().join("ichor.yaml"), CLUSTER.replace("4200000991", "4200000891")).unwrap();
    let run = lab.test("--k 0");
    assert!(run.code == 2 && run.stderr.contains("`ichor lab up --replace --name"), "{}", run.stderr);
}
