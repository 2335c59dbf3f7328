//! BIRD and GoBGP as the node's daemon.

use super::leaf::SHARED;
use super::node::Node;
use super::{ADDRESS, NAMED, Scene, Speaker, told};
use crate::common::frr::Frr;
use crate::common::lab::{made, wait_for};

fn routes(scene: &Scene, daemon: &str, backend: &str) {
    let node = &scene.node;
    let variables = [&NAMED[..], &[("ICHOR_BACKEND", backend)]].concat();
    node.start(&variables, "");
    scene.wait_for_all("from the start");
    let speaker = Speaker::new(&node.machine, &told(&variables));
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

/// Gives a node GoBGP 4, also where this machine has an older one.
pub fn gobgp(node: &Node) {
    node.machine.ask(&format!(
        "mount -t tmpfs none /usr/local/sbin && cp {}/usr/bin/gobgpd /usr/local/sbin/ && \
         ([ ! -e /usr/bin/gobgpd ] || mount --bind /usr/local/sbin/gobgpd /usr/bin/gobgpd)",
        made("gobgp4").display()
    ));
}

#[test]
fn gobgp_routes_by_the_agent() {
    let scene = Scene::new(Frr::V8);
    gobgp(&scene.node);
    routes(&scene, "gobgpd", "gobgp");
}
