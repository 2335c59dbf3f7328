//! A speaker in a namespace, told by variables.

use super::leaf::SHARED;
use super::{ADDRESS, NAMED, Scene, Speaker, told};
use crate::common::frr::Frr;

/// An address of a service.
const SERVICE: &str = "198.51.100.7";

fn services(frr: Frr) {
    let scene = Scene::routed(frr);
    let node = &scene.node;
    assert!(node.way(SHARED).contains(&format!("src {ADDRESS}")), "{}", node.way(SHARED));

    let speaker = Speaker::new(&node.machine, &told(&NAMED));
    node.wait_for_sessions(3);
    node.serve(SERVICE);
    speaker.announce(&["0.0.0.0/0", "198.51.100.128/25", &format!("{SERVICE}/32")]);

    scene.wait_for("from the speaker", SERVICE, true);
    for leaf in &scene.leafs {
        assert!(leaf.reaches(SERVICE), "{}", scene.state());
        assert!(!leaf.goes_to("198.51.100.128/25") && !leaf.goes_to("default"), "{}", scene.state());
    }
    assert_eq!(speaker.given(), "{}\n{}");

    drop(speaker);

    scene.wait_for("without the speaker", SERVICE, false);
    assert!(scene.leafs.iter().all(|leaf| leaf.goes_to(ADDRESS)), "{}", scene.state());
    node.end();
    let left = node.machine.ask("ip netns list; ip -o link show veth-b");
    assert!(left.contains("metallb") && left.contains("veth-b"), "{left}");

    let down = node.machine.run(&format!("env {} /tmp/ichor-agent down", super::node::shell(&NAMED)));

    assert!(down.status.success(), "{down:?}");
    let left = node.machine.ask("ip netns list; ip -o link");
    assert!(!left.contains("metallb") && !left.contains("veth-b") && left.contains("eth0"), "{left}");
}

#[test]
fn service_addresses_leave_a_namespace_on_frr_8_and_nothing_enters_it() {
    services(Frr::V8);
}

#[test]
fn service_addresses_leave_a_namespace_on_frr_10_and_nothing_enters_it() {
    services(Frr::V10);
}
