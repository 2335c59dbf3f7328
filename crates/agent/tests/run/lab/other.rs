//! BIRD and GoBGP as the node's daemon.

use std::fs;

use super::leaf::SHARED;
use super::node::Node;
use super::{ADDRESS, BgpSpeaker, NAMED, Scene, told};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{lab_path, wait_for};

fn routes(scene: &Scene, daemon: &str, backend: &str) {
    let node = &scene.node;
    let variables = [&NAMED[..], &[("ICHOR_BACKEND", backend)]].concat();
    node.start(&variables, "");
    scene.wait_for_all("from the start");
    let speaker = BgpSpeaker::new(&node.machine, &told(&variables));
    speaker.announce(&["198.51.100.7/32"]);
    scene.wait_for("from the speaker", "198.51.100.7", true);
    assert_eq!(speaker.given(), "{}\n{}");

    node.signal("KILL", daemon);

    node.wait_for_sessions(3);
    scene.wait_for_all("after it was killed");
    scene.wait_for("after it was killed", "198.51.100.7", true);
    assert!(scene.leafs.iter().all(|leaf| leaf.reaches(ADDRESS)), "{}", scene.state());
    node.machine.ask(&format!("ip route del {SHARED}"));
    let back = || node.way(SHARED).matches("nexthop").count() == 2;
    wait_for("what somebody deleted", back, || scene.state());
    node.end();
}

/// Gives a node GoBGP 4, also where its machine has an older one.
pub fn gobgp(node: &Node) {
    node.machine.ask("mount -t tmpfs none /usr/local/sbin");
    fs::copy(lab_path("gobgp4").join("usr/bin/gobgpd"), node.machine.path("/usr/local/sbin/gobgpd")).unwrap();
    node.machine.ask("[ ! -e /usr/bin/gobgpd ] || mount --bind /usr/local/sbin/gobgpd /usr/bin/gobgpd");
}

#[test]
fn gobgp_routes_by_the_agent() {
    let scene = Scene::new(Frr::V8);
    gobgp(&scene.node);
    routes(&scene, "gobgpd", "gobgp");
}
