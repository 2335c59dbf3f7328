//! Ports that come late, go, and come back, found by their MAC addresses.

use super::{ADDRESS, Scene};
use crate::common::frr::Frr;
use crate::common::lab::wait_for;

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
        node.wait_for("what is missing", |status| status["waiting"].to_string().contains(missing));
        let before = first.established();

        plug("eth1");
        scene.wait_for_all("when the port came");
        node.machine.ask("ip link del eth1");
        let gone = || !second.goes_to(ADDRESS);
        wait_for("no way by the second leaf", gone, || scene.state());
        node.wait_for("what is missing", |status| status["waiting"].to_string().contains(missing));
        plug("other");
        scene.wait_for_all("when the port came back");

        assert_eq!(first.established(), before, "the first session never went down");
        node.end();
    }
}
