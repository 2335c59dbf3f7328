//! Ports that appear late, disappear, and come back, identified by their MAC addresses.

use ichor_bgp::reload::FrrDaemon;
use serde_json::Value;

use super::leaf::Leaf;
use super::{ADDRESS, NAMED, Topology};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{wait_for, wait_seconds};
use ichor_testbed::vty::Vty;

const VARIABLES: [(&str, &str); 4] = [
    ("NODE_IP", ADDRESS),
    ("ASN_LOCAL", "4200000001"),
    ("ICHOR_VARIANT", "namespace"),
    ("FE_MACS", "02:00:00:00:00:01,02:00:00:00:00:02"),
];

#[test]
fn a_port_may_appear_late_disappear_and_come_back_with_another_name() {
    for frr in Frr::ALL {
        let topology = Topology::new(frr);
        let (node, [first, second]) = (&topology.node, &topology.leafs);
        node.machine.ask("ip link set eth0 address 02:00:00:00:00:01; ip link del eth1");
        let plug = |port: &str| {
            node.machine.cable(port, &second.machine, "to0");
            node.machine.ask(&format!("ip link set {port} address 02:00:00:00:00:02"));
        };
        node.start(&VARIABLES, "");
        wait_for("the first leaf", || first.has_route_to(ADDRESS), || topology.state());
        let missing = "no port has the MAC address 02:00:00:00:00:02";
        node.wait_for("what is missing", |status| status["waiting_for"].to_string().contains(missing));
        let before = first.established();

        plug("eth1");
        topology.wait_for_all("when the port came");
        node.machine.ask("ip link del eth1");
        let gone = || !second.has_route_to(ADDRESS);
        wait_for("no route over the second leaf", gone, || topology.state());
        node.wait_for("what is missing", |status| status["waiting_for"].to_string().contains(missing));
        plug("other");
        topology.wait_for_all("when the port came back");

        assert_eq!(first.established(), before, "the first session never went down");
        node.stop();
    }
}

/// mgmtd admits one writer at a time, even an operator who loads a file with vtysh.
#[test]
fn a_port_that_appears_while_another_client_has_the_lock_is_configured_afterwards() {
    let topology = Topology::new(Frr::V10);
    let (node, [first, second]) = (&topology.node, &topology.leafs);
    node.machine.ask("ip link set eth0 address 02:00:00:00:00:01; ip link del eth1");
    node.start(&VARIABLES, "");
    wait_for("the first leaf", || first.has_route_to(ADDRESS), || topology.state());
    let mut other = Vty::open(&node.machine, FrrDaemon::Mgmtd);
    assert_eq!(other.ask("configure terminal file-lock").1, 0);
    let before = first.established();

    node.machine.cable_with(["eth1", "02:00:00:00:00:02"], &second.machine, ["to0", "02:00:00:00:01:02"]);

    let is_locked = |status: &Value| status["last_reload"]["error"].to_string().contains("lock");
    let is_retried = |status: &Value| is_locked(status) && status["last_reload"]["retry_at"].is_string();
    node.wait_for("that a retry is scheduled", is_retried);
    let first_time = node.status()["last_reload"]["time"].clone();
    node.wait_for("a retry", |status| is_retried(status) && status["last_reload"]["time"] != first_time);
    assert!(!second.has_route_to(ADDRESS), "{}", topology.state());
    drop(other);
    topology.wait_for_all("after the lock is released");
    node.wait_for("that it was accepted", |status| status["last_reload"].get("error").is_none());
    assert_eq!(first.established(), before, "the first session never went down");
    node.stop();
}

/// FRR 10.3.0 at the leaf monitors the old address of the port, and does not start a session with another.
#[test]
fn a_port_with_another_address_is_reported_while_its_leaf_monitors_the_old_one() {
    let topology = Topology::new(Frr::V10);
    let (node, [_, second]) = (&topology.node, &topology.leafs);
    topology.leafs.iter().for_each(Leaf::enable_bfd);
    let plug = |mac: u8| {
        node.machine.ask("ip link del eth1");
        let mac = format!("02:00:00:00:00:0{mac}");
        node.machine.cable_with(["eth1", &mac], &second.machine, ["to0", "02:00:00:00:01:02"]);
    };
    plug(2);
    node.start(&[&NAMED[..], &[("ENABLE_BFD", "true")]].concat(), "");
    topology.wait_for_all("from the start");

    plug(3);

    let problem = "port eth1 came back with MAC 02:00:00:00:00:03 instead of 02:00:00:00:00:02";
    node.wait_for("why the session stays down", |_| node.problems().contains(problem));
    wait_seconds(10);
    assert!(node.problems().contains(problem) && !second.has_route_to(ADDRESS), "{}", topology.state());

    plug(2);

    topology.wait_for_all("with the old address");
    assert!(!node.problems().contains("eth1"), "{}", node.problems());
    node.stop();
}

/// FRR 10.3.0 on the node does the same when the address of a leaf changes.
#[test]
fn a_leaf_with_another_address_is_peered_with_or_its_stale_bfd_session_is_reported() {
    let topology = Topology::new(Frr::V10);
    let (node, [_, second]) = (&topology.node, &topology.leafs);
    topology.leafs.iter().for_each(Leaf::enable_bfd);
    node.start(&[&NAMED[..], &[("ENABLE_BFD", "true")]].concat(), "");
    topology.wait_for_all("from the start");

    second.machine.ask("ip link set to0 down; ip link set to0 address 02:00:00:00:00:99; ip link set to0 up");

    // FRR 10.3 usually keeps the old address, but not always.
    let is_reached = |status: &Value| {
        let sessions = status["sessions"].as_array().into_iter().flatten();
        let new = sessions.filter(|session| session["peer_address"] == "fe80::ff:fe00:99");
        new.into_iter().any(|session| session["state"] == "established" && session["bfd_up"] == true)
    };
    let is_reported = || node.problems().contains("BFD still monitors fe80::");
    node.wait_for("the new address, or the stale BFD session", |status| is_reported() || is_reached(status));
    node.stop();
}

/// A leaf with only one of two address families.
#[test]
fn a_family_that_the_leaf_lacks_is_reported() {
    for frr in Frr::ALL {
        let topology = Topology::new(frr);
        topology.leafs[1].machine.ask(
            "vtysh -c 'configure terminal' -c 'router bgp 65102' -c 'address-family ipv6 unicast' -c 'no neighbor NODES activate'",
        );
        topology.node.start(&NAMED, "");
        topology.wait_for_all("from the start");

        let problem = "no IPv6 prefixes: the neighbour has not activated IPv6 on this session";
        topology.node.wait_for("the family", |_| topology.node.problems().contains(problem));
        assert_eq!(topology.node.problems().matches(problem).count(), 1, "the other leaf has both");
        topology.node.stop();
    }
}
