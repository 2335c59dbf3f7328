//! A node between two leafs with real FRR: `ichor build` writes the configuration of all three.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::built::ARGUMENTS;
use super::rack::SECRETS;
use super::release::TalosRelease;
use super::route_log::RouteLog;
use super::vm::{PORT, TalosVm, cd, direct_boot};
use crate::common::{folder, ichor};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::LabMachine;

/// Loopback address of the node.
pub const ADDRESS: &str = "10.12.10.1";

/// Prefixes that the node announces, as `ip route` prints them.
pub const PREFIXES: [&str; 3] = [ADDRESS, "10.12.20.1", "fd00:12:fe::1"];

/// Time limit for a change on an emulated machine.
const CHANGE_TIMEOUT: Duration = Duration::from_mins(4);

/// Time limit in seconds for all changes together, after which qemu exits.
const LIFETIME: u64 = 900;

/// MAC address of the node's second port.
const SECOND_PORT: &str = "52:54:00:12:00:02";

const CLUSTER: &str = r#"
cluster: {name: lab, id: 12, talos: TALOS}
secrets: secrets.yaml
network:
  node: null
  loopback: {v4: 10.12.10.0/24}
  dummy: {dummy0: {v4: 10.12.20.0/24}}
  services: {pools: {default: [203.0.113.0/24]}}
fabric:
  routers:
    - {name: leaf1, role: leaf, asn: 65100, software: frr, version: FIRST}
    - {name: leaf2, role: leaf, asn: 65100, software: frr, version: SECOND}
routing:
  asn: 65000
  router_id: loopback
  neighbors: [{router: leaf1, link: fab0, bfd: true}, {router: leaf2, link: fab1, bfd: BFD}]
  ROUTING
defaults: {platform: nocloud, boot: {from: cidata}, ports: [fab0, fab1], install: {disk: /dev/sda}, kernel: {modules: [vrf]}}
nodes: [{name: n1, role: controlplane, index: 1, macs: ["52:54:00:12:00:01", "52:54:00:12:00:02"]}]
"#;

/// Both leafs, and the build output for the node and them.
pub struct LeafPair {
    pub leafs: [LabMachine; 2],
    release: TalosRelease,
    build: TempDir,
}

impl LeafPair {
    /// Builds a cluster with these keys of `routing`, and starts its leafs: FRR 8.4, and the second with this FRR.
    ///
    /// FRR 10.3.0 may not start BGP with BFD, so this leaf has none.
    pub fn new(release: TalosRelease, routing: &str, second: Frr) -> Self {
        let (version, bfd) = if second == Frr::V8 { ("8.4.4", "true") } else { ("10.3.0", "false") };
        let cluster = CLUSTER
            .replace("TALOS", release.version)
            .replace("FIRST", "8.4.4")
            .replace("SECOND", version)
            .replace("BFD", bfd)
            .replace("ROUTING", routing);
        let build = folder(&[("ichor.yaml", &cluster), ("talosctl.yaml", SECRETS)]);
        let run = ichor(build.path(), "secrets import talosctl.yaml --plain -o secrets.yaml");
        assert_eq!(run.code, 0, "{}", run.all());
        let pair = Self { leafs: [Frr::V8.machine(), second.machine()], release, build };
        pair.build_files();
        pair.connect();
        for (leaf, (frr, name)) in pair.leafs.iter().zip([(Frr::V8, "leaf1"), (second, "leaf2")]) {
            let read = |file: &str| fs::read_to_string(pair.file(&format!("fabric/{name}/{file}"))).unwrap();
            frr.start(leaf, Some(&read("daemons")));
            let loaded = Frr::load(leaf, &read("frr.conf"));
            assert!(loaded.status.success(), "{loaded:?}");
        }
        pair
    }

    /// Creates the node's ports on the first leaf, and a bridge from the second one to the second leaf.
    ///
    /// The first leaf has an address, from which the node's API is reached. Replies may come by way of the second leaf.
    fn connect(&self) {
        let [first, second] = &self.leafs;
        first.ask(
            "ip tuntap add swp1 mode tap && ip link set swp1 up && ip addr add 10.0.0.100/32 dev lo && \
             ip tuntap add port2 mode tap && ip link set port2 up && \
             ip link add br2 type bridge mcast_snooping 0 && echo 1 >/proc/sys/net/ipv6/conf/br2/disable_ipv6 && \
             ip link set br2 up && ip link set port2 master br2",
        );
        first.cable("to-leaf2", second, "swp1");
        first.ask("ip link set to-leaf2 master br2");
        first.cable("between", second, "between");
        first.ask("ip addr add 10.0.1.0/31 dev between");
        second.ask("ip addr add 10.0.1.1/31 dev between && ip route add 10.0.0.100 via 10.0.1.0");
        for leaf in &self.leafs {
            leaf.ask("for file in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >$file; done");
        }
    }

    /// The folder of the cluster file.
    pub fn folder(&self) -> &Path {
        self.build.path()
    }

    /// A file of the build.
    pub fn file(&self, name: &str) -> PathBuf {
        let path = self.folder().join("out/lab").join(name);
        assert!(path.exists(), "{} is missing", path.display());
        path
    }

    fn build_files(&self) {
        let run = ichor(self.folder(), "build -o out");
        assert_eq!(run.code, 0, "{}", run.all());
    }

    /// Changes the cluster file, and returns the node's configuration after another build.
    pub fn change(&self, from: &str, to: &str) -> PathBuf {
        let path = self.folder().join("ichor.yaml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "no {from}: {text}");
        fs::write(&path, text.replace(from, to)).unwrap();
        self.build_files();
        self.file("nodes/n1/boot.yaml")
    }

    /// Builds an image with these extensions, boots the node from it, and waits until both leafs have its routes.
    pub fn boot(&self, extensions: &[PathBuf]) -> TalosVm<'_> {
        let extensions: String = extensions
            .iter()
            .flat_map(|path| [" --extension ".to_owned(), path.display().to_string()])
            .collect();
        let words = format!(
            "image build --talos {} --platform nocloud --base {}{extensions} --product netboot --name node -o image \
             --kernel-arg {}",
            self.release.version,
            self.release.files().path(".").display(),
            ARGUMENTS.join(" --kernel-arg ")
        );
        let run = ichor(self.folder(), &words);
        assert_eq!(run.code, 0, "{words}: {}", run.all());
        let image = |ending: &str| self.folder().join(format!("image/node{ending}")).display().to_string();
        let line = fs::read_to_string(image(".cmdline")).unwrap();
        let direct = direct_boot(&image(".vmlinuz"), &image(".initramfs.xz"), line.trim());
        let volume = cd(self.file("nodes/n1/cidata.iso").to_str().unwrap());
        let ports = [("swp1", PORT), ("port2", SECOND_PORT)];
        let mut vm = TalosVm::start_on(&self.leafs[0], &ports, LIFETIME, &[direct, volume].concat());
        vm.wait_until("the node's routes", |_| self.has_routes(), |_| self.state());
        vm.wait_for_maintenance(ADDRESS);
        vm
    }

    /// Whether both leafs have the node's routes from BGP.
    pub fn has_routes(&self) -> bool {
        self.leafs.iter().all(|leaf| PREFIXES.iter().all(|prefix| has_route(leaf, prefix)))
    }

    /// Number of sessions that each leaf established with the node.
    pub fn sessions(&self) -> [u64; 2] {
        self.leafs.each_ref().map(|leaf| neighbor(leaf)["connectionsEstablished"].as_u64().unwrap())
    }

    /// Runs `act`, waits until both leafs have a later session and all routes again, and returns the log of their routes.
    pub fn routes_during_restart(&self, act: impl FnOnce()) -> RouteLog<'_> {
        let (before, log) = (self.sessions(), RouteLog::start(&self.leafs));
        act();
        self.wait_for("later sessions", || {
            self.sessions().iter().zip(before).all(|(now, before)| *now > before)
        });
        self.wait_for("the node's routes", || self.has_routes());
        // Leafs delete what the node did not announce again when they receive the end of its routes.
        std::thread::sleep(Duration::from_secs(3));
        assert!(self.has_routes(), "{}", self.state());
        log
    }

    fn wait_for(&self, what: &str, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < CHANGE_TIMEOUT, "{what}: never seen\n{}", self.state());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Runs `ichor` in the first leaf's network, and returns its JSON.
    pub fn ichor(&self, words: &str) -> Value {
        let mut command: Command = self.leafs[0].enter_network();
        command.arg(env!("CARGO_BIN_EXE_ichor")).args(words.split(' ')).arg("--json");
        let output = command.current_dir(self.folder()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words}: {error}: {output:?}"))
    }

    /// State of both leafs, to print after a timeout.
    pub fn state(&self) -> String {
        let of = |leaf: &LabMachine| {
            leaf.ask(
                "vtysh -c 'show bgp summary' -c 'show bfd peers brief'; ip route; ip -6 route show proto bgp",
            )
        };
        self.leafs.iter().map(of).collect()
    }
}

/// Whether a leaf has a route from BGP to a prefix.
fn has_route(leaf: &LabMachine, prefix: &str) -> bool {
    let routes = leaf.ask("ip route show proto bgp; ip -6 route show proto bgp");
    routes.lines().any(|line| line.starts_with(&format!("{prefix} ")))
}

/// A leaf's state of the node.
fn neighbor(leaf: &LabMachine) -> Value {
    let output = leaf.ask("vtysh -c 'show bgp neighbors swp1 json'");
    serde_json::from_str::<Value>(&output).unwrap()["swp1"].take()
}
