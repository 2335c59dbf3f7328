//! What the tests of daemons that are one process have in common: machines, leafs, and a node that this very process is on.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use ichor_agent::daemon::place::DaemonPaths;
use ichor_bgp::agent::session::{Session, SessionState};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, RootFileSystem, lab_path, output_text};
use nix::sched::{CloneFlags, setns};
use serde_json::Value;
use tempfile::TempDir;

/// How long what should come may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A node between two leafs that run FRR 8.4, with the folders of a daemon.
pub struct Scene {
    pub node: LabMachine,
    pub leafs: [LabMachine; 2],
    folder: TempDir,
}

/// What a leaf has besides its port: lines about neighbours.
pub struct Leaf {
    pub asn: u32,
    /// Lines that put the node into the group NODES.
    pub neighbor: &'static str,
    /// More lines of the group.
    pub group: &'static str,
    /// The address of its port.
    pub address: Option<&'static str>,
}

impl Scene {
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
            leaf.tell(&machine, nth);
            machine
        });
        Self { node, leafs, folder: tempfile::tempdir().unwrap() }
    }

    /// Where a daemon is, of a command that starts it. It ends with the thread that started it.
    fn place(&self, command: &str) -> DaemonPaths {
        let program = self.folder.path().join("daemon");
        fs::write(&program, format!("#!/bin/sh\nexec setpriv --pdeathsig KILL -- {command} \"$@\"\n"))
            .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        DaemonPaths { program, folder: self.folder.path().join("etc"), run: self.folder.path().join("run") }
    }

    /// Where a daemon of this machine is.
    pub fn of_machine(&self, program: &str) -> DaemonPaths {
        self.place(program)
    }

    /// Where a daemon of Debian 13 is, which brings its own libraries.
    pub fn of_trixie(&self, program: &str) -> DaemonPaths {
        let root = lab_path("trixie");
        let root = root.display();
        let libraries = format!("{root}/usr/lib/x86_64-linux-gnu");
        self.place(&format!("{root}/lib64/ld-linux-x86-64.so.2 --library-path {libraries} {root}{program}"))
    }

    /// Does something on the node: what is connected to and what is started is in its network.
    pub fn on_node<T: Send>(&self, work: impl AsyncFnOnce() -> T + Send) -> T {
        let here = || {
            let space = File::open(format!("/proc/{}/ns/net", self.node.pid())).unwrap();
            setns(space, CloneFlags::CLONE_NEWNET).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(work())
        };
        std::thread::scope(|scope| scope.spawn(here).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// What a leaf has of a family from others: prefixes and paths.
    pub fn rib(&self, leaf: usize, family: &str) -> BTreeMap<String, String> {
        let said = self.leafs[leaf].ask(&format!("vtysh -c 'show bgp {family} unicast json'"));
        let json: Value = serde_json::from_str(&said).unwrap();
        let path = |routes: &Value| routes[0]["path"].as_str().unwrap_or_default().to_owned();
        let routes = json["routes"].as_object().into_iter().flatten();
        let all = routes.map(|(net, routes)| (net.clone(), path(routes)));
        all.filter(|(_, path)| !path.is_empty()).collect()
    }

    /// How often a leaf's sessions came up.
    pub fn established(&self, leaf: usize) -> u64 {
        let said = self.leafs[leaf].ask("vtysh -c 'show bgp neighbors json'");
        let json: Value = serde_json::from_str(&said).unwrap();
        let neighbors = json.as_object().unwrap().values();
        neighbors.filter_map(|neighbor| neighbor["connectionsEstablished"].as_u64()).sum()
    }
}

impl Leaf {
    fn tell(&self, machine: &LabMachine, nth: u8) {
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

/// Asks until the answer is yes; what was asked last is told when it never is.
pub async fn until<T: std::fmt::Debug>(
    what: &str,
    mut ask: impl AsyncFnMut() -> T,
    yes: impl Fn(&T) -> bool,
) -> T {
    let start = Instant::now();
    loop {
        let answer = ask().await;
        if yes(&answer) {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: never seen\n{answer:#?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Whether that many sessions are up.
pub fn up(sessions: &[Session], number: usize) -> bool {
    sessions.iter().filter(|session| session.state == SessionState::Established).count() == number
}

/// What care of a daemon comes to that is let go of again and again, as the agent does whenever something else happens.
pub async fn tended(mut tend: impl AsyncFnMut() -> String) -> String {
    loop {
        if let Ok(why) = tokio::time::timeout(Duration::from_millis(100), tend()).await {
            return why;
        }
    }
}
