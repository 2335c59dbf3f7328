//! Everything that must hold once it is built.

use std::collections::BTreeSet;

use super::node::Node;
use super::router::{Known, Router};
use super::scene::Scene;
use crate::common::lab::{let_pass, wait_for};

/// The way to everything else.
fn defaults() -> [String; 2] {
    ["0.0.0.0/0".to_owned(), "::/0".to_owned()]
}

impl Scene {
    /// What a node's speaker says and the node takes.
    fn taken(&self, node: usize) -> impl Iterator<Item = String> {
        self.spoken.shared.iter().map(|net| (*net).to_owned()).chain(self.own(node))
    }

    /// What only this node's speaker says.
    fn own(&self, node: usize) -> impl Iterator<Item = String> {
        self.spoken.own.get(node).into_iter().map(|net| (*net).to_owned())
    }

    /// What a node announces of its own.
    fn announced(&self, node: usize) -> impl Iterator<Item = String> {
        self.nodes[node].model.fabric.announced.iter().map(|announced| announced.net.to_string())
    }

    /// What a router has to know: of each of its nodes what that announces, and what its speaker may.
    fn meant_for(&self, router: usize) -> Known {
        let mut meant = Known::new();
        for (_, node, _) in self.sessions.iter().filter(|(known, ..)| *known == router) {
            let model = &self.nodes[*node].model;
            let through = format!("{} {}", model.asn, model.workload.as_ref().unwrap().theirs.asn);
            let own = self.announced(*node).map(|net| (net, model.asn.to_string()));
            for (net, path) in own.chain(self.taken(*node).map(|net| (net, through.clone()))) {
                meant.entry(net).or_default().insert(path);
            }
        }
        meant
    }

    fn state(&self) -> String {
        let routers = self.routers.iter().map(Router::state);
        routers.chain(self.nodes.iter().map(Node::state)).collect::<Vec<_>>().join("\n")
    }

    /// Everything that must hold.
    pub fn holds(&self) {
        let meant: Vec<_> = (0..self.routers.len()).map(|nth| self.meant_for(nth)).collect();
        let known = || self.routers.iter().map(Router::known).collect::<Vec<_>>();
        wait_for(&format!("{meant:#?}"), || known() == meant, || self.state());
        let_pass(5);

        assert_eq!(known(), meant, "{}", self.state());
        self.routers_were_told_nothing_else();
        self.routers_go_by_every_node();
        for (node, speaker) in self.nodes.iter().zip(&self.speakers) {
            assert_eq!(
                speaker.given().trim(),
                "{}\n{}",
                "nothing goes to the speaker of {}",
                node.model.name
            );
        }
        self.nodes_know_where_to_go();
        self.nodes_reach_each_other();
    }

    fn routers_were_told_nothing_else(&self) {
        for (router, node, seen_as) in &self.sessions {
            let told = self.routers[*router].told_by(seen_as);
            let meant: BTreeSet<_> = self.announced(*node).chain(self.taken(*node)).collect();
            assert_eq!(told, meant, "{} to {}", seen_as, self.routers[*router].told.name);
        }
    }

    /// A service address of all is behind all, IPv4 too, though no link has an IPv4 address.
    fn routers_go_by_every_node(&self) {
        for router in &self.routers {
            for net in self.spoken.shared {
                let ways = router.ways_to(net);
                let next_hop = if net.contains(':') { " via " } else { " via inet6 " };
                assert_eq!(ways.matches(next_hop).count(), self.nodes.len(), "{net}: {ways}");
            }
        }
    }

    /// The way out goes over all ports, from the loopback; so do those to what only others have. The speaker's own are asked for
    /// nowhere else. And from the VRF there is no way out.
    fn nodes_know_where_to_go(&self) {
        for (nth, node) in self.nodes.iter().enumerate() {
            let others = (0..self.nodes.len()).filter(|other| *other != nth);
            let theirs = others.flat_map(|other| self.announced(other).chain(self.own(other)));
            let mine: BTreeSet<_> = self.announced(nth).collect();
            let meant: BTreeSet<_> = theirs.filter(|net| !mine.contains(net)).chain(defaults()).collect();

            let learnt = node.learnt();

            assert_eq!(learnt.keys().cloned().collect::<BTreeSet<_>>(), meant, "{learnt:#?}");
            for (net, way) in &learnt {
                let source = node.model.sources.iter().find(|source| source.is_ipv6() == net.contains(':'));
                assert!(way.contains(&format!(" src {} ", source.unwrap())), "{net} {way}");
                assert_eq!(way.matches(" via ").count(), node.model.fabric.neighbors.len(), "{net} {way}");
            }
            assert_eq!(node.ways_out_of_the_vrf(), "", "{}", node.model.name);
        }
    }

    /// To every address that is another's alone.
    fn nodes_reach_each_other(&self) {
        for (nth, node) in self.nodes.iter().enumerate() {
            self.own(nth).for_each(|net| node.serve(&net));
        }
        for (from, node) in self.nodes.iter().enumerate() {
            for to in (0..self.nodes.len()).filter(|to| *to != from) {
                for net in self.announced(to).chain(self.own(to)) {
                    let address = net.split_once('/').unwrap().0;
                    assert!(node.reaches(address), "{} to {net}\n{}", node.model.name, self.state());
                }
            }
        }
    }
}
