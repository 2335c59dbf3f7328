//! A gateway with a configured address.

use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_bgp::model::fabric::PeerAddress;

use super::build::{ADDRESS, FILE, agent_config};
use super::leaf::Leaf;
use super::node::Node;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::wait_for;

/// A configuration with one neighbour, at an address.
fn toward(address: &str) -> AgentConfig {
    let mut config = agent_config();
    let ConfigSource::Model(bgp) = &mut config.source else { panic!("{config:?}") };
    bgp.model.fabric.neighbors.truncate(1);
    bgp.model.fabric.neighbors[0].found =
        PeerAddress::Address { address: address.parse().unwrap(), source: None };
    config
}

#[test]
fn a_missing_route_to_a_neighbour_is_reported() {
    for frr in Frr::ALL {
        let node = Node::new(frr.machine());
        let leaf = Leaf::new(frr, 1);
        leaf.cable(&node, "eth0");
        node.machine.ask(&format!("ip address add {ADDRESS}/32 dev lo; ip address add 10.7.1.1/24 dev eth0"));
        leaf.machine.ask("ip address add 10.7.1.254/24 dev to0");
        leaf.start();
        leaf.load_config("", " bgp listen range 10.7.1.0/24 peer-group NODES\n");
        node.machine.write(FILE, &toward("10.7.1.254").text());
        node.start(&[], "");
        let state = || node.state() + &leaf.state();
        wait_for("the node at the gateway", || leaf.has_route_to(ADDRESS), state);

        node.machine.ask("ip address del 10.7.1.1/24 dev eth0");

        node.wait_for("the missing route", |_| node.problems().contains("no route to 10.7.1.254"));
        node.machine.ask("ip address add 10.7.1.1/24 dev eth0");
        node.wait_for("no problem", |_| !node.problems().contains("10.7.1.254"));
        node.wait_for_sessions(1);
        node.stop();
    }
}
