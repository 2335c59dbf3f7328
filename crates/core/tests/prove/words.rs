//! The texts of a proof.

use crate::prove::{messages, proof, rack};

#[test]
fn a_cluster_without_routing_is_proved_without_panic() {
    let head = "cluster: {name: a, id: 1, talos: v1.13.9}\n";
    let texts = [
        format!("{head}nodes: [{{name: a, index: 1}}]"),
        format!("{head}fabric: {{routers: [{{name: leaf1, asn: 65101}}]}}\nnodes: [{{name: a, index: 1}}]"),
        rack(", router_id: 10.255.255.1", ""),
    ];

    for text in texts {
        proof(&text);
    }
}

#[test]
fn a_session_that_is_down_is_named_by_the_nodes_behind_it() {
    let cables = "\n  cables: [[\"b:fab0\", \"leaf9:swp1\"], [\"b:fab1\", \"leaf9:swp2\"]]";
    let text =
        rack("", ", {name: leaf9, asn: 65109}").replace("]}\nrouting", &format!("],{cables}}}\nrouting"));

    let reported = messages(&proof(&text.replace(
        "backend: frr",
        "backend: frr, neighbors: [{router: leaf1, link: fab0}, {router: leaf2, link: fab1}]",
    )));

    for expected in [
        "reached: leaf1 does not reach 10.1.254.2/32 and fd00:1:fe::2/128: its session with b does not come up",
        "together: a does not reach 10.1.254.2/32 and fd00:1:fe::2/128: the session of leaf1 with b does not come up",
    ] {
        assert!(reported.iter().any(|reported| reported == expected), "{expected}: {reported:#?}");
    }
}

#[test]
fn a_missing_family_is_named_by_the_nodes_behind_it() {
    let text = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
                fabric: {routers: [{name: gw, role: gateway, asn: 65001, extended_nexthop: false, addresses: [10.1.0.254, \"fd00:1::fffe\"]}]}\n\
                routing: {backend: frr, neighbors: [{router: gw, address: 10.1.0.254}]}\n\
                nodes: [{name: a, index: 1}, {name: b, index: 2}, {name: c, index: 3, routing: {neighbors: [{router: gw, address: \"fd00:1::fffe\"}]}}]";

    let reported = messages(&proof(text));

    let expected =
        "together: a and b do not reach 10.1.254.3/32: the session of gw with c does not carry IPv4";
    assert!(reported.iter().any(|reported| reported == expected), "{reported:#?}");
}

#[test]
fn a_problem_that_many_nodes_share_is_reported_once() {
    let many: Vec<_> = (3..=6).map(|nth| format!("- {{name: n{nth}, index: {nth}, macs: [\"02:00:00:00:{nth:02}:01\", \"02:00:00:00:{nth:02}:02\"]}}\n")).collect();
    let text = rack("", "") + &many.concat();
    let text = text.replace("index: ", "routing: {asn: 4210001001}, index: ");
    let text = text
        .replace("backend: frr", "backend: native, policy: {out: {communities: [\"65000:1\"]}}")
        .replace("v1.13.9", "v1.14.1");

    let proof = proof(&text);

    let reported = messages(&proof);
    let lacks = "sessions: a, b, n3 and 3 more: native does not support communities: BGPInstanceConfig has no such field";
    assert!(reported.iter().any(|reported| reported == lacks), "{reported:#?}");
    let led = "together: b, n3, n4 and 2 more reach 10.1.254.1/32 and fd00:1:fe::1/128 only by their default routes: \
               their own AS 4210001001 is in the path from leaf1";
    assert!(reported.iter().any(|reported| reported == led), "{reported:#?}");
    let together = proof.intents.iter().find(|intent| intent.id == "together").unwrap();
    assert_eq!((together.remarks.count, together.remarks.omitted()), (30, 0));
}

#[test]
fn a_fabric_without_announcements_has_no_reached_property() {
    let proof = proof(&rack(", advertise: []", ""));

    let ids: Vec<_> = proof.intents.iter().map(|intent| intent.id).collect();

    assert_eq!(ids, ["sessions", "announced"]);
    assert!(messages(&proof)[0].starts_with("announced: nothing is announced"));
    assert!(proof.holds() && proof.has_warnings());
}

#[test]
fn the_reason_for_an_unannounced_service_address_is_named() {
    let services = ", workload: {speaker: metallb}";
    let filtered = rack(", workload: {speaker: metallb, allow: [192.0.2.0/24]}", "");
    let unheard =
        rack(services, "").replace("defaults: {ports", "defaults: {extensions: [siderolabs/bird2], ports");

    for (text, expected) in [
        (filtered, "no node announces it: no node's filter accepts it from a speaker"),
        (unheard, "no node announces it: no speaker that may announce it has a working session"),
    ] {
        let reported = messages(&proof(&text));
        assert!(reported.iter().any(|reported| reported.contains(expected)), "{expected}: {reported:#?}");
    }
}
