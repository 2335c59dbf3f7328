//! A leaf with real FRR, a machine in qemu connected to it, and the volume with the machine's configuration.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::kept;
use super::release::TalosRelease;
use super::vm::{TalosVm, cd};
use crate::common::{LEAF, agent, folder, ichor};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, wait_for};

/// Address of the node.
pub const ADDRESS: &str = "10.12.10.1";

pub const SECRETS: &str = include_str!("../../../../talos/tests/data/clusters/single-v1.12/secrets.yaml");

const CLUSTER: &str = r#"
cluster: {name: lab, id: 12, talos: TALOS}
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
    pub leaf: LabMachine,
    build: TempDir,
}

impl Rack {
    /// Starts a leaf with a port for a node of this Talos release.
    pub fn new(talos: TalosRelease) -> Self {
        let cluster = CLUSTER.replace("TALOS", talos.version);
        let build = folder(&[("ichor.yaml", &cluster), ("talosctl.yaml", SECRETS)]);
        for words in ["secrets import talosctl.yaml --plain -o secrets.yaml", "build -o out"] {
            let run = ichor(build.path(), words);
            assert_eq!(run.code, 0, "{words}: {}", run.all());
        }
        let leaf = Frr::V8.machine();
        // With an address of its own, from which the node's API is reached over BGP.
        leaf.ask("ip tuntap add eth0 mode tap && ip link set eth0 up && ip addr add 10.0.0.100/32 dev lo");
        Frr::V8.start(&leaf, None);
        let announced = "redistribute static\n  redistribute connected";
        let loaded = Frr::load(&leaf, &LEAF.replace("redistribute static", announced));
        assert!(loaded.status.success(), "{loaded:?}");
        Self { leaf, build }
    }

    /// The folder of the cluster file.
    pub fn folder(&self) -> &Path {
        self.build.path()
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

    /// Boots the node from these media and its volume, and waits until the leaf has a session with it and a route to it.
    pub fn boot(&self, arguments: &[String]) -> TalosVm<'_> {
        // The qemu of an earlier test exits shortly after its supervisor.
        let is_free = || self.leaf.ask("cat /sys/class/net/eth0/carrier").trim() == "0";
        wait_for("a free port", is_free, || self.leaf.ask("ip link"));
        let sessions = self.sessions();
        let mut vm = TalosVm::start(&self.leaf, &[arguments, &cd(self.volume().to_str().unwrap())].concat());
        let is_routed = |_: &TalosVm<'_>| {
            let route = self.leaf.run(&format!("ip route show {ADDRESS}"));
            self.sessions() > sessions && route.stdout.starts_with(ADDRESS.as_bytes())
        };
        vm.wait_until("a route to the node", is_routed, |_| self.neighbour().to_string());
        vm.wait_for_maintenance(ADDRESS);
        vm
    }
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
