//! Shared parts of the tests of single-process daemons: machines, leafs, and a node on which this test process runs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use ichor_agent::daemon::paths::DaemonPaths;
use ichor_bgp::agent::session::{Session, SessionState};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, RootFileSystem, lab_path, output_text};
use nix::sched::{CloneFlags, setns};
use serde_json::Value;
use tempfile::TempDir;

/// The longest wait for an expected state.
const PATIENCE: Duration = Duration::from_mins(1);

/// A node between two leafs that run FRR 8.4, with the directories of a daemon.
pub struct Topology {
    pub node: LabMachine,
    pub leafs: [LabMachine; 2],
    folder: TempDir,
}

/// The configuration of a leaf besides its port: lines about neighbours.
pub struct Leaf {
    pub asn: u32,
    /// Lines that put the node into the group NODES.
    pub neighbor: &'static str,
    /// More lines of the group.
    pub group: &'static str,
    /// The address of its port.
    pub address: Option<&'static str>,
}

impl Topology {
    /// Cables, addresses and leafs. `addresses` are on the node's loopback.
    pub fn new(leafs: [Leaf; 2], addresses: &[&str]) -> Self {
        let node = LabMachine::new(RootFileSystem::Own);
        node.ask("echo 1 >/proc/sys/net/ipv6/conf/all/forwarding; echo 1 >/proc/sys/net/ipv4/ip_forward");
        for address in addresses {
            node.ask(&format!("ip address add {address} dev lo"));
        }
        let mut nth = 0;
        let leafs = leafs.map(|leaf| {
            nth += 1;
            let machine = Frr::V8.machine();
            let daemons = "mgmtd=no\nzebra_options=\"-P 0\"\nbgpd_options=\"-P 0\"\nbfdd_options=\"-P 0\"\n";
            Frr::V8.start(&machine, Some(daemons));
            machine
                .ask("echo 1 >/proc/sys/net/ipv6/conf/all/forwarding; echo 1 >/proc/sys/net/ipv4/ip_forward");
            node.cable(&format!("eth{}", nth - 1), &machine, "to-node");
            for address in
                [format!("10.255.0.{nth}/32"), "10.255.0.99/32".to_owned(), format!("fd00:255::{nth}/128")]
            {
                machine.ask(&format!("ip address add {address} dev lo"));
            }
            if let Some(address) = leaf.address {
                machine.ask(&format!("ip address add {address} dev to-node"));
            }
            leaf.load_config(&machine, nth);
            machine
        });
        Self { node, leafs, folder: tempfile::tempdir().unwrap() }
    }

    /// The paths of a daemon with a start command. It ends with the thread that started it.
    fn paths(&self, command: &str) -> DaemonPaths {
        let program = self.folder.path().join("daemon");
        fs::write(&program, format!("#!/bin/sh\nexec setpriv --pdeathsig KILL -- {command} \"$@\"\n"))
            .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        DaemonPaths { program, folder: self.folder.path().join("etc"), run: self.folder.path().join("run") }
    }

    /// The paths of a daemon of this machine.
    pub fn machine_paths(&self, program: &str) -> DaemonPaths {
        self.paths(program)
    }

    /// The paths of a daemon of Debian 13, which has its own libraries.
    pub fn trixie_paths(&self, program: &str) -> DaemonPaths {
        let root = lab_path("trixie");
        let root = root.display();
        let libraries = format!("{root}/usr/lib/x86_64-linux-gnu");
        self.paths(&format!("{root}/lib64/ld-linux-x86-64.so.2 --library-path {libraries} {root}{program}"))
    }

    /// Runs work on the node: its connections and child processes are in the node's network.
    pub fn on_node<T: Send>(&self, work: impl AsyncFnOnce() -> T + Send) -> T {
        let work_on_node = || {
            let space = File::open(format!("/proc/{}/ns/net", self.node.pid())).unwrap();
            setns(space, CloneFlags::CLONE_NEWNET).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(work())
        };
        std::thread::scope(|scope| scope.spawn(work_on_node).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// The routes of a family that a leaf received: prefixes and paths.
    pub fn rib(&self, leaf: usize, family: &str) -> BTreeMap<String, String> {
        let output = self.leafs[leaf].ask(&format!("vtysh -c 'show bgp {family} unicast json'"));
        let json: Value = serde_json::from_str(&output).unwrap();
        let path = |routes: &Value| routes[0]["path"].as_str().unwrap_or_default().to_owned();
        let routes = json["routes"].as_object().into_iter().flatten();
        let all = routes.map(|(net, routes)| (net.clone(), path(routes)));
        all.filter(|(_, path)| !path.is_empty()).collect()
    }

    /// How often a leaf's sessions were established.
    pub fn established(&self, leaf: usize) -> u64 {
        let output = self.leafs[leaf].ask("vtysh -c 'show bgp neighbors json'");
        let json: Value = serde_json::from_str(&output).unwrap();
        let neighbors = json.as_object().unwrap().values();
        neighbors.filter_map(|neighbor| neighbor["connectionsEstablished"].as_u64()).sum()
    }
}

impl Leaf {
    fn load_config(&self, machine: &LabMachine, nth: u8) {
        let Self { asn, neighbor, group, .. } = self;
        let port = if neighbor.contains(" interface ") {
            "interface to-node\n no ipv6 nd suppress-ra\n ipv6 nd ra-interval 1\nexit\n"
        } else {
            ""
        };
        let family = |family: &str| {
            format!(
                " address-family {family} unicast\n  redistribute connected route-map LO\n  neighbor NODES activate\n  \
                 exit-address-family\n"
            )
        };
        let conf = format!(
            "frr defaults datacenter\nroute-map LO permit 10\n match interface lo\nexit\n{port}\
             router bgp {asn}\n bgp router-id 10.255.0.{nth}\n no bgp ebgp-requires-policy\n bgp graceful-restart\n \
             neighbor NODES peer-group\n neighbor NODES remote-as external\n neighbor NODES timers connect 1\n \
             neighbor NODES capability extended-nexthop\n{group}{neighbor}{}{}exit\n",
            family("ipv4"),
            family("ipv6"),
        );
        let loaded = Frr::load(machine, &conf);
        assert!(loaded.status.success(), "{}\n{conf}", output_text(&loaded));
    }
}

/// Polls until a condition is fulfilled; after a timeout, panics with the last value.
pub async fn poll_until<T: std::fmt::Debug>(
    what: &str,
    mut poll: impl AsyncFnMut() -> T,
    condition: impl Fn(&T) -> bool,
) -> T {
    let start = Instant::now();
    loop {
        let answer = poll().await;
        if condition(&answer) {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: never seen\n{answer:#?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Whether that many sessions are established.
pub fn are_established(sessions: &[Session], number: usize) -> bool {
    sessions.iter().filter(|session| session.state == SessionState::Established).count() == number
}

/// The result of supervision that is cancelled repeatedly, as the agent does whenever another event occurs.
pub async fn supervised(mut supervise: impl AsyncFnMut() -> String) -> String {
    loop {
        if let Ok(why) = tokio::time::timeout(Duration::from_millis(100), supervise()).await {
            return why;
        }
    }
}
