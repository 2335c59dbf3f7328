//! A leaf: FRR that peers with any node on its ports.

use std::cell::RefCell;

use serde_json::Value;

use super::node::Node;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, RootFileSystem, output_text};

/// An address that every leaf announces.
pub const SHARED: &str = "10.255.0.99";

pub struct Leaf {
    pub machine: LabMachine,
    frr: Frr,
    nth: u8,
    ports: RefCell<Vec<String>>,
}

impl Leaf {
    /// A leaf without daemons and cables.
    pub fn new(frr: Frr, nth: u8) -> Self {
        let machine = frr.machine();
        machine.ask(&format!(
            "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding\n\
             ip address add 10.255.0.{nth}/32 dev lo; ip address add {SHARED}/32 dev lo\n\
             ip address add fd00:255::{nth}/128 dev lo"
        ));
        Self { machine, frr, nth, ports: RefCell::default() }
    }

    /// Connects a cable to the port of a node.
    pub fn cable(&self, node: &Node, port: &str) {
        let ours = format!("to{}", self.ports.borrow().len());
        node.machine.cable(port, &self.machine, &ours);
        self.ports.borrow_mut().push(ours);
    }

    /// Takes a hardware port from the network namespace of the test.
    pub fn take_port(&self, port: &str) {
        let ours = format!("to{}", self.ports.borrow().len());
        self.machine.take_port(port, &ours);
        self.ports.borrow_mut().push(ours);
    }

    /// Starts its daemons, without BFD.
    pub fn start(&self) {
        let mgmtd = if self.frr == Frr::V10 { "mgmtd=yes\nmgmtd_options=\"-P 0\"" } else { "mgmtd=no" };
        let daemons = format!("{mgmtd}\nzebra_options=\"-P 0\"\nbgpd_options=\"-P 0\"\n");
        self.frr.start(&self.machine, Some(&daemons));
        let (mut interfaces, mut neighbors) = (String::new(), String::new());
        for port in self.ports.borrow().iter() {
            interfaces +=
                &format!("interface {port}\n no ipv6 nd suppress-ra\n ipv6 nd ra-interval 1\nexit\n");
            neighbors += &format!(" neighbor {port} interface peer-group NODES\n");
        }
        self.load_config(&interfaces, &neighbors);
    }

    /// Enables BFD with every node on its ports.
    pub fn enable_bfd(&self) {
        self.machine.start("/usr/lib/frr/bfdd -P 0", "/run/frr/bfdd.vty");
        self.machine.ask(&format!(
            "vtysh -c 'configure terminal' -c 'router bgp 6510{}' -c 'neighbor NODES bfd'",
            self.nth
        ));
    }

    /// Whether any BFD session is up.
    pub fn has_bfd_session(&self) -> bool {
        let output = self.machine.ask("vtysh -c 'show bfd peers json'");
        let json: Value = serde_json::from_str(&output).unwrap();
        json.as_array().unwrap().iter().any(|peer| peer["status"] == "up")
    }

    /// Loads a configuration with these interfaces and these neighbours, which are in the group NODES.
    pub fn load_config(&self, interfaces: &str, neighbors: &str) {
        let family = |family: &str| {
            format!(
                " address-family {family} unicast\n  redistribute connected route-map LO\n  neighbor NODES activate\n  \
                 maximum-paths 8\n exit-address-family\n"
            )
        };
        let conf = format!(
            "frr defaults datacenter\nroute-map LO permit 10\n match interface lo\nexit\n{interfaces}\
             router bgp 6510{nth}\n bgp router-id 10.255.0.{nth}\n no bgp ebgp-requires-policy\n \
             bgp bestpath as-path multipath-relax\n neighbor NODES peer-group\n neighbor NODES remote-as external\n \
             neighbor NODES timers connect 1\n neighbor NODES capability extended-nexthop\n{neighbors}{}{}exit\n",
            family("ipv4"),
            family("ipv6"),
            nth = self.nth,
        );
        let loaded = Frr::load(&self.machine, &conf);
        assert!(loaded.status.success(), "{}\n{conf}", output_text(&loaded));
    }

    /// The kernel's route to an address, on one line.
    pub fn route_to(&self, net: &str) -> String {
        let family = if net.contains(':') { 6 } else { 4 };
        self.machine.ask(&format!("ip -o -{family} route show {net}"))
    }

    /// Whether the kernel has a BGP route to an address.
    pub fn has_route_to(&self, net: &str) -> bool {
        self.route_to(net).contains(" proto bgp")
    }

    /// The AS paths to an address, in the daemon's table.
    pub fn as_paths(&self, address: &str) -> Vec<String> {
        let family = if address.contains(':') { "ipv6" } else { "ipv4" };
        let output = self.machine.ask(&format!("vtysh -c 'show bgp {family} unicast {address} json'"));
        let json: Value = serde_json::from_str(&output).unwrap();
        let paths = json["paths"].as_array().into_iter().flatten();
        paths.map(|path| path["aspath"]["string"].as_str().unwrap().to_owned()).collect()
    }

    /// Whether an address responds.
    pub fn reaches(&self, address: &str) -> bool {
        self.unanswered(&[address]).is_empty()
    }

    /// The addresses that do not respond. All are pinged at once.
    pub fn unanswered(&self, addresses: &[&str]) -> String {
        let ping = |address: &&str| {
            format!("(busybox ping -c 3 -W 5 {address} >/dev/null 2>&1 || echo {address}) &\n")
        };
        let beside = LabMachine::beside(&self.machine, RootFileSystem::Own);
        beside.ask(&format!("{}wait", addresses.iter().map(ping).collect::<String>()))
    }

    /// How often its sessions were established.
    pub fn established(&self) -> u64 {
        let output = self.machine.ask("vtysh -c 'show bgp neighbors json'");
        let json: Value = serde_json::from_str(&output).unwrap();
        let neighbors = json.as_object().unwrap().values();
        neighbors.filter_map(|neighbor| neighbor["connectionsEstablished"].as_u64()).sum()
    }

    /// The state to print after a timeout.
    pub fn state(&self) -> String {
        let output =
            self.machine.run("ip route; ip -6 route; vtysh -c 'show bgp summary' -c 'show bgp ipv4 unicast'");
        format!("----- leaf {}\n{}", self.nth, String::from_utf8_lossy(&output.stdout))
    }
}
