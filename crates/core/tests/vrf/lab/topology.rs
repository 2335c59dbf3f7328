//! Nodes between their routers, each with a speaker in a VRF, built from a cluster file.
#![expect(clippy::disallowed_methods, reason = "what waits for timers waits for all of them at once")]

use std::thread;

use ichor_bgp::model::fabric::PeerAddress;
use ichor_core::plan::Plan;
use ichor_core::routing::BgpTopology;
use ichor_core::routing::network::{BgpSession, TopologyEnd};

use super::node::Node;
use super::router::Router;
use ichor_testbed::lab::{RootFileSystem, wait_for};
use ichor_testbed::routing::{PASSWORD, service_with};
use ichor_testbed::speaker::BgpSpeaker;
use ichor_testbed::{fabric, load_text, planned};

/// The announcements of the speakers.
pub struct Spoken {
    /// Prefixes that every speaker announces and every node rejects.
    pub refused: &'static [&'static str],
    /// Prefixes that every node's speaker announces and every node accepts.
    pub shared: &'static [&'static str],
    /// Prefixes that a single speaker announces and its node accepts, in the order of the nodes.
    pub own: [&'static [&'static str]; 2],
}

pub struct Scene {
    pub nodes: Vec<Node>,
    pub routers: Vec<Router>,
    pub speakers: Vec<BgpSpeaker>,
    /// The routers' sessions with each node, and their names.
    pub sessions: Vec<(usize, usize, String)>,
    pub spoken: Spoken,
}

/// Runs a function for each item in parallel.
pub fn each<T: Sync, R: Send>(all: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let act = &act;
    thread::scope(|scope| {
        let acts: Vec<_> = all.iter().map(|one| scope.spawn(move || act(one))).collect();
        acts.into_iter().map(|acted| acted.join().unwrap()).collect()
    })
}

impl Scene {
    /// Builds the given nodes with the file systems of their daemons, and the routers of a file.
    pub fn new(text: &str, nodes: [(&str, RootFileSystem); 2], routers: &[&str], spoken: Spoken) -> Self {
        let announced = planned(load_text(text));
        let (cluster, plan) = &announced;
        let network = BgpTopology::from_plan(cluster, plan).unwrap();
        let files = fabric::render_files(&announced, &|_| Ok(PASSWORD.to_owned())).unwrap();
        let node = |(name, root): &(&str, RootFileSystem)| {
            let node = plan.node(name).unwrap();
            let service = service_with(cluster, plan, node, &|_| Ok(PASSWORD.to_owned()));
            let model = network.nodes.iter().find(|model| model.name.as_str() == *name).unwrap();
            Node::new(model.clone(), service.unwrap().unwrap(), *root)
        };
        let router = |name: &&str| {
            let file = |file: &str| {
                let path = format!("fabric/{name}/{file}");
                files.iter().find(|file| file.path == path).unwrap().text().unwrap().to_owned()
            };
            let router = network.routers.iter().find(|router| router.name == *name).unwrap();
            Router::new(router.clone(), file("frr.conf"), file("daemons"))
        };
        let (nodes, routers) = (each(&nodes, node), each(routers, router));
        let mut scene = Self { nodes, routers, speakers: Vec::new(), sessions: Vec::new(), spoken };
        scene.cable(plan, &network);
        scene.start();
        scene
    }

    fn cable(&mut self, plan: &Plan, network: &BgpTopology) {
        for BgpSession(near, far) in &network.sessions {
            let (TopologyEnd::Node(..), TopologyEnd::Router(..)) = (near, far) else { continue };
            let node = self.nodes.iter().position(|it| it.model.name.as_str() == network.name(*near));
            let router = self.routers.iter().position(|it| it.announced.name == network.name(*far));
            let (Some(node), Some(router)) = (node, router) else { continue };
            let (ours, theirs) = (&self.nodes[node], &self.routers[router]);
            let seen_as = match (&network.at(*near).found, &network.at(*far).found) {
                (PeerAddress::Port { name, .. }, PeerAddress::Port { name: port, .. }) => {
                    ours.machine.cable(name.as_str(), &theirs.machine, port.as_str());
                    port.to_string()
                }
                (PeerAddress::Address { .. }, PeerAddress::Address { address, .. }) => {
                    let plan = plan.node(ours.model.name.as_str()).unwrap();
                    let (link, port) = (&plan.link.value, format!("to-{}", plan.name));
                    ours.machine.cable(link.as_str(), &theirs.machine, &port);
                    for (net, _) in plan.address.iter() {
                        ours.machine.ask(&format!("ip address add {net} dev {link}"));
                    }
                    theirs.bridge(&port, plan.address.v6.as_ref().unwrap().value.prefix_len());
                    address.to_string()
                }
                ends => panic!("{ends:?}"),
            };
            self.sessions.push((router, node, seen_as));
        }
    }

    /// Starts daemons, then speakers. Rejected prefixes are announced first: they have been rejected once the rest has arrived. The
    /// first node receives the shared prefixes from the fabric before its own speaker announces them.
    fn start(&mut self) {
        thread::scope(|scope| {
            self.routers.iter().for_each(|router| drop(scope.spawn(|| router.start())));
            self.nodes.iter().for_each(|node| drop(scope.spawn(|| node.start())));
        });
        let nodes: Vec<_> = self.nodes.iter().zip(self.spoken.own).collect();
        self.speakers = each(&nodes, |(node, own)| {
            let speaker = BgpSpeaker::new(&node.machine, &node.model);
            speaker.announce(&[self.spoken.refused, own].concat());
            speaker
        });
        let (shared, first) = (self.spoken.shared, &self.nodes[0]);
        self.speakers[1].announce(shared);
        let received = || shared.iter().all(|net| first.ways().contains_key(*net));
        wait_for("what the other speaker says", received, || first.state());
        self.speakers[0].announce(shared);
    }
}
