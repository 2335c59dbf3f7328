//! Tests that need a separate kernel: a load balancer in a VRF, and hardware ports. All configuration is by variables.

use serde_json::Value;

use super::leaf::{self, Leaf};
use super::node::{Node, model_of_variables};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::wait_for;
use ichor_testbed::speaker::BgpSpeaker;
use ichor_testbed::vm;

const VARIABLES: [(&str, &str); 4] = [
    ("NODE_IP", "10.0.0.1"),
    ("ASN_LOCAL", "4200000001"),
    ("FE_MACS", "02:00:00:00:00:01,02:00:00:00:00:02"),
    // 300 ms are too short under emulation.
    ("ENABLE_BFD", "false"),
];

/// The routes that the leafs should have.
const EXPECTED: [&str; 8] = [
    "10.0.0.1",
    "fd00::1",
    "10.0.1.1",
    "fd00:1::1",
    "10.0.0.100",
    "198.51.100.7",
    "2001:db8:99::7",
    "fd00:1::100",
];

fn services(frr: Frr, backend: &'static str) {
    let node = Node::new(frr.machine());
    node.machine.ask(
        "set -e\nip address add 10.0.0.1/32 dev lo; ip address add fd00::1/128 dev lo\n\
         for nth in 0 1; do ip link add dummy$nth type dummy; ip link set dummy$nth up; done\n\
         ip address add 10.0.1.1/32 dev dummy0; ip address add fd00:1::1/128 dev dummy0\n\
         ip address add 10.0.0.100/32 dev dummy1; ip address add fd00:1::100/128 dev dummy1",
    );
    let leafs = [1, 2].map(|nth| Leaf::new(frr, nth));
    for (leaf, nth) in leafs.iter().zip(1..) {
        leaf.cable(&node, &format!("eth{nth}"));
        node.machine.ask(&format!("ip link set eth{nth} address 02:00:00:00:00:0{nth}"));
        leaf.start();
    }
    let variables = [&VARIABLES[..], &[("ICHOR_BACKEND", backend)]].concat();
    node.start(&variables, "");
    let state = || node.state() + &leafs.each_ref().map(Leaf::state).concat();
    let there = |net: &str| leafs.iter().all(|leaf| leaf.has_route_to(net));
    wait_for("the node at both leafs", || there("10.0.0.1"), state);
    let speaker = BgpSpeaker::new(&node.machine, &model_of_variables(&variables));
    speaker.announce(&["0.0.0.0/0", "::/0", "198.51.100.7/32", "2001:db8:99::7/128"]);
    for address in ["198.51.100.7/32", "2001:db8:99::7/128"] {
        node.serve(address);
    }
    for net in EXPECTED {
        wait_for(net, || there(net), state);
    }
    wait_for("a response of each", || leafs[0].unanswered(&EXPECTED).is_empty(), state);
    assert!(!there("default"), "{}", state());
    assert_eq!(speaker.received_routes(), "{}\n{}");
    drop(speaker);
    wait_for("no service addresses", || !there("198.51.100.7") && !there("2001:db8:99::7"), state);
    node.stop();
}

/// In one machine, which has cached and translated most of the code that later runs execute.
#[test]
fn service_addresses_are_exported_from_a_vrf_on_frr_8_frr_10_and_bird() {
    vm::run_in_vm(|| {
        for (frr, backend) in [(Frr::V8, "frr"), (Frr::V10, "frr"), (Frr::V10, "bird")] {
            eprintln!("{backend}, with leafs of {frr:?}");
            services(frr, backend);
        }
    });
}

/// A veth is not a hardware port: these are. Only the node itself is configured.
#[test]
fn ports_with_routers_are_discovered_even_if_a_router_appears_late() {
    vm::run_in_vm_with_ports(|| {
        let node = Node::new(Frr::V10.machine());
        node.machine.ask("ip address add 10.0.0.1/32 dev lo");
        node.machine.take_port("eth0", "eth0");
        node.machine.take_port("eth2", "eth1");
        let leafs = [1, 2].map(|nth| Leaf::new(Frr::V10, nth));
        let [first, second] = &leafs;
        first.take_port("eth1");
        // It exists, and has sent nothing yet.
        second.take_port("eth3");
        first.start();
        let state = || node.state() + &leafs.each_ref().map(Leaf::state).concat();

        node.start(&VARIABLES[..2], "");

        wait_for("the node at the first leaf", || first.has_route_to("10.0.0.1"), state);
        wait_for("the leaf at the node", || node.route_to(leaf::SHARED).contains("dev eth0"), state);
        let with = |status: &Value| {
            let sessions = status["sessions"].as_array().into_iter().flatten();
            let fabric = sessions.filter(|session| session["peer_role"] == "fabric");
            fabric.filter_map(|session| session["peer"].as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(with(&node.status()), ["eth0"], "{}", state());
        let (agent, before) = (node.processes("ichor-agent"), first.established());

        second.start();

        wait_for("the node at the second leaf", || second.has_route_to("10.0.0.1"), state);
        let both = || node.route_to(leaf::SHARED).matches("nexthop").count() == 2;
        wait_for("both leafs at the node", both, state);
        assert_eq!(with(&node.status()), ["eth0", "eth1"]);
        assert_eq!((node.processes("ichor-agent"), first.established()), (agent, before));
        node.stop();
    });
}
