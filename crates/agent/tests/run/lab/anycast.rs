//! An address of several nodes, behind a health check.

use super::leaf::Leaf;
use super::node::Node;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, RootFileSystem, wait_for};

/// An address that every node has.
const ANYCAST: &str = "10.0.0.100";

/// Something that listens for the check of a node, in its network, as long as it is there.
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
        // What is announced is found by the name of its link, and not every kernel has dummies.
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
        wait_for("a node", || leaf.goes_to(&format!("10.0.0.{nth}")), state);
    }
    for node in &nodes {
        node.wait_for("withdrawn anycast addresses", |status| status["anycast"]["announced"] == false);
    }
    assert!(!leaf.goes_to(ANYCAST), "{}", state());
    let ways = |number: usize| {
        let ways = || leaf.way(ANYCAST).matches(" via ").count() == number;
        wait_for(&format!("{number} next hops"), ways, state);
    };

    let mut apis: Vec<_> = nodes.iter().map(api).collect();
    ways(3);
    assert!(leaf.reaches(ANYCAST), "{}", state());
    apis.pop();
    ways(2);
    apis.push(api(&nodes[2]));
    ways(3);
    apis.clear();
    ways(0);
    assert!(leaf.goes_to("10.0.0.1"), "{}", state());
    nodes.iter().for_each(Node::end);
}
