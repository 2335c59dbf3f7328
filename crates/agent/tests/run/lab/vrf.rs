//! What needs a kernel of its own: a speaker in a VRF, and ports of hardware. All is told by variables.

use serde_json::Value;

use super::leaf::{self, Leaf};
use super::node::{Node, told};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::wait_for;
use ichor_testbed::speaker::BgpSpeaker;
use ichor_testbed::vm;

const VARIABLES: [(&str, &str); 4] = [
    ("NODE_IP", "10.0.0.1"),
    ("ASN_LOCAL", "4200000001"),
    ("FE_MACS", "02:00:00:00:00:01,02:00:00:00:00:02"),
    // 300 ms mean nothing where all is emulated.
    ("ENABLE_BFD", "false"),
];

/// What the leafs shall have.
const MEANT: [&str; 8] = [
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
    let there = |net: &str| leafs.iter().all(|leaf| leaf.goes_to(net));
    wait_for("the node at both leafs", || there("10.0.0.1"), state);
    let speaker = BgpSpeaker::new(&node.machine, &told(&variables));
    speaker.announce(&["0.0.0.0/0", "::/0", "198.51.100.7/32", "2001:db8:99::7/128"]);
    for address in ["198.51.100.7/32", "2001:db8:99::7/128"] {
        node.serve(address);
    }
    for net in MEANT {
        wait_for(net, || there(net), state);
    }
    wait_for("an answer of each", || leafs[0].unanswered(&MEANT).is_empty(), state);
    assert!(!there("default"), "{}", state());
    assert_eq!(speaker.given(), "{}\n{}");
    drop(speaker);
    wait_for("no service", || !there("198.51.100.7") && !there("2001:db8:99::7"), state);
    node.end();
}

/// In one machine, which has then read and translated most of what the later ones run.
#[test]
fn service_addresses_leave_a_vrf_on_frr_8_frr_10_and_bird() {
    vm::run_in_vm(|| {
        for (frr, backend) in [(Frr::V8, "frr"), (Frr::V10, "frr"), (Frr::V10, "bird")] {
            eprintln!("{backend}, with leafs of {frr:?}");
            services(frr, backend);
        }
    });
}

/// A veth is no port of hardware: these are. Nothing is said but who the node is.
#[test]
fn the_ports_with_routers_are_found_and_one_whose_router_comes_late_is_taken_up() {
    vm::run_in_vm_with_ports(|| {
        let node = Node::new(Frr::V10.machine());
        node.machine.ask("ip address add 10.0.0.1/32 dev lo");
        node.machine.take("eth0", "eth0");
        node.machine.take("eth2", "eth1");
        let leafs = [1, 2].map(|nth| Leaf::new(Frr::V10, nth));
        let [first, second] = &leafs;
        first.take("eth1");
        // It is there, and says nothing so far.
        second.take("eth3");
        first.start();
        let state = || node.state() + &leafs.each_ref().map(Leaf::state).concat();

        node.start(&VARIABLES[..2], "");

        wait_for("the node at the first leaf", || first.goes_to("10.0.0.1"), state);
        wait_for("the leaf at the node", || node.way(leaf::SHARED).contains("dev eth0"), state);
        let with = |status: &Value| {
            let sessions = status["sessions"].as_array().into_iter().flatten();
            let fabric = sessions.filter(|session| session["peer_role"] == "fabric");
            fabric.filter_map(|session| session["peer"].as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(with(&node.status()), ["eth0"], "{}", state());
        let (agent, before) = (node.processes("ichor-agent"), first.established());

        second.start();

        wait_for("the node at the second leaf", || second.goes_to("10.0.0.1"), state);
        let both = || node.way(leaf::SHARED).matches("nexthop").count() == 2;
        wait_for("both leafs at the node", both, state);
        assert_eq!(with(&node.status()), ["eth0", "eth1"]);
        assert_eq!((node.processes("ichor-agent"), first.established()), (agent, before));
        node.end();
    });
}
