//! A leaf with real FRR, a machine in qemu connected to it, and the volume with the machine's configuration.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::kept;
use super::parts::TALOS;
use crate::common::{LEAF, agent, folder, ichor};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, wait_for};
use ichor_testbed::vm::qemu;

/// Address of the node.
pub const ADDRESS: &str = "10.12.10.1";

/// MAC address of its port.
const PORT: &str = "52:54:00:12:00:01";

/// Time limit in seconds for an emulated machine to boot, after which qemu exits.
const BOOT_TIMEOUT: u64 = 280;

pub const SECRETS: &str = include_str!("../../../../talos/tests/data/clusters/single-v1.12/secrets.yaml");

const CLUSTER: &str = r#"
cluster: {name: lab, id: 12, talos: v1.13.9}
secrets: secrets.yaml
network: {node: null, loopback: {v4: 10.12.10.0/24}}
routing:
  backend: frr
  asn: 4200000991
  router_id: loopback
  neighbors: [{link: eth0, bfd: false}]
image: {registry: ghcr.io/example/talos}
defaults: {platform: nocloud, boot: {from: cidata}, install: {disk: /dev/sda}}
nodes: [{name: n1, role: controlplane, index: 1, macs: ["52:54:00:12:00:01"]}]
"#;

/// The extension archive with Debian's FRR and the real agent.
pub fn extension() -> PathBuf {
    let agent = agent();
    let of = [fs::read(env!("CARGO_BIN_EXE_ichor")).unwrap(), fs::read(&agent).unwrap()];
    let folder = kept("extension", &[&of[0], &of[1]], |folder| {
        let words = format!("extension build --debian bookworm --agent {} -o frr.tar", agent.display());
        let run = ichor(folder, &words);
        assert_eq!(run.code, 0, "{}", run.all());
    });
    folder.join("frr.tar")
}

/// A leaf, and the build output for its node.
pub struct Rack {
    leaf: LabMachine,
    build: TempDir,
}

impl Rack {
    /// Starts a leaf with a port for the node.
    pub fn new() -> Self {
        Self::for_release(TALOS)
    }

    /// Starts a leaf with a port for a node of this Talos release.
    pub fn for_release(talos: &str) -> Self {
        let cluster = CLUSTER.replace(TALOS, talos);
        let build = folder(&[("ichor.yaml", &cluster), ("talosctl.yaml", SECRETS)]);
        for words in ["secrets import talosctl.yaml --plain -o secrets.yaml", "build -o out"] {
            let run = ichor(build.path(), words);
            assert_eq!(run.code, 0, "{words}: {}", run.all());
        }
        let leaf = Frr::V8.machine();
        leaf.ask("ip tuntap add eth0 mode tap && ip link set eth0 up");
        Frr::V8.start(&leaf, None);
        let loaded = Frr::load(&leaf, LEAF);
        assert!(loaded.status.success(), "{loaded:?}");
        Self { leaf, build }
    }

    /// The folder of the cluster file.
    pub fn folder(&self) -> &Path {
        self.build.path()
    }

    /// Runs a shell command on the leaf, which reaches the node over BGP.
    pub fn run_on_leaf(&self, script: &str) -> std::process::Output {
        self.leaf.run(script)
    }

    /// The volume with the node's configuration.
    pub fn volume(&self) -> PathBuf {
        self.build.path().join("out/lab/nodes/n1/cidata.iso")
    }

    /// The leaf's state of the node.
    fn neighbour(&self) -> Value {
        let output = self.leaf.ask("vtysh -c 'show bgp neighbors eth0 json'");
        serde_json::from_str::<Value>(&output).unwrap()["eth0"].take()
    }

    /// Number of sessions that the leaf established with the node.
    fn sessions(&self) -> u64 {
        self.neighbour()["connectionsEstablished"].as_u64().unwrap()
    }

    /// Boots the node from these media.
    pub fn boot(&self, firmware: &[String]) -> Guest<'_> {
        // The qemu of an earlier test exits shortly after its supervisor.
        let is_free = || self.leaf.ask("cat /sys/class/net/eth0/carrier").trim() == "0";
        wait_for("a free port", is_free, || self.leaf.ask("ip link"));
        Guest::new(self, firmware)
    }
}

/// The running node, stopped on drop.
pub struct Guest<'r> {
    rack: &'r Rack,
    qemu: Child,
    folder: TempDir,
    /// Number of sessions before the boot.
    sessions: u64,
}

impl<'r> Guest<'r> {
    fn new(rack: &'r Rack, firmware: &[String]) -> Self {
        let (folder, sessions) = (tempfile::tempdir().unwrap(), rack.sessions());
        let console = fs::File::create(folder.path().join("console")).unwrap();
        let volume = format!("if=none,id=cidata,media=cdrom,readonly=on,file={}", rack.volume().display());
        let qemu = qemu(&["nsenter", "--net", "--target", rack.leaf.pid()], BOOT_TIMEOUT)
            .args(["-machine", "q35", "-m", "1024"])
            .args(["-drive", &volume, "-device", "ide-cd,drive=cidata,bus=ide.1"])
            .args(["-netdev", "tap,id=port,ifname=eth0,script=no,downscript=no"])
            .args(["-device", &format!("virtio-net-pci,netdev=port,mac={PORT},romfile=")])
            .args(firmware)
            .stdout(console.try_clone().unwrap())
            .stderr(console)
            .spawn()
            .unwrap();
        Self { rack, qemu, folder, sessions }
    }

    /// Console output.
    pub fn console(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.path().join("console")).unwrap()).into_owned()
    }

    /// Output lines of the simulator.
    pub fn simulator_lines(&self) -> Vec<String> {
        let console = self.console();
        let lines = console.lines().filter_map(|line| line.split_once("simulator: "));
        lines.map(|(_, line)| line.trim().to_owned()).collect()
    }

    /// Waits until both ends report an established session and the leaf has a route to the node.
    pub fn routes(&mut self) {
        self.wait_until(Self::is_routed);
    }

    /// Waits until the leaf has a session with the node and a route to it.
    pub fn leaf_routes(&mut self) {
        self.wait_until(Self::is_routed_at_leaf);
    }

    fn wait_until(&mut self, done: fn(&Self) -> bool) {
        let start = Instant::now();
        while !done(self) {
            let is_over = start.elapsed() > Duration::from_secs(BOOT_TIMEOUT)
                || self.qemu.try_wait().unwrap().is_some();
            assert!(!is_over, "no routes\n{}\n{}", self.console(), self.rack.neighbour());
            thread::sleep(Duration::from_millis(250));
        }
    }

    fn is_routed(&self) -> bool {
        self.console().contains("session eth0: Established") && self.is_routed_at_leaf()
    }

    fn is_routed_at_leaf(&self) -> bool {
        let route = self.rack.leaf.run(&format!("ip route show {ADDRESS}"));
        self.rack.sessions() > self.sessions && route.stdout.starts_with(ADDRESS.as_bytes())
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// qemu arguments for a direct kernel boot.
pub fn netboot(kernel: &Path, initramfs: &Path, line: &str) -> Vec<String> {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let words = ["-kernel".to_owned(), text(kernel), "-initrd".to_owned(), text(initramfs)];
    words.into_iter().chain(["-append".to_owned(), line.to_owned()]).collect()
}

/// Firmware of a machine.
#[derive(Clone, Copy, Debug)]
pub enum Firmware {
    /// SeaBIOS.
    Bios,
    /// OVMF.
    Uefi,
}

impl Firmware {
    /// qemu arguments for booting from a CD.
    pub fn cd(self, image: &Path) -> Vec<String> {
        let drive = format!("if=none,id=boot,media=cdrom,readonly=on,file={}", image.display());
        self.with(&["-drive", &drive, "-device", "ide-cd,drive=boot,bus=ide.0,bootindex=0"])
    }

    /// qemu arguments for booting from a disk in this format, without changing it.
    pub fn disk(self, image: &Path, format: &str) -> Vec<String> {
        let drive = format!("if=none,id=boot,format={format},snapshot=on,file={}", image.display());
        self.with(&["-drive", &drive, "-device", "virtio-blk-pci,drive=boot,bootindex=0"])
    }

    fn with(self, words: &[&str]) -> Vec<String> {
        let firmware: &[&str] = match self {
            Self::Bios => &[],
            Self::Uefi => {
                &["-drive", "if=pflash,format=raw,unit=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd"]
            }
        };
        firmware.iter().chain(words).map(|word| (*word).to_owned()).collect()
    }
}
