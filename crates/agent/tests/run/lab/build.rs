//! A node configured by the file of a build.

use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_bgp::model::Bfd;
use ichor_bgp::model::fabric::PeerAddress;
use ichor_values::Backend;

use super::node::{Node, model_of};
use super::{BgpSpeaker, Topology};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::wait_for;
use ichor_testbed::machine::rendered;
use ichor_testbed::{load_text, planned};

pub const CLUSTER: &str = include_str!("../../../../../examples/namespace/ichor.yaml");
/// The path where Talos mounts it.
pub const FILE: &str = "/usr/local/etc/frr/agent.json";
/// The first node's address.
pub const ADDRESS: &str = "10.10.10.10";

/// The configuration of the example's first node.
pub fn agent_config() -> AgentConfig {
    agent_config_of(CLUSTER)
}

/// The configuration of a cluster's first node. The leafs of a topology have other AS numbers, and no BFD.
pub fn agent_config_of(cluster: &str) -> AgentConfig {
    let text = cluster.replace("asn: 42000001", "asn: 651").replace(", link: eth", ", bfd: false, link: eth");
    let (cluster, plan) = planned(load_text(text));
    let boot = rendered(&cluster, &plan, |renderer| renderer.boot(&plan.nodes[0])).unwrap();
    let files = boot.documents.iter().filter_map(|document| document.get("configFiles")?.as_array());
    let mut files = files.flatten().filter(|file| file["mountPath"] == FILE);
    AgentConfig::parse(files.next().unwrap()["content"].as_str().unwrap()).unwrap().config
}

/// Prepares a node for BIRD with the same configuration.
pub fn bird(node: &Node) {
    configure_ports(node);
    node.machine.ask("mkdir /usr/local/etc/bird");
    configure_bird(node, None);
}

/// Writes the configuration for BIRD, with or without BFD. There is no load balancer, which BIRD does not support in a
/// namespace.
pub fn configure_bird(node: &Node, bfd: Option<Bfd>) {
    let mut config = AgentConfig { backend: Backend::Bird, ..agent_config() };
    let ConfigSource::Model(bgp) = &mut config.source else { panic!("{config:?}") };
    bgp.model.workload = None;
    bgp.model.fabric.neighbors.iter_mut().for_each(|neighbor| neighbor.bfd = bfd);
    node.machine.write("/usr/local/etc/bird/agent.json", &config.text());
}

/// Gives a node the ports and the address of the example.
pub fn configure_ports(node: &Node) {
    node.machine.ask(&format!(
        "ip link set eth0 address 52:54:00:10:00:10; ip link set eth1 address 52:54:00:10:01:10\n\
         ip link set eth1 name port1; ip link set port1 up; ip address add {ADDRESS}/32 dev lo"
    ));
}

#[test]
fn a_changed_file_is_applied_without_a_reset_and_an_invalid_one_is_not() {
    for frr in Frr::ALL {
        let topology = Topology::new(frr);
        let node = &topology.node;
        configure_ports(node);
        let mut config = agent_config();
        node.machine.write(FILE, &config.text());

        node.start(&[], "");

        topology.wait_for("from the start", ADDRESS, true);
        let speaker = BgpSpeaker::new(&node.machine, &model_of(config.clone()));
        speaker.announce(&["203.0.113.7/32"]);
        topology.wait_for("from the speaker", "203.0.113.7", true);
        assert!(node.status()["node"] == "row1" && node.agent("status").status.success(), "{}", node.state());
        let before = topology.established();

        let ConfigSource::Model(bgp) = &mut config.source else { panic!("{config:?}") };
        let mut more = bgp.model.fabric.announced[0].clone();
        more.net = "10.10.10.99/32".parse().unwrap();
        bgp.model.fabric.announced.push(more);
        bgp.model.fabric.neighbors.iter_mut().for_each(|neighbor| neighbor.timers = (4, 12));
        node.machine.ask("ip address add 10.10.10.99/32 dev lo");
        node.machine.write(FILE, &config.text());

        topology.wait_for("from the changed file", "10.10.10.99", true);
        let reload = node.status()["last_reload"].clone();
        assert!(reload.is_object() && reload["error"].is_null(), "{reload}");
        assert!(node.machine.ask("cat /run/ichor/frr.conf").contains("timers 4 12"));

        let good = config.clone();
        let ConfigSource::Model(bgp) = &mut config.source else { panic!("{config:?}") };
        let mut itself = bgp.model.fabric.neighbors[0].clone();
        itself.found = PeerAddress::Address { address: ADDRESS.parse().unwrap(), source: None };
        bgp.model.fabric.neighbors.push(itself);
        for wrong in [&config.text(), "{"] {
            node.machine.write(FILE, wrong);
            node.wait_for("a rejection", |status| status["last_reload"]["error"].is_string());
            node.machine.write(FILE, &good.text());
            node.wait_for("no rejection", |status| !status["last_reload"]["error"].is_string());
        }
        assert_eq!(topology.established(), before, "{}", topology.state());
        assert!(
            topology.leafs.iter().all(|leaf| leaf.has_route_to(ADDRESS) && leaf.has_route_to("203.0.113.7"))
        );

        node.machine.write(FILE, &AgentConfig { drain: true, ..good }.text());

        topology.wait_for("when it drains", ADDRESS, false);
        let state = || topology.state();
        wait_for("no routes of the load balancer", || !topology.leafs[0].has_route_to("203.0.113.7"), state);
        node.wait_for("that it drains", |status| status["stage"] == "draining");
        drop(speaker);
        node.stop();
    }
}
