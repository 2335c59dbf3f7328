//! A node with numbered gateways, one of which does not support IPv4 over IPv6.

use super::bird::{Bird, log, protocols};
use super::fabric::{Node, bfd, leaf, peer, wait_for_rib};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, wait_for};

fn text(bird: Bird) -> String {
    format!(
        "cluster: {{name: lab, id: 101, talos: v1.13.9}}\n\
         network: {{node: {{v6: \"fd00:101::/64\", v4: null}}, loopback: {{v4: 10.12.10.0/24, v6: \"fd00:12::/64\"}}}}\n\
         fabric:\n  routers:\n    \
         - {{name: gw1, role: gateway, asn: 4200001000, addresses: [\"fd00:101::fffe\"], extended_nexthop: true}}\n    \
         - {{name: gw2, role: gateway, asn: 4200001000, addresses: [\"fd00:101::fffd\"], extended_nexthop: false}}\n\
         routing:\n  backend: bird\n  version: {}\n  router_id: loopback\n  neighbors:\n    \
         - {{router: gw1, bfd: {{interval: 200, multiplier: 5}}, timers: [1, 4]}}\n    - {{router: gw2, passive: true}}\n  \
         policy: {{in: {{max_prefixes: 4}}}}\n\
         nodes: [{{name: n1, index: 11}}]\n",
        bird.version()
    )
}

/// The node, its gateways and the switch between them.
fn lab(bird: Bird) -> (Node, [LabMachine; 2], LabMachine) {
    let switch = Frr::V8.machine();
    switch.ask("ip link add bridge type bridge && ip link set bridge up");
    let join = |machine: &LabMachine, name: &str| {
        machine.cable("to-node", &switch, name);
        switch.ask(&format!("ip link set {name} master bridge"));
    };
    let node = Node::new(bird, &text(bird));
    join(&node.machine, "node");
    node.machine.ask("ip address add fd00:101::11/64 dev to-node");
    let gateways = [1, 2].map(|nth| {
        let gateway = leaf(nth);
        join(&gateway, &format!("gw{nth}"));
        gateway
            .ask(&format!("ip address add fd00:101::fff{}/64 dev to-node", ["e", "d"][usize::from(nth - 1)]));
        // The first waits for nodes, the second connects, because the node does not.
        let group = match nth {
            1 => " bgp listen range fd00:101::/64 peer-group NODES\n".to_owned(),
            _ => " neighbor fd00:101::11 peer-group NODES\n".to_owned(),
        };
        peer(&gateway, nth, "4200001000", &group);
        gateway
    });
    node.start();
    (node, gateways, switch)
}

fn goes_well_with(bird: Bird) {
    let (node, gateways, _switch) = lab(bird);

    node.wait_for_sessions("fabric-", 2);

    let path = || "4210101011".to_owned();
    wait_for_rib(&gateways[0], 1, "ipv4", &[("10.12.10.11/32", path())]);
    wait_for_rib(&gateways[0], 1, "ipv6", &[("fd00:12::11/128", path())]);
    wait_for_rib(&gateways[1], 2, "ipv4", &[]);
    wait_for_rib(&gateways[1], 2, "ipv6", &[("fd00:12::11/128", path())]);
    let both = || node.kernel("-6").get("default").is_some_and(|way| way.matches("nexthop").count() == 2);
    wait_for("two ways out", both, || format!("{:#?}", node.kernel("-6")));
    assert!(node.kernel("-4")["default"].contains("via inet6 "), "{:#?}", node.kernel("-4"));
    let bfd = bfd(&gateways[0]);
    assert_eq!((&bfd["remote-receive-interval"], &bfd["remote-detect-multiplier"]), (&200.into(), &5.into()));

    gateways[0].ask("ip address add 10.255.0.100/32 dev lo");

    let closed = || protocols(&node.machine)["fabric-fd00:101::fffe"][0].contains("Route limit exceeded");
    wait_for("the limit", closed, || log(&node.machine));
    gateways[0].ask("ip address del 10.255.0.100/32 dev lo");
    node.machine.ask("sleep 8");
    assert!(closed(), "it stays closed");
    node.wait_for_sessions("fabric-fd00:101::fffd", 1);
}

#[test]
fn families_and_limits_apply_on_bird_2_0() {
    goes_well_with(Bird::V2_0);
}

#[test]
fn families_and_limits_apply_on_bird_2_17() {
    goes_well_with(Bird::V2_17);
}
