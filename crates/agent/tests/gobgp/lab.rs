//! A node whose routes are the agent's.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ichor_agent::daemon::Stop;
use ichor_agent::daemon::gobgp::{Gobgp, GobgpError};
use ichor_agent::daemon::place::{CheckError, Place};
use ichor_core::agent::gobgp::{heard, routes};
use ichor_core::agent::{Link, Session};
use ichor_core::render::routing::Service;
use ichor_core::routing::Model;
use ipnet::IpNet;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::single::common::frr::Frr;
use crate::single::common::lab::{Machine, Root, made};
use crate::single::common::routing::{model, service_of};
use crate::single::common::{load_text, planned};
use crate::single::{Leaf, Scene, until, up};

/// Who is told, and how the leafs are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// GoBGP 3, by address.
    Three,
    /// GoBGP 4, by port.
    Four,
}

const KINDS: [Kind; 2] = [Kind::Three, Kind::Four];

impl Kind {
    fn text(self, more: &str) -> String {
        let (version, node, neighbors) = match self {
            Self::Three => (
                "3.36",
                "{v6: \"fd00:7::/64\", v4: 10.7.0.0/24}",
                "[{address: \"fd00:7::fffe\", asn: 65101}, {address: 10.7.0.254, asn: 65102}]",
            ),
            Self::Four => ("4.8", "null", "[{link: eth0, bfd: true}, {link: eth1, bfd: false}]"),
        };
        format!(
            "cluster: {{name: lab, id: 12, talos: v1.13.9}}\n\
             network: {{node: {node}, loopback: {{v4: 10.12.10.0/24, v6: \"fd00:12::/64\"}}}}\n\
             routing:\n  backend: gobgp\n  version: {version}\n  router_id: loopback\n  \
             graceful_restart: {{time: 15}}\n  neighbors: {neighbors}\n{more}\
             nodes: [{{name: n1, index: 1}}]\n"
        )
    }

    fn service(self, more: &str) -> Service {
        service_of(&self.text(more)).unwrap()
    }

    fn model(self) -> Model {
        let (cluster, plan) = planned(load_text(self.text("")));
        model(&cluster, &plan, &plan.nodes[0])
    }

    fn scene(self) -> Scene {
        let leaf = |asn, neighbor, group, address| Leaf { asn, neighbor, group, address };
        let port = " neighbor to-node interface peer-group NODES\n";
        let leafs = match self {
            Self::Three => [
                leaf(65101, " neighbor fd00:7::1 peer-group NODES\n", "", Some("fd00:7::fffe/64")),
                leaf(65102, " neighbor 10.7.0.1 peer-group NODES\n", "", Some("10.7.0.254/24")),
            ],
            Self::Four => {
                [leaf(65101, port, " neighbor NODES bfd\n", None), leaf(65102, port, "", None)]
            }
        };
        let scene = Scene::new(leafs, &["10.12.10.1/32", "fd00:12::1/128"]);
        match self {
            Self::Three => {
                scene.node.ask("ip address add fd00:7::1/64 dev eth0 && ip address add 10.7.0.1/24 dev eth1");
            }
            Self::Four => (0..2).for_each(|nth| introduce(&scene, nth)),
        }
        scene
    }

    fn place(self, scene: &Scene) -> Place {
        let root = made(if self == Self::Three { "trixie" } else { "gobgp4" });
        scene.of_machine(&format!("{}/usr/bin/gobgpd", root.display()))
    }
}

/// Router advertisements on the node's ports, by which the leafs find it: zebra stands in for the agent's own.
fn advertise(scene: &Scene) -> Machine {
    let machine = Machine::beside(&scene.node, Root::Own);
    machine.ask("install -d -o frr -g frr /run/frr && touch /etc/frr/vtysh.conf");
    machine.start("/usr/lib/frr/zebra -P 0", "/run/frr/zebra.vty");
    let port = |nth| format!("interface eth{nth}\n no ipv6 nd suppress-ra\n ipv6 nd ra-interval 1\nexit\n");
    assert!(Frr::load(&machine, &(port(0) + &port(1))).status.success());
    machine
}

/// What the kernel side of the agent does on a port: the leaf's address among the neighbours.
fn introduce(scene: &Scene, nth: usize) {
    let leaf = &scene.leafs[nth];
    let near = |machine: &Machine, port: &str| {
        let said = machine.ask(&format!("ip -6 -o address show dev {port} scope link"));
        said.split_whitespace().nth(3).unwrap().split('/').next().unwrap().to_owned()
    };
    let mac = leaf.ask("cat /sys/class/net/to-node/address");
    let address = near(leaf, "to-node");
    scene.node.ask(&format!("ip -6 neighbor flush dev eth{nth}; true"));
    scene.node.ask(&format!(
        "ip -6 neighbor replace {address} lladdr {} dev eth{nth} nud permanent router",
        mac.trim()
    ));
}

fn own() -> BTreeSet<IpNet> {
    ["10.12.10.1/32", "fd00:12::1/128"].map(|net| net.parse().unwrap()).into()
}

async fn sessions(gobgp: &Gobgp, number: usize) -> Vec<Session> {
    let ask = async || gobgp.sessions().await.unwrap();
    until("sessions", ask, |sessions| up(sessions, number)).await
}

/// gobgpd with both sessions up, and what the leafs then know of the node.
async fn routed(scene: &Scene, place: &Place, service: &Service) -> Gobgp {
    let gobgp = Gobgp::start(place.clone(), service, own()).await.unwrap();
    sessions(&gobgp, 2).await;
    for leaf in 0..2 {
        until("the node", async || scene.rib(leaf, "ipv4"), |rib| rib.contains_key("10.12.10.1/32")).await;
    }
    gobgp
}

#[test]
fn probe() {
    for kind in KINDS {
        let scene = kind.scene();
        let place = kind.place(&scene);
        let _advertiser = (kind == Kind::Four).then(|| advertise(&scene));
        scene.on_node(async || {
            let gobgp = Gobgp::start(place.clone(), &kind.service(""), own()).await.unwrap();
            tokio::time::sleep(Duration::from_secs(6)).await;
            eprintln!("{:#?}", gobgp.sessions().await.unwrap());
            eprintln!("{:#?}", gobgp.paths().await.unwrap());
            eprintln!("{}", scene.leafs[0].ask("vtysh -c 'show bgp summary' -c 'show bgp ipv4'"));
            gobgp.stop(Stop::Leaving).await;
        });
    }
}
