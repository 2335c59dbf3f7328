//! A load balancer in a namespace, configured by variables.

use std::time::{Duration, Instant};

use super::leaf::SHARED;
use super::{ADDRESS, BgpSpeaker, NAMED, Topology, model_of_variables};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{output_text, wait_for};

/// Sysctls that the agent changes.
const SYSCTLS: &str = "cd /proc/sys/net; cat ipv4/ip_forward ipv6/conf/all/forwarding ipv6/conf/default/forwarding \
    ipv[46]/fib_multipath_hash_policy ipv4/conf/all/rp_filter ipv4/conf/eth0/rp_filter ipv6/conf/eth0/addr_gen_mode";

/// A service address.
const SERVICE: &str = "198.51.100.7";

fn services(frr: Frr) {
    let topology = Topology::new(frr);
    let node = &topology.node;
    let before = node.machine.ask(SYSCTLS);
    node.start(&NAMED, "");
    topology.wait_for_all("from the start");
    assert_ne!(node.machine.ask(SYSCTLS), before);
    let running = node.machine.run(&format!("env {} /tmp/ichor-agent down", super::node::shell(&NAMED)));
    assert!(output_text(&running).contains("another agent uses run directory"), "{}", output_text(&running));
    assert!(node.route_to(SHARED).contains(&format!("src {ADDRESS}")), "{}", node.route_to(SHARED));

    let speaker = BgpSpeaker::new(&node.machine, &model_of_variables(&NAMED));
    node.wait_for_sessions(3);
    node.serve(SERVICE);
    speaker.announce(&["0.0.0.0/0", "198.51.100.128/25", &format!("{SERVICE}/32")]);

    topology.wait_for("from the speaker", SERVICE, true);
    for leaf in &topology.leafs {
        assert!(leaf.reaches(SERVICE), "{}", topology.state());
        assert!(
            !leaf.has_route_to("198.51.100.128/25") && !leaf.has_route_to("default"),
            "{}",
            topology.state()
        );
    }
    assert_eq!(speaker.received_routes(), "{}\n{}");

    drop(speaker);

    topology.wait_for("without the speaker", SERVICE, false);
    assert!(topology.leafs.iter().all(|leaf| leaf.has_route_to(ADDRESS)), "{}", topology.state());
    node.stop();
    let remaining =
        node.machine.ask("ip netns list; ip -o link show veth-b; ip route show proto bgp; ls /run/ichor");
    assert!(
        ["metallb", "veth-b", SHARED, "frr.conf"].iter().all(|sign| remaining.contains(sign)),
        "{remaining}"
    );
    node.machine.ask("ip route add 192.0.2.0/24 dev lo proto static");

    let down = node.machine.run(&format!("env {} /tmp/ichor-agent down", super::node::shell(&NAMED)));

    assert!(down.status.success(), "{down:?}");
    let remaining = node.machine.ask("ip netns list; ip -o link; ip route; ip -6 route; ls /run");
    let signs = ["metallb", "veth-b", "proto bgp", "ichor"];
    assert!(!signs.iter().any(|sign| remaining.contains(sign)), "{remaining}");
    assert!(remaining.contains("eth0") && remaining.contains("192.0.2.0/24"), "{remaining}");
    assert_eq!(node.machine.ask(SYSCTLS), before);
}

#[test]
fn service_addresses_are_exported_from_a_namespace_on_frr_8_and_nothing_is_imported() {
    services(Frr::V8);
}

#[test]
fn service_addresses_are_exported_from_a_namespace_on_frr_10_and_nothing_is_imported() {
    services(Frr::V10);
}

/// Changes in the namespace cause no notification in the node's own network.
#[test]
fn changes_in_the_namespace_are_repaired_immediately() {
    let topology = Topology::routed(Frr::V8);
    let node = &topology.node;
    let inside = |what: &str| node.machine.ask(&format!("ip netns exec metallb ip {what}"));
    for (broken, sign) in [
        ("address flush dev veth-a", "192.168.250.254/31"),
        ("link set veth-a mtu 1400", "mtu 1500"),
        ("link set veth-a down", "state UP"),
        ("link del veth-a", "192.168.250.254/31"),
    ] {
        inside(broken);

        let repaired = || node.machine.run("ip netns exec metallb ip address show dev veth-a");
        let start = Instant::now();
        wait_for(broken, || output_text(&repaired()).contains(sign), || topology.state());
        assert!(start.elapsed() < Duration::from_secs(3), "{broken}: {:?}", start.elapsed());
    }
    node.stop();
}
