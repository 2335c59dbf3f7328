//! A gateway that is found by its address.

use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_bgp::model::fabric::PeerAddress;

use super::build::{ADDRESS, FILE, duty};
use super::leaf::Leaf;
use super::node::Node;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::wait_for;

/// A duty with one neighbour, at an address.
fn toward(address: &str) -> AgentConfig {
    let mut duty = duty();
    let ConfigSource::Model(meant) = &mut duty.source else { panic!("{duty:?}") };
    meant.model.fabric.neighbors.truncate(1);
    meant.model.fabric.neighbors[0].found =
        PeerAddress::Address { address: address.parse().unwrap(), source: None };
    duty
}

#[test]
fn a_neighbour_to_whom_the_way_is_lost_is_told() {
    for frr in Frr::ALL {
        let node = Node::new(frr.machine());
        let leaf = Leaf::new(frr, 1);
        leaf.cable(&node, "eth0");
        node.machine.ask(&format!("ip address add {ADDRESS}/32 dev lo; ip address add 10.7.1.1/24 dev eth0"));
        leaf.machine.ask("ip address add 10.7.1.254/24 dev to0");
        leaf.start();
        leaf.tell("", " bgp listen range 10.7.1.0/24 peer-group NODES\n");
        node.machine.write(FILE, &toward("10.7.1.254").text());
        node.start(&[], "");
        let state = || node.state() + &leaf.state();
        wait_for("the node at the gateway", || leaf.goes_to(ADDRESS), state);

        node.machine.ask("ip address del 10.7.1.1/24 dev eth0");

        node.wait_for("the lost way", |_| node.troubles().contains("no route to 10.7.1.254"));
        node.machine.ask("ip address add 10.7.1.1/24 dev eth0");
        node.wait_for("nothing wrong", |_| !node.troubles().contains("10.7.1.254"));
        node.wait_for_sessions(1);
        node.end();
    }
}
