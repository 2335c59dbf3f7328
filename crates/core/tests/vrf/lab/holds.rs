//! The invariants of the built topology.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use super::node::{Node, Way};
use super::router::{Router, View};
use super::topology::{Scene, each};
use ichor_testbed::lab::wait_for;
use ichor_testbed::speaker::BgpSpeaker;

impl Scene {
    /// Checks all invariants.
    pub fn holds(&self) {
        let routers: Vec<_> = (0..self.routers.len()).map(|nth| self.expected_view(nth)).collect();
        let both: Vec<_> = self.routers.iter().zip(&routers).collect();
        let view = |(router, expected): &(&Router, &View)| router.view(expected.announced.keys());
        self.wait_for_value("what routers know", &routers, || each(&both, view));
        let nodes = (0..self.nodes.len()).map(|nth| self.expected_routes(nth)).collect();
        self.wait_for_value("where nodes go", &nodes, || each(&self.nodes, Node::ways));
        self.nodes_reach_each_other();
        assert_eq!(each(&self.nodes, Node::ways_out_of_the_vrf), vec![""; self.nodes.len()]);
        let nothing = vec!["{}\n{}".to_owned(); self.speakers.len()];
        self.wait_for_value("speakers that are given nothing", &nothing, || {
            each(&self.speakers, BgpSpeaker::received_routes)
        });
    }

    /// Waits until the value is as expected.
    fn wait_for_value<T: PartialEq + Debug>(&self, what: &str, expected: &T, is: impl Fn() -> T) {
        let state = || {
            let states = [each(&self.routers, Router::state), each(&self.nodes, Node::state)].concat();
            format!("meant: {expected:#?}\nis: {:#?}\n{}", is(), states.join("\n"))
        };
        wait_for(what, || is() == *expected, state);
    }

    /// Prefixes that only this node announces: its own and those of its speaker.
    fn own(&self, node: usize) -> impl Iterator<Item = String> {
        self.announced(node).chain(self.spoken.own[node].iter().map(ToString::to_string))
    }

    fn announced(&self, node: usize) -> impl Iterator<Item = String> {
        self.nodes[node].model.fabric.announced.iter().map(|announced| announced.net.to_string())
    }

    /// A router has from each node exactly its announced prefixes and those of its speaker. It has paths through every node to the
    /// shared prefixes, for IPv4 as well, though no link has an IPv4 address.
    fn expected_view(&self, router: usize) -> View {
        let mut view = View::default();
        for (_, node, seen_as) in self.sessions.iter().filter(|(known, ..)| *known == router) {
            let model = &self.nodes[*node].model;
            let direct = model.asn.to_string();
            let through = format!("{direct} {}", model.workload.as_ref().unwrap().theirs.asn);
            let spoken = self.spoken.shared.iter().chain(self.spoken.own[*node]);
            let own = self.announced(*node).map(|net| (net, &direct));
            let all: BTreeMap<_, _> = own.chain(spoken.map(|net| (net.to_string(), &through))).collect();
            for (net, path) in &all {
                view.paths.entry(net.clone()).or_default().insert((*path).clone());
                *view.ways.entry(net.clone()).or_default() += 1;
            }
            view.announced.insert(seen_as.clone(), all.into_keys().collect());
        }
        view
    }

    /// A node reaches other nodes' prefixes and all other destinations over all its ports and from its loopback. Prefixes of its own
    /// speaker lead neither to the fabric nor past the VRF.
    fn expected_routes(&self, nth: usize) -> BTreeMap<String, Way> {
        let node = &self.nodes[nth];
        let others = (0..self.nodes.len()).filter(|other| *other != nth);
        let defaults = ["0.0.0.0/0", "::/0"].map(str::to_owned);
        let own: BTreeSet<_> = self.announced(nth).collect();
        let learnt =
            others.flat_map(|other| self.own(other)).filter(|net| !own.contains(net)).chain(defaults);
        let way = |net: String| {
            let source = node.model.sources.iter().find(|source| source.is_ipv6() == net.contains(':'));
            (net, (source.unwrap().to_string(), node.model.fabric.neighbors.len()))
        };
        learnt.map(way).collect()
    }

    /// Through the fabric, to every address that only one other node has.
    fn nodes_reach_each_other(&self) {
        for (node, own) in self.nodes.iter().zip(self.spoken.own) {
            node.serve(own);
        }
        for from in 0..self.nodes.len() {
            let own: BTreeSet<_> = self.announced(from).collect();
            let others = (0..self.nodes.len()).filter(|to| *to != from).flat_map(|to| self.own(to));
            let addresses: Vec<_> = others.filter(|net| !own.contains(net)).collect();
            self.wait_for_value("an answer", &String::new(), || self.nodes[from].unanswered(&addresses));
        }
    }
}
