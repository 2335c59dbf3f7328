//! A speaker in a namespace, told by variables.

use std::time::{Duration, Instant};

use super::leaf::SHARED;
use super::{ADDRESS, BgpSpeaker, NAMED, Scene, told};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{output_text, wait_for};

/// What the agent turns, and what others may have turned since.
const SWITCHES: &str = "cd /proc/sys/net; cat ipv4/ip_forward ipv6/conf/all/forwarding ipv6/conf/default/forwarding \
    ipv[46]/fib_multipath_hash_policy ipv4/conf/all/rp_filter ipv4/conf/eth0/rp_filter ipv6/conf/eth0/addr_gen_mode";

/// An address of a service.
const SERVICE: &str = "198.51.100.7";

fn services(frr: Frr) {
    let scene = Scene::new(frr);
    let node = &scene.node;
    let before = node.machine.ask(SWITCHES);
    node.start(&NAMED, "");
    scene.wait_for_all("from the start");
    assert_ne!(node.machine.ask(SWITCHES), before);
    let running = node.machine.run(&format!("env {} /tmp/ichor-agent down", super::node::shell(&NAMED)));
    assert!(output_text(&running).contains("another agent runs"), "{}", output_text(&running));
    assert!(node.way(SHARED).contains(&format!("src {ADDRESS}")), "{}", node.way(SHARED));

    let speaker = BgpSpeaker::new(&node.machine, &told(&NAMED));
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
    let left =
        node.machine.ask("ip netns list; ip -o link show veth-b; ip route show proto bgp; ls /run/ichor");
    assert!(["metallb", "veth-b", SHARED, "frr.conf"].iter().all(|sign| left.contains(sign)), "{left}");
    node.machine.ask("ip route add 192.0.2.0/24 dev lo proto static");

    let down = node.machine.run(&format!("env {} /tmp/ichor-agent down", super::node::shell(&NAMED)));

    assert!(down.status.success(), "{down:?}");
    let left = node.machine.ask("ip netns list; ip -o link; ip route; ip -6 route; ls /run");
    let signs = ["metallb", "veth-b", "proto bgp", "ichor"];
    assert!(!signs.iter().any(|sign| left.contains(sign)), "{left}");
    assert!(left.contains("eth0") && left.contains("192.0.2.0/24"), "{left}");
    assert_eq!(node.machine.ask(SWITCHES), before);
}

#[test]
fn service_addresses_leave_a_namespace_on_frr_8_and_nothing_enters_it() {
    services(Frr::V8);
}

#[test]
fn service_addresses_leave_a_namespace_on_frr_10_and_nothing_enters_it() {
    services(Frr::V10);
}

/// What is changed in the namespace is nothing that the node's own network is told of.
#[test]
fn what_somebody_changes_in_the_namespace_is_put_right_at_once() {
    let scene = Scene::routed(Frr::V8);
    let node = &scene.node;
    let inside = |what: &str| node.machine.ask(&format!("ip netns exec metallb ip {what}"));
    for (broken, sign) in [
        ("address flush dev veth-a", "192.168.250.254/31"),
        ("link set veth-a mtu 1400", "mtu 1500"),
        ("link set veth-a down", "state UP"),
        ("link del veth-a", "192.168.250.254/31"),
    ] {
        inside(broken);

        let mended = || node.machine.run("ip netns exec metallb ip address show dev veth-a");
        let start = Instant::now();
        wait_for(broken, || output_text(&mended()).contains(sign), || scene.state());
        assert!(start.elapsed() < Duration::from_secs(3), "{broken}: {:?}", start.elapsed());
    }
    node.end();
}
