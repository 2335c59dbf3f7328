//! Nodes that run the agent, between leafs, with load balancers behind them.

mod anycast;
mod build;
mod check;
mod gobgp;
mod leaf;
mod metallb;
mod namespace;
mod node;
mod numbered;
mod port;
mod ready_made;
mod recovery;
mod restart;
mod tls;
mod vrf;

use ichor_testbed::speaker::BgpSpeaker;
use leaf::Leaf;
use node::{Node, model_of_variables};

use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, wait_for};

/// The address of the node.
const ADDRESS: &str = "10.0.0.1";

/// The configuration of a load balancer in a namespace, and ports by their names.
const NAMED: [(&str, &str); 3] =
    [("NODE_IP", ADDRESS), ("ASN_LOCAL", "4200000001"), ("FE_PORTS", "eth0,eth1")];

/// A node between two leafs.
pub struct Topology {
    pub node: Node,
    pub leafs: [Leaf; 2],
}

impl Topology {
    /// A node with an address, with daemons of this release, connected by eth0 and eth1 to leafs of the same release.
    /// No agent runs yet.
    pub fn new(frr: Frr) -> Self {
        let node = Node::new(frr.machine());
        node.machine.ask(&format!("ip address add {ADDRESS}/32 dev lo"));
        let leafs = [1, 2].map(|nth| Leaf::new(frr, nth));
        for (leaf, port) in leafs.iter().zip(["eth0", "eth1"]) {
            leaf.cable(&node, port);
        }
        leafs.iter().for_each(Leaf::start);
        Self { node, leafs }
    }

    /// A node whose agent is configured by variables, after routes have been exchanged with both leafs.
    pub fn routed(frr: Frr) -> Self {
        let topology = Self::new(frr);
        topology.node.start(&NAMED, "");
        topology.wait_for_all("from the start");
        topology
    }

    /// Waits until the leafs have a route to the node, and the node has routes over both leafs.
    pub fn wait_for_all(&self, when: &str) {
        self.wait_for(when, ADDRESS, true);
        self.wait_for_both_next_hops(when);
    }

    /// Waits until the node's route to the shared address uses both leafs.
    pub fn wait_for_both_next_hops(&self, when: &str) {
        let both = || self.node.route_to(leaf::SHARED).matches("nexthop").count() == 2;
        wait_for(&format!("both next hops, {when}"), both, || self.state());
    }

    /// Waits until both leafs have a route to an address, or none has.
    pub fn wait_for(&self, when: &str, net: &str, expected: bool) {
        let matches = || self.leafs.iter().all(|leaf| leaf.has_route_to(net) == expected);
        let verb = if expected { "there" } else { "gone" };
        wait_for(&format!("{net} {verb}, {when}"), matches, || self.state());
    }

    /// How often sessions with the leafs were established.
    pub fn established(&self) -> Vec<u64> {
        self.leafs.iter().map(Leaf::established).collect()
    }

    /// The BGP routes that leafs and node lost while `what` ran.
    pub fn lost(&self, what: impl FnOnce()) -> String {
        let [first, second] = &self.leafs;
        let machines =
            [("node", &self.node.machine), ("leaf 1", &first.machine), ("leaf 2", &second.machine)];
        for (_, machine) in machines {
            machine.ask("ip -o -ts monitor route >/tmp/monitor 2>&1 & echo $! >/tmp/monitor.pid; sleep 0.2");
        }
        what();
        let monitored = |machine: &LabMachine| machine.ask("kill $(cat /tmp/monitor.pid); cat /tmp/monitor");
        machines.map(|(name, machine)| lost_routes(name, &monitored(machine))).concat()
    }

    /// The state to print after a timeout.
    pub fn state(&self) -> String {
        self.node.state() + &self.leafs.iter().map(Leaf::state).collect::<String>()
    }
}

/// The routes that `ip monitor` saw removed and not restored at once. zebra replaces IPv6 routes by removing them
/// first.
fn lost_routes(name: &str, monitored: &str) -> String {
    let lines: Vec<&str> = monitored.lines().collect();
    let time =
        |line: &str| line.get(18..27).and_then(|seconds| seconds.parse::<f64>().ok()).unwrap_or_default();
    let gone = |(nth, line): (usize, &&str)| {
        let net = line.split_once("Deleted ")?.1.split(' ').next()?;
        let back = |later: &&str| {
            let soon = (time(later) - time(line)).rem_euclid(60.0) < 0.05;
            soon && later.contains(&format!("] {net} "))
        };
        let is_lost = ["proto bgp", "proto bird"].iter().any(|mark| line.contains(mark))
            && !lines[nth..].iter().any(back);
        is_lost.then(|| format!("{name}: {line}\n"))
    };
    lines.iter().enumerate().filter_map(gone).collect()
}
