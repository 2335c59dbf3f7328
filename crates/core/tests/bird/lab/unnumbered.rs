//! A node between two unnumbered leafs, with a speaker in its own table.

use super::bird::{Bird, start, start_again};
use super::fabric::{Node, bfd, leaf, peer, wait_for_rib};
use ichor_testbed::lab::{LabMachine, wait_for};
use ichor_testbed::routing::PASSWORD;

const NODE: u32 = 4_210_012_001;
const SPEAKER: u32 = 4_200_099_999;

fn text(bird: Bird) -> String {
    format!(
        "cluster: {{name: lab, id: 12, talos: v1.13.9}}\n\
         network: {{node: null, loopback: {{v4: 10.12.10.0/24, v6: \"fd00:12::/64\"}}}}\n\
         routing:\n  backend: bird\n  version: {}\n  router_id: loopback\n  graceful_restart: {{time: 15}}\n  neighbors:\n    \
         - {{link: eth0, password: {{env: PW}}, bfd: {{interval: 150, multiplier: 4}}}}\n    \
         - {{link: eth1, password: {{env: PW}}}}\n  \
         policy:\n    in: {{allow: [10.255.0.0/24, \"fd00:255::/64\"], local_preference: 200}}\n    \
         out: {{communities: [65000:1, no-peer, 4200000000:1:2], prepend: 1}}\n  \
         workload: {{speaker: cilium, isolation: none, allow: [10.101.250.0/24, \"fd00:101:250::/112\"]}}\n\
         nodes: [{{name: n1, index: 1}}]\n",
        bird.version()
    )
}

/// The speaker's announcements: services, and prefixes that must be rejected.
const SPEAKS: &str = "log stderr all;\nrouter id 10.99.0.1;\nprotocol device { }\n\
    protocol static { ipv4; route 10.101.250.7/32 unreachable; route 192.0.2.66/32 unreachable;\n\
    route 10.12.10.9/32 unreachable; route 0.0.0.0/0 unreachable; }\n\
    protocol static { ipv6; route fd00:101:250::7/128 unreachable; route 2001:db8:bad::1/128 unreachable;\n\
    route fd00:12::9/128 unreachable; route ::/0 unreachable; }\n\
    protocol bgp node {\n local fd00:12:cc::1 port 1179 as 4200099999;\n strict bind on;\n\
    neighbor fd00:12:cc:: as 4200099998;\n multihop 2;\n connect delay time 1; connect retry time 2;\n\
    ipv4 { import all; export all; extended next hop on; next hop self on; };\n\
    ipv6 { import all; export all; next hop self on; };\n}\n";

/// The node and its leafs, each with its own password.
fn fabric(bird: Bird, passwords: [&str; 2]) -> (Node, [LabMachine; 2]) {
    let node = Node::new(bird, &text(bird));
    let leafs = [1, 2].map(|nth| {
        let leaf = leaf(nth);
        node.machine.cable(&format!("eth{}", nth - 1), &leaf, "to-node");
        let password = passwords[usize::from(nth - 1)];
        let group =
            format!(" neighbor NODES password {password}\n neighbor to-node interface peer-group NODES\n");
        peer(&leaf, nth, &format!("6510{nth}"), &group);
        leaf
    });
    node.machine.ask(
        "ip link add ours type veth peer name theirs && ip link set ours up && ip link set theirs up && \
         ip address add fd00:12:cc::/127 dev ours && ip address add fd00:12:cc::1/127 dev theirs",
    );
    node.start();
    (node, leafs)
}

fn goes_well_with(bird: Bird) {
    let (node, leafs) = fabric(bird, [PASSWORD; 2]);
    let speaker = Bird::V2_0.beside(&node.machine);
    start(&speaker, SPEAKS);

    node.wait_for_sessions("fabric-", 2);
    node.wait_for_sessions("load_balancer-", 1);

    let (loopback, service) = (format!("{NODE} {NODE}"), format!("{NODE} {NODE} {SPEAKER}"));
    for (nth, leaf) in (1..).zip(&leafs) {
        let v4 = [("10.12.10.1/32", loopback.clone()), ("10.101.250.7/32", service.clone())];
        let v6 = [("fd00:12::1/128", loopback.clone()), ("fd00:101:250::7/128", service.clone())];
        wait_for_rib(leaf, nth, "ipv4", &v4);
        wait_for_rib(leaf, nth, "ipv6", &v6);
    }
    marks_are_on(&leafs[0]);
    kernel_has_both_ways(&node);
    let preferred = node.machine.ask("birdc show route 10.255.0.99/32 all");
    assert_eq!(preferred.matches("BGP.local_pref: 200").count(), 2, "{preferred}");
    assert!(
        !speaker.ask("birdc show route protocol node").contains("unicast"),
        "nothing goes to the speaker"
    );
    let bfd = bfd(&leafs[0]);
    assert_eq!(
        (&bfd["remote-receive-interval"], &bfd["remote-transmit-interval"]),
        (&150.into(), &150.into())
    );
    assert_eq!(bfd["remote-detect-multiplier"], 4);

    // After an error BIRD would not listen for a minute, and for longer each time.
    for _ in 0..2 {
        leafs[0].ask("ip link set to-node down && sleep 2");
        node.wait_for_sessions("fabric-eth0-", 0);
        leafs[0].ask("ip link set to-node up");
        let repaired = leafs[0].ask("date +%s").trim().parse::<u64>().unwrap();
        node.wait_for_sessions("fabric-eth0-", 1);
        let back = leafs[0].ask("date +%s").trim().parse::<u64>().unwrap();
        assert!(back - repaired < 30, "back after {} s", back - repaired);
    }
    speaker.run("pkill -9 bird");

    for (nth, leaf) in (1..).zip(&leafs) {
        wait_for_rib(leaf, nth, "ipv4", &[("10.12.10.1/32", loopback.clone())]);
    }
}

/// The communities on the routes of the node and of the speaker.
fn marks_are_on(leaf: &LabMachine) {
    for net in ["10.12.10.1/32", "10.101.250.7/32"] {
        let output = leaf.ask(&format!("vtysh -c 'show bgp ipv4 unicast {net}'"));
        assert!(output.contains("Community: 65000:1 no-peer\n"), "{output}");
        assert!(output.contains("Large Community: 4200000000:1:2\n"), "{output}");
    }
}

/// The imported routes, over both leafs where both have them, without default routes and without the speaker's.
fn kernel_has_both_ways(node: &Node) {
    for (family, all, source, nets) in [
        ("-4", "10.255.0.99", "src 10.12.10.1", ["10.255.0.1", "10.255.0.2"]),
        ("-6", "fd00:255::99", "src fd00:12::1", ["fd00:255::1", "fd00:255::2"]),
    ] {
        let complete = || node.kernel(family).get(all).is_some_and(|way| way.matches("nexthop").count() == 2);
        wait_for("two ways", complete, || format!("{:#?}", node.kernel(family)));
        let kernel = node.kernel(family);
        assert_eq!(
            kernel.keys().map(String::as_str).collect::<Vec<_>>(),
            [nets[0], nets[1], all],
            "{kernel:#?}"
        );
        assert!(kernel.values().all(|way| way.contains(source)), "{kernel:#?}");
    }
}

#[test]
fn bird_2_0_exchanges_routes_with_its_leafs() {
    goes_well_with(Bird::V2_0);
}

#[test]
fn bird_2_17_exchanges_routes_with_its_leafs() {
    goes_well_with(Bird::V2_17);
}

/// The agent's part of `graceful_restart`, which only the agent can do.
fn restarts(bird: Bird) {
    let (node, leafs) = fabric(bird, [PASSWORD; 2]);
    let loopback = [("10.12.10.1/32", format!("{NODE} {NODE}"))];
    let ended = || !node.machine.run("birdc show status").status.success();
    node.wait_for_sessions("fabric-", 2);
    wait_for_rib(&leafs[0], 1, "ipv4", &loopback);
    kernel_has_both_ways(&node);

    node.machine.ask("birdc graceful restart");
    wait_for("the end", ended, String::new);

    node.machine.ask("sleep 2");
    wait_for_rib(&leafs[0], 1, "ipv4", &loopback);
    assert_eq!(node.kernel("-4").len(), 3, "the kernel keeps its routes");
    start_again(&node.machine, "-R");
    node.wait_for_sessions("fabric-", 2);
    // It waits for the announced time: a daemon that listens on a range cannot know when all neighbours are back.
    let status = || node.machine.ask("birdc show status");
    wait_for("the end of the restart", || !status().contains("recovery in progress"), status);
    kernel_has_both_ways(&node);
    wait_for_rib(&leafs[0], 1, "ipv4", &loopback);

    node.machine.ask("pkill -TERM bird");
    wait_for("the end", ended, String::new);

    wait_for_rib(&leafs[0], 1, "ipv4", &[]);
    assert_eq!(node.kernel("-4").len(), 0, "without the word graceful it is an end");
}

#[test]
fn bird_2_0_restarts_gracefully_on_request() {
    restarts(Bird::V2_0);
}

#[test]
fn bird_2_17_restarts_gracefully_on_request() {
    restarts(Bird::V2_17);
}

#[test]
fn a_leaf_with_another_password_has_no_session() {
    let (node, _leafs) = fabric(Bird::V2_0, ["another", PASSWORD]);

    node.wait_for_sessions("fabric-eth1-", 1);
    node.machine.ask("sleep 5");

    node.wait_for_sessions("fabric-eth0-", 0);
}
