//! A leaf with real FRR, a machine in qemu that is plugged into it, and the volume with the machine's configuration.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::kept;
use crate::common::{LEAF, agent, folder, ichor};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, wait_for};
use ichor_testbed::vm::qemu;

/// The node's address.
pub const ADDRESS: &str = "10.12.10.1";

/// The address of its port.
const PORT: &str = "52:54:00:12:00:01";

/// Seconds that an emulated machine may take to come up, and after which qemu ends by itself.
const PATIENCE: u64 = 280;

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

/// The archive of the extension with Debian's FRR, and the real agent in it.
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

/// A leaf, and what `ichor build` writes for the node beside it.
pub struct Rack {
    leaf: LabMachine,
    build: TempDir,
}

impl Rack {
    /// A leaf that runs, with a port for the node.
    pub fn new() -> Self {
        let build = folder(&[("ichor.yaml", CLUSTER), ("talosctl.yaml", SECRETS)]);
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

    /// The volume with the node's configuration.
    fn volume(&self) -> PathBuf {
        self.build.path().join("out/lab/nodes/n1/cidata.iso")
    }

    /// What the leaf says of the node.
    fn neighbour(&self) -> Value {
        let said = self.leaf.ask("vtysh -c 'show bgp neighbors eth0 json'");
        serde_json::from_str::<Value>(&said).unwrap()["eth0"].take()
    }

    /// How often the leaf had a session with the node.
    fn sessions(&self) -> u64 {
        self.neighbour()["connectionsEstablished"].as_u64().unwrap()
    }

    /// Switches the node on, with what it boots from.
    pub fn boot(&self, firmware: &[String]) -> Guest<'_> {
        // The qemu of an earlier one ends a moment after the one who watches its time.
        let is_free = || self.leaf.ask("cat /sys/class/net/eth0/carrier").trim() == "0";
        wait_for("a free port", is_free, || self.leaf.ask("ip link"));
        Guest::new(self, firmware)
    }
}

/// The node, as long as it is switched on.
pub struct Guest<'r> {
    rack: &'r Rack,
    qemu: Child,
    folder: TempDir,
    /// How often the leaf had a session before.
    sessions: u64,
}

impl<'r> Guest<'r> {
    fn new(rack: &'r Rack, firmware: &[String]) -> Self {
        let (folder, sessions) = (tempfile::tempdir().unwrap(), rack.sessions());
        let console = fs::File::create(folder.path().join("console")).unwrap();
        let volume = format!("if=none,id=cidata,media=cdrom,readonly=on,file={}", rack.volume().display());
        let qemu = qemu(&["nsenter", "--net", "--target", rack.leaf.pid()], PATIENCE)
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

    /// What stands on its console.
    pub fn console(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.path().join("console")).unwrap()).into_owned()
    }

    /// What the simulator said, line by line.
    pub fn said(&self) -> Vec<String> {
        let console = self.console();
        let lines = console.lines().filter_map(|line| line.split_once("simulator: "));
        lines.map(|(_, line)| line.trim().to_owned()).collect()
    }

    /// Waits until both ends say that there is a session, and the leaf has a route to the node.
    pub fn routes(&mut self) {
        let start = Instant::now();
        while !self.is_routed() {
            let is_over =
                start.elapsed() > Duration::from_secs(PATIENCE) || self.qemu.try_wait().unwrap().is_some();
            assert!(!is_over, "no routes\n{}\n{}", self.console(), self.rack.neighbour());
            thread::sleep(Duration::from_millis(250));
        }
    }

    fn is_routed(&self) -> bool {
        let route = self.rack.leaf.run(&format!("ip route show {ADDRESS}"));
        self.console().contains("session eth0: Established")
            && self.rack.sessions() > self.sessions
            && route.stdout.starts_with(ADDRESS.as_bytes())
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// What qemu is told to boot a kernel by itself.
pub fn netboot(kernel: &Path, initramfs: &Path, line: &str) -> Vec<String> {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let words = ["-kernel".to_owned(), text(kernel), "-initrd".to_owned(), text(initramfs)];
    words.into_iter().chain(["-append".to_owned(), line.to_owned()]).collect()
}

/// What a machine starts with.
#[derive(Clone, Copy, Debug)]
pub enum Firmware {
    /// SeaBIOS.
    Bios,
    /// OVMF.
    Uefi,
}

impl Firmware {
    /// What qemu is told to boot from a CD.
    pub fn cd(self, image: &Path) -> Vec<String> {
        let drive = format!("if=none,id=boot,media=cdrom,readonly=on,file={}", image.display());
        self.with(&["-drive", &drive, "-device", "ide-cd,drive=boot,bus=ide.0,bootindex=0"])
    }

    /// What qemu is told to boot from a disk in this format, which it does not change.
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
