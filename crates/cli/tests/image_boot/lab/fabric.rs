//! `ichor lab up --image`: lab nodes that boot the image under BIOS and UEFI, and their cleanup.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::built::Built;
use super::rack::SECRETS;
use super::release::TALOS_1_13;
use crate::common::{Run, agent, folder, ichor};

const CLUSTER: &str = r#"
cluster: {name: booted, id: 12, talos: v1.13.9}
secrets: secrets.yaml
network: {node: null, loopback: {v4: 10.12.10.0/24}}
fabric:
  routers: [{name: leaf1, role: leaf, asn: 4200000101, software: frr}]
routing:
  backend: frr
  asn: 4200000991
  router_id: loopback
  neighbors: [{router: leaf1, link: eth0, bfd: false}]
image: {registry: ghcr.io/example/talos}
hypervisors: {here: {libvirt: {uri: "qemu:///system"}}}
defaults:
  platform: nocloud
  boot: {from: cidata}
  install: {disk: /dev/sda}
  vm: {hypervisor: here, cores: 1, memory: 2560MiB, disk: 10GiB, firmware: seabios}
nodes:
  - {name: n1, role: controlplane, index: 1, macs: ["52:54:00:12:00:01", "52:54:00:12:00:02"]}
  - {name: n2, role: worker, index: 2, macs: ["52:54:00:12:00:03"], vm: {firmware: ovmf}}
"#;

/// Every node, its firmware and its address.
const NODES: [(&str, bool, &str); 2] = [("n1", false, "10.12.10.1"), ("n2", true, "10.12.10.2")];

/// A lab that is removed on drop.
struct Lab {
    name: String,
    desk: TempDir,
    agent: PathBuf,
}

impl Lab {
    fn new(test: &str) -> Self {
        let desk = folder(&[("ichor.yaml", CLUSTER), ("talosctl.yaml", SECRETS)]);
        Self { name: format!("{test}-{}", std::process::id()), desk, agent: agent() }
    }

    /// Creates secrets for the cluster.
    fn with_secrets(self) -> Self {
        let run = ichor(self.desk.path(), "secrets import talosctl.yaml --plain -o secrets.yaml");
        assert_eq!(run.code, 0, "{}", run.all());
        self
    }

    fn up(&self, image: &Path, more: &str) -> Run {
        let (name, image, agent) = (&self.name, image.display(), self.agent.display());
        let words = format!("lab up --name {name} --image {image} --accel tcg --agent {agent} {more}");
        ichor(self.desk.path(), &words)
    }

    fn act(&self, words: &str) -> Run {
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        ichor(self.desk.path(), &format!("lab {verb} --lab {} {rest}", self.name))
    }

    fn folder(&self) -> PathBuf {
        Path::new("/run/ichor/lab").join(&self.name)
    }

    /// PIDs of the lab's processes, including qemu, on this machine.
    fn processes(&self) -> Vec<String> {
        let mark = self.folder().display().to_string();
        let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines.filter(|line| line.contains(&mark)).collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        drop(ichor(self.desk.path(), &format!("lab down {}", self.name)));
    }
}

fn wait_for(what: &str, timeout: u64, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(timeout), "{what}: never seen");
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_lab_boots_an_image_under_bios_and_uefi_and_its_nodes_peer_with_their_leaf() {
    let files = TALOS_1_13.files();
    let built = Built::new(&files, "metal-amd64.iso", "nocloud", "iso");
    let lab = Lab::new("booted").with_secrets();

    let up = lab.up(&built.path(".iso"), &format!("--talos {} --json", TALOS_1_13.version));

    assert_eq!(up.code, 0, "{}", up.all());
    let status = up.json();
    let sessions = status["sessions"].as_array().unwrap();
    assert!(sessions.len() == 2 && status["emulated"] == true, "{status:#}");
    assert!(sessions.iter().all(|session| session["established"] == true), "{status:#}");
    let status = lab.act("status --json");
    assert_eq!(status.code, 0, "{}", status.all());
    let status = status.json();
    assert_eq!(status["sessions"][0]["remote"]["state"], "established", "{status:#}");
    assert_eq!(status["machines"][1]["role"], "guest", "{status:#}");
    let listed = ichor(lab.desk.path(), "lab ls").stdout;
    assert!(listed.contains(&lab.name), "{listed}");
    for node in &NODES {
        booted(&lab, node);
    }
    assert_eq!(lab.act("exec outside -- test -s /run/lab/talosconfig").code, 0);
    let test = ichor(lab.desk.path(), &format!("lab test {}", lab.name));
    assert!(test.code == 2 && test.stderr.contains("without --image"), "{}", test.all());

    // A cable can be captured, cut and healed.
    let capture = lab.act("capture n1:eth0 -o packets.pcapng --count 2 --seconds 60");
    assert_eq!(capture.code, 0, "{}", capture.all());
    assert!(fs::metadata(lab.desk.path().join("packets.pcapng")).unwrap().len() > 200);
    assert_eq!(lab.act("cut n1").code, 0);
    wait_for("the end of its session", 30, || lab.act("status").code == 1);
    assert_eq!(lab.act("heal").code, 0);
    wait_for("its session again", 90, || lab.act("status").code == 0);

    // All processes die with the init process; `down` removes the rest.
    let machines = |lab: &Lab| lab.processes().iter().filter(|line| line.contains("qemu-system")).count();
    assert!(machines(&lab) >= NODES.len(), "{:#?}", lab.processes());
    let holder = fs::read_to_string(lab.folder().join("lock")).unwrap();
    assert!(Command::new("kill").args(["-KILL", holder.trim()]).status().unwrap().success());
    wait_for("the end of all processes", 30, || lab.processes().is_empty());
    let down = ichor(lab.desk.path(), &format!("lab down {}", lab.name));
    assert_eq!(down.code, 0, "{}", down.all());
    assert!(!lab.folder().exists());
}

/// A VM node runs no commands; its console is logged, and its API answers from outside.
fn booted(lab: &Lab, (name, uefi, address): &(&str, bool, &str)) {
    let exec = lab.act(&format!("exec {name} -- true"));
    let log = lab.folder().join(format!("log/{name}.log"));
    assert!(exec.code == 2 && exec.stderr.contains(&log.display().to_string()), "{}", exec.all());
    let console = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
    let hostname = format!("\"hostname\": \"{name}\"");
    for line in ["service[ext-frr](Running)", &hostname] {
        assert!(console.contains(line), "{line}: {console}");
    }
    assert_eq!(console.contains("BdsDxe: starting Boot"), *uefi, "{console}");
    wait_for("its address", 60, || prefixes_of(lab, name).iter().any(|prefix| prefix.starts_with(address)));
    let ping = format!("exec outside -- busybox ping -c 1 -W 2 {address}");
    wait_for("an answer", 30, || lab.act(&ping).code == 0);
}

/// Prefixes received from a node.
fn prefixes_of(lab: &Lab, name: &str) -> Vec<String> {
    let status = lab.act("status --json").json();
    let prefixes = status["prefixes"].as_array().unwrap();
    let of =
        prefixes.iter().filter(|prefix| prefix["origins"].as_array().unwrap().iter().any(|it| it == name));
    of.map(|prefix| prefix["prefix"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_image_that_a_lab_cannot_boot_is_refused_with_the_reason() {
    let files = TALOS_1_13.files();
    let lab = Lab::new("refused").with_secrets();
    fs::write(lab.desk.path().join("text.iso"), "not an image\n".repeat(9000)).unwrap();
    let bare = files.path("metal-amd64.iso");
    let nocloud = Built::new(&files, "metal-amd64.iso", "nocloud", "iso");
    let cases = [
        (PathBuf::from("nowhere.iso"), TALOS_1_13.version, "--image nowhere.iso"),
        (PathBuf::from("text.iso"), TALOS_1_13.version, "it does not start like an ISO image"),
        (nocloud.path(".iso"), "v1.12.4", "has Talos v1.13.9"),
        (bare, TALOS_1_13.version, "is for the platform metal, but n1 has nocloud in the cluster file"),
    ];

    for (image, talos, reason) in &cases {
        let run = lab.up(image, &format!("--talos {talos}"));

        assert_eq!(run.code, 2, "{reason}: {}", run.all());
        assert!(run.stderr.contains(reason), "{reason}: {}", run.stderr);
    }

    // An image for the right platform without the extension.
    let plain = lab.desk.path().join("plain");
    let words = format!(
        "image build --talos {} --platform nocloud --base {} --product iso --name node -o {}",
        TALOS_1_13.version,
        files.path("metal-amd64.iso").display(),
        plain.display()
    );
    let run = ichor(lab.desk.path(), &words);
    assert_eq!(run.code, 0, "{}", run.all());
    let run = lab.up(&plain.join("node.iso"), &format!("--talos {}", TALOS_1_13.version));
    assert!(
        run.code == 2 && run.stderr.contains("lacks the extension `frr`, which n1 needs"),
        "{}",
        run.all()
    );

    // A release that matches the image but not the cluster file.
    let text = CLUSTER.replace("talos: v1.13.9", "talos: v1.12.4");
    fs::write(lab.desk.path().join("ichor.yaml"), text).unwrap();
    let run = lab.up(&nocloud.path(".iso"), &format!("--talos {}", TALOS_1_13.version));
    assert!(
        run.code == 2 && run.stderr.contains("n1 has Talos v1.12.4 in the cluster file"),
        "{}",
        run.all()
    );
    assert!(!lab.folder().exists());
}
