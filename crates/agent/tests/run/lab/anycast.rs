//! An anycast address of several nodes, behind a health check.

use super::leaf::Leaf;
use super::node::Node;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, RootFileSystem, wait_for};

/// The anycast address of every node.
const ANYCAST: &str = "10.0.0.100";

/// A listener for the health check of a node, in its network, as long as this exists.
fn api(node: &Node) -> LabMachine {
    let machine = LabMachine::beside(&node.machine, RootFileSystem::Own);
    machine.start("(busybox nc -ll -p 6443 -e true & touch /tmp/listens; wait)", "/tmp/listens");
    machine
}

#[test]
fn an_anycast_address_has_as_many_next_hops_as_nodes_that_are_healthy() {
    let leaf = Leaf::new(Frr::V10, 1);
    let nodes = [1, 2, 3].map(|nth| {
        let node = Node::new(if nth == 3 { Frr::V10 } else { Frr::V8 }.machine());
        // The kind of an announced address follows from its link's name, and not every kernel has dummy links.
        node.machine.ask(&format!(
            "ip address add 10.0.0.{nth}/32 dev lo; ip link add dummy1 type veth peer name far\n\
             ip address add {ANYCAST}/32 dev dummy1; ip link set dummy1 up; ip link set far up"
        ));
        leaf.cable(&node, "eth0");
        node
    });
    leaf.start();
    for (node, nth) in nodes.iter().zip(1..) {
        let variables = [
            ("NODE_IP", format!("10.0.0.{nth}")),
            ("ASN_LOCAL", format!("420000000{nth}")),
            ("FE_PORTS", "eth0".to_owned()),
            ("ICHOR_HEALTH", "tcp://127.0.0.1:6443".to_owned()),
        ];
        node.start(&variables.each_ref().map(|(name, value)| (*name, value.as_str())), "");
    }
    let state = || nodes.iter().map(Node::state).collect::<String>() + &leaf.state();
    for nth in 1..=3 {
        wait_for("a node", || leaf.has_route_to(&format!("10.0.0.{nth}")), state);
    }
    for node in &nodes {
        node.wait_for("withdrawn anycast addresses", |status| status["anycast"]["announced"] == false);
    }
    assert!(!leaf.has_route_to(ANYCAST), "{}", state());
    let expect_next_hops = |number: usize| {
        let matches = || leaf.route_to(ANYCAST).matches(" via ").count() == number;
        wait_for(&format!("{number} next hops"), matches, state);
    };

    let mut apis: Vec<_> = nodes.iter().map(api).collect();
    expect_next_hops(3);
    assert!(leaf.reaches(ANYCAST), "{}", state());
    apis.pop();
    expect_next_hops(2);
    apis.push(api(&nodes[2]));
    expect_next_hops(3);
    apis.clear();
    expect_next_hops(0);
    assert!(leaf.has_route_to("10.0.0.1"), "{}", state());
    nodes.iter().for_each(Node::stop);
}
