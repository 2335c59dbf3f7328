//! Nodes that run the agent, between leafs, with speakers behind them.

mod anycast;
mod build;
mod check;
mod door;
mod end;
mod heal;
mod leaf;
mod namespace;
mod node;
mod numbered;
mod other;
mod port;
mod ready;
mod vrf;

use ichor_testbed::speaker::BgpSpeaker;
use leaf::Leaf;
use node::{Node, told};

use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, wait_for};

/// The address of the node.
const ADDRESS: &str = "10.0.0.1";

/// A speaker in a namespace, and ports by their names.
const NAMED: [(&str, &str); 3] =
    [("NODE_IP", ADDRESS), ("ASN_LOCAL", "4200000001"), ("FE_PORTS", "eth0,eth1")];

/// A node between two leafs.
pub struct Scene {
    pub node: Node,
    pub leafs: [Leaf; 2],
}

impl Scene {
    /// A node with an address, whose daemons are of this release, cabled to leafs of the same by its ports eth0 and eth1. No
    /// agent runs yet.
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

    /// One whose agent was told by variables, with the node's address at the leafs and all of theirs in its kernel.
    pub fn routed(frr: Frr) -> Self {
        let scene = Self::new(frr);
        scene.node.start(&NAMED, "");
        scene.wait_for_all("from the start");
        scene
    }

    /// Waits until the leafs go to the node's address, and the node to theirs by both.
    pub fn wait_for_all(&self, when: &str) {
        self.wait_for(when, ADDRESS, true);
        self.wait_for_ways(when);
    }

    /// Waits until the node goes to what both leafs have by both.
    pub fn wait_for_ways(&self, when: &str) {
        let both = || self.node.way(leaf::SHARED).matches("nexthop").count() == 2;
        wait_for(&format!("both ways, {when}"), both, || self.state());
    }

    /// Waits until both leafs go to an address, or until neither does.
    pub fn wait_for(&self, when: &str, net: &str, meant: bool) {
        let holds = || self.leafs.iter().all(|leaf| leaf.goes_to(net) == meant);
        let verb = if meant { "there" } else { "gone" };
        wait_for(&format!("{net} {verb}, {when}"), holds, || self.state());
    }

    /// How often sessions with the leafs came up.
    pub fn established(&self) -> Vec<u64> {
        self.leafs.iter().map(Leaf::established).collect()
    }

    /// The routes by BGP that leafs and node were without while something was done.
    pub fn lost(&self, what: impl FnOnce()) -> String {
        let [first, second] = &self.leafs;
        let machines =
            [("node", &self.node.machine), ("leaf 1", &first.machine), ("leaf 2", &second.machine)];
        for (_, machine) in machines {
            machine.ask("ip -o -ts monitor route >/tmp/monitor 2>&1 & echo $! >/tmp/monitor.pid; sleep 0.2");
        }
        what();
        let said = |machine: &LabMachine| machine.ask("kill $(cat /tmp/monitor.pid); cat /tmp/monitor");
        machines.map(|(name, machine)| missed(name, &said(machine))).concat()
    }

    /// What can be said when something never comes.
    pub fn state(&self) -> String {
        self.node.state() + &self.leafs.iter().map(Leaf::state).collect::<String>()
    }
}

/// The routes that `ip monitor` saw go and not come back at once. zebra replaces those of IPv6 by taking them out first.
fn missed(name: &str, said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    let time =
        |line: &str| line.get(18..27).and_then(|seconds| seconds.parse::<f64>().ok()).unwrap_or_default();
    let gone = |(nth, line): (usize, &&str)| {
        let net = line.split_once("Deleted ")?.1.split(' ').next()?;
        let back = |later: &&str| {
            let soon = (time(later) - time(line)).rem_euclid(60.0) < 0.05;
            soon && later.contains(&format!("] {net} "))
        };
        let missed = ["proto bgp", "proto bird"].iter().any(|mark| line.contains(mark))
            && !lines[nth..].iter().any(back);
        missed.then(|| format!("{name}: {line}\n"))
    };
    lines.iter().enumerate().filter_map(gone).collect()
}
