//! A node told by the file that a build puts into its configuration.

use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_bgp::model::Bfd;
use ichor_bgp::model::fabric::PeerAddress;
use ichor_values::Backend;

use super::node::{Node, meant};
use super::{BgpSpeaker, Scene};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::wait_for;
use ichor_testbed::machine::rendered;
use ichor_testbed::{load_text, planned};

const CLUSTER: &str = include_str!("../../../../../examples/namespace/ichor.yaml");
/// Where Talos mounts it.
pub const FILE: &str = "/usr/local/etc/frr/agent.json";
/// The first node's address.
pub const ADDRESS: &str = "10.10.10.10";

/// The duty of the first node. The leafs of a scene have other AS numbers, and no BFD.
pub fn duty() -> AgentConfig {
    let text = CLUSTER.replace("asn: 42000001", "asn: 651").replace(", link: eth", ", bfd: false, link: eth");
    let (cluster, plan) = planned(load_text(text));
    let boot = rendered(&cluster, &plan, |renderer| renderer.boot(&plan.nodes[0])).unwrap();
    let files = boot.documents.iter().filter_map(|document| document.get("configFiles")?.as_array());
    let mut files = files.flatten().filter(|file| file["mountPath"] == FILE);
    AgentConfig::parse(files.next().unwrap()["content"].as_str().unwrap()).unwrap().config
}

/// Gives a node what BIRD needs, and tells it the same.
pub fn bird(node: &Node) {
    name_ports(node);
    node.machine.ask("mkdir /usr/local/etc/bird");
    tell_bird(node, None);
}

/// Tells a node the same for BIRD, with or without BFD. There is no speaker: BIRD has none in a namespace.
pub fn tell_bird(node: &Node, bfd: Option<Bfd>) {
    let mut duty = AgentConfig { backend: Backend::Bird, ..duty() };
    let ConfigSource::Model(meant) = &mut duty.source else { panic!("{duty:?}") };
    meant.model.workload = None;
    meant.model.fabric.neighbors.iter_mut().for_each(|neighbor| neighbor.bfd = bfd);
    node.machine.write("/usr/local/etc/bird/agent.json", &duty.text());
}

/// Gives a node the ports and the address of the example.
fn name_ports(node: &Node) {
    node.machine.ask(&format!(
        "ip link set eth0 address 52:54:00:10:00:10; ip link set eth1 address 52:54:00:10:01:10\n\
         ip link set eth1 name port1; ip link set port1 up; ip address add {ADDRESS}/32 dev lo"
    ));
}

#[test]
fn a_changed_file_is_taken_without_a_reset_and_a_wrong_one_is_not() {
    for frr in Frr::ALL {
        let scene = Scene::new(frr);
        let node = &scene.node;
        name_ports(node);
        let mut duty = duty();
        node.machine.write(FILE, &duty.text());

        node.start(&[], "");

        scene.wait_for("from the start", ADDRESS, true);
        let speaker = BgpSpeaker::new(&node.machine, &meant(duty.clone()));
        speaker.announce(&["203.0.113.7/32"]);
        scene.wait_for("from the speaker", "203.0.113.7", true);
        assert!(node.status()["node"] == "row1" && node.agent("status").status.success(), "{}", node.state());
        let before = scene.established();

        let ConfigSource::Model(meant) = &mut duty.source else { panic!("{duty:?}") };
        let mut more = meant.model.fabric.announced[0].clone();
        more.net = "10.10.10.99/32".parse().unwrap();
        meant.model.fabric.announced.push(more);
        meant.model.fabric.neighbors.iter_mut().for_each(|neighbor| neighbor.timers = (4, 12));
        node.machine.ask("ip address add 10.10.10.99/32 dev lo");
        node.machine.write(FILE, &duty.text());

        scene.wait_for("from the changed file", "10.10.10.99", true);
        let reload = node.status()["last_reload"].clone();
        assert!(reload.is_object() && reload["error"].is_null(), "{reload}");
        assert!(node.machine.ask("cat /run/ichor/frr.conf").contains("timers 4 12"));

        let good = duty.clone();
        let ConfigSource::Model(meant) = &mut duty.source else { panic!("{duty:?}") };
        let mut itself = meant.model.fabric.neighbors[0].clone();
        itself.found = PeerAddress::Address { address: ADDRESS.parse().unwrap(), source: None };
        meant.model.fabric.neighbors.push(itself);
        for wrong in [&duty.text(), "{"] {
            node.machine.write(FILE, wrong);
            node.wait_for("a refusal", |status| status["last_reload"]["error"].is_string());
            node.machine.write(FILE, &good.text());
            node.wait_for("none", |status| !status["last_reload"]["error"].is_string());
        }
        assert_eq!(scene.established(), before, "{}", scene.state());
        assert!(scene.leafs.iter().all(|leaf| leaf.goes_to(ADDRESS) && leaf.goes_to("203.0.113.7")));

        node.machine.write(FILE, &AgentConfig { drain: true, ..good }.text());

        scene.wait_for("when it drains", ADDRESS, false);
        let state = || scene.state();
        wait_for("nothing of the speaker", || !scene.leafs[0].goes_to("203.0.113.7"), state);
        node.wait_for("that it drains", |status| status["stage"] == "draining");
        drop(speaker);
        node.end();
    }
}
