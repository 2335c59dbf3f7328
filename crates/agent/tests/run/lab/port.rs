//! Ports that come late, go, and come back, found by their MAC addresses.

use ichor_bgp::reload::FrrDaemon;
use serde_json::Value;

use super::leaf::Leaf;
use super::{ADDRESS, NAMED, Scene};
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
fn a_port_comes_late_goes_and_comes_back_by_another_name() {
    for frr in Frr::ALL {
        let scene = Scene::new(frr);
        let (node, [first, second]) = (&scene.node, &scene.leafs);
        node.machine.ask("ip link set eth0 address 02:00:00:00:00:01; ip link del eth1");
        let plug = |port: &str| {
            node.machine.cable(port, &second.machine, "to0");
            node.machine.ask(&format!("ip link set {port} address 02:00:00:00:00:02"));
        };
        node.start(&VARIABLES, "");
        wait_for("the first leaf", || first.goes_to(ADDRESS), || scene.state());
        let missing = "no port has the MAC address 02:00:00:00:00:02";
        node.wait_for("what is missing", |status| status["waiting_for"].to_string().contains(missing));
        let before = first.established();

        plug("eth1");
        scene.wait_for_all("when the port came");
        node.machine.ask("ip link del eth1");
        let gone = || !second.goes_to(ADDRESS);
        wait_for("no way by the second leaf", gone, || scene.state());
        node.wait_for("what is missing", |status| status["waiting_for"].to_string().contains(missing));
        plug("other");
        scene.wait_for_all("when the port came back");

        assert_eq!(first.established(), before, "the first session never went down");
        node.end();
    }
}

/// mgmtd lets one write at a time, be it a person who loads a file with vtysh.
#[test]
fn a_port_that_comes_while_somebody_else_configures_is_taken_up_when_they_have_ended() {
    let scene = Scene::new(Frr::V10);
    let (node, [first, second]) = (&scene.node, &scene.leafs);
    node.machine.ask("ip link set eth0 address 02:00:00:00:00:01; ip link del eth1");
    node.start(&VARIABLES, "");
    wait_for("the first leaf", || first.goes_to(ADDRESS), || scene.state());
    let mut other = Vty::open(&node.machine, FrrDaemon::Mgmtd);
    assert_eq!(other.ask("configure terminal file-lock").1, 0);
    let before = first.established();

    node.machine.cable_with(["eth1", "02:00:00:00:00:02"], &second.machine, ["to0", "02:00:00:00:01:02"]);

    let told = |status: &Value| status["last_reload"]["error"].to_string().contains("lock");
    let later = |status: &Value| told(status) && status["last_reload"]["retry_at"].is_string();
    node.wait_for("that it is told again", later);
    let first_time = node.status()["last_reload"]["time"].clone();
    node.wait_for("that it was told again", |status| {
        later(status) && status["last_reload"]["time"] != first_time
    });
    assert!(!second.goes_to(ADDRESS), "{}", scene.state());
    drop(other);
    scene.wait_for_all("when nobody else configures");
    node.wait_for("that it was taken", |status| status["last_reload"].get("error").is_none());
    assert_eq!(first.established(), before, "the first session never went down");
    node.end();
}

/// FRR 10.3.0 at the leaf watches the address that the port had, and does not begin a session with another.
#[test]
fn a_port_that_comes_back_with_another_address_is_told_while_its_leaf_holds_the_old_one() {
    let scene = Scene::new(Frr::V10);
    let (node, [_, second]) = (&scene.node, &scene.leafs);
    scene.leafs.iter().for_each(Leaf::watch);
    let plug = |mac: u8| {
        node.machine.ask("ip link del eth1");
        let mac = format!("02:00:00:00:00:0{mac}");
        node.machine.cable_with(["eth1", &mac], &second.machine, ["to0", "02:00:00:00:01:02"]);
    };
    plug(2);
    node.start(&[&NAMED[..], &[("ENABLE_BFD", "true")]].concat(), "");
    scene.wait_for_all("from the start");

    plug(3);

    let told = "port eth1 came back with MAC 02:00:00:00:00:03 in the place of 02:00:00:00:00:02";
    node.wait_for("why the session stays down", |_| node.troubles().contains(told));
    wait_seconds(10);
    assert!(node.troubles().contains(told) && !second.goes_to(ADDRESS), "{}", scene.state());

    plug(2);

    scene.wait_for_all("with the old address");
    assert!(!node.troubles().contains("eth1"), "{}", node.troubles());
    node.end();
}

/// FRR 10.3.0 on the node does the same when a leaf has another address.
#[test]
fn a_leaf_with_another_address_is_reached_again_or_it_is_told_that_bfd_holds_the_old_one() {
    let scene = Scene::new(Frr::V10);
    let (node, [_, second]) = (&scene.node, &scene.leafs);
    scene.leafs.iter().for_each(Leaf::watch);
    node.start(&[&NAMED[..], &[("ENABLE_BFD", "true")]].concat(), "");
    scene.wait_for_all("from the start");

    second.machine.ask("ip link set to0 down; ip link set to0 address 02:00:00:00:00:99; ip link set to0 up");

    // FRR 10.3 mostly stays with the old address, and now and then it does not.
    let is_reached = |status: &Value| {
        let sessions = status["sessions"].as_array().into_iter().flatten();
        let new = sessions.filter(|session| session["peer_address"] == "fe80::ff:fe00:99");
        new.into_iter().any(|session| session["state"] == "established" && session["bfd_up"] == true)
    };
    let is_told = || node.troubles().contains("BFD still watches fe80::");
    node.wait_for("the new address, or what BFD watches", |status| is_told() || is_reached(status));
    node.end();
}

/// A leaf that has only one of two families.
#[test]
fn a_family_that_the_leaf_does_not_have_is_told() {
    for frr in Frr::ALL {
        let scene = Scene::new(frr);
        scene.leafs[1].machine.ask(
            "vtysh -c 'configure terminal' -c 'router bgp 65102' -c 'address-family ipv6 unicast' -c 'no neighbor NODES activate'",
        );
        scene.node.start(&NAMED, "");
        scene.wait_for_all("from the start");

        let told = "no IPv6 prefixes: the neighbour does not have that family on this session";
        scene.node.wait_for("the family", |_| scene.node.troubles().contains(told));
        assert_eq!(scene.node.troubles().matches(told).count(), 1, "the other leaf has both");
        scene.node.end();
    }
}
