//! BIRD and GoBGP as the node's daemon.

use std::fs;

use super::leaf::SHARED;
use super::node::Node;
use super::{ADDRESS, BgpSpeaker, NAMED, Topology, model_of_variables};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{lab_path, wait_for};

fn routes(topology: &Topology, daemon: &str, backend: &str) {
    let node = &topology.node;
    let variables = [&NAMED[..], &[("ICHOR_BACKEND", backend)]].concat();
    node.start(&variables, "");
    topology.wait_for_all("from the start");
    let speaker = BgpSpeaker::new(&node.machine, &model_of_variables(&variables));
    speaker.announce(&["198.51.100.7/32"]);
    topology.wait_for("from the speaker", "198.51.100.7", true);
    assert_eq!(speaker.received_routes(), "{}\n{}");

    node.signal("KILL", daemon);

    node.wait_for_sessions(3);
    topology.wait_for_all("after it was killed");
    topology.wait_for("after it was killed", "198.51.100.7", true);
    assert!(topology.leafs.iter().all(|leaf| leaf.reaches(ADDRESS)), "{}", topology.state());
    node.machine.ask(&format!("ip route del {SHARED}"));
    let back = || node.route_to(SHARED).matches("nexthop").count() == 2;
    wait_for("the deleted route", back, || topology.state());
    node.stop();
}

/// Installs GoBGP 4 on a node, even if its machine has an older one.
pub fn install(node: &Node) {
    node.machine.ask("mount -t tmpfs none /usr/local/sbin");
    fs::copy(lab_path("gobgp4").join("usr/bin/gobgpd"), node.machine.path("/usr/local/sbin/gobgpd")).unwrap();
    node.machine.ask("[ ! -e /usr/bin/gobgpd ] || mount --bind /usr/local/sbin/gobgpd /usr/bin/gobgpd");
}

#[test]
fn the_agent_installs_the_routes_of_gobgp() {
    let topology = Topology::new(Frr::V8);
    install(&topology.node);
    routes(&topology, "gobgpd", "gobgp");
}
