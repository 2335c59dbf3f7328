//! Best routes and equal-cost paths.

use ichor_core::prove::propagation::Propagation;

use crate::prove::{SPINE, messages, next, outcome_of, proof, rack, subject};

#[test]
fn equal_paths_are_counted_and_no_node_is_transit() {
    let proof = proof(&rack(", workload: {speaker: metallb}", ""));

    let service =
        proof.study.reaches.iter().find(|reach| reach.kind.to_string() == "service default").unwrap();
    let loopback =
        proof.study.reaches.iter().find(|reach| reach.from == [0] && reach.nets.len() == 2).unwrap();
    assert_eq!((service.routers, service.paths, service.longest), (2, (2, 2), 2));
    assert_eq!((loopback.routers, loopback.paths, loopback.longest), (2, (1, 1), 1));
    assert!(proof.holds());
}

#[test]
fn native_bgp_makes_a_node_transit_between_leafs_of_different_as_numbers() {
    let text = rack("", "").replace("backend: frr", "backend: native").replace("v1.13.9", "v1.14.1");
    let one_number = text.replace("asn: 65102", "asn: 65101");

    let (two, one) = (messages(&proof(&text)), messages(&proof(&one_number)));

    let through = |reported: &[String]| reported.iter().any(|reported| reported.starts_with("transit: leaf"));
    // Each leaf has its own node, so the longer path through another node is used only if that one is unreachable.
    assert!(!through(&two) && !through(&one), "{two:#?} {one:#?}");
    let (broken, _) = outcome_of(&proof(&text), &subject(&text), "a:fab1").unwrap();
    assert!(broken > 0, "leaf2 then reaches a through b");
    let single = text.replacen("\"02:00:00:00:00:02\"", "", 1).replacen(", ]", "]", 1);
    let reported = messages(&proof(&single));
    assert!(
        reported
            .iter()
            .any(|reported| reported.contains("leaf2 reaches 10.1.254.1/32 and fd00:1:fe::1/128 through b")),
        "{reported:#?}"
    );
}

#[test]
fn a_no_export_route_is_missing_behind_the_next_router() {
    let proof = proof(&rack(", policy: {out: {communities: [no-export]}}", SPINE));

    let reported = messages(&proof);

    assert!(
        reported.iter().any(|reported| reported
            .contains("spine does not reach 10.1.254.1/32 and fd00:1:fe::1/128: a community stops leaf")),
        "{reported:#?}"
    );
}

#[test]
fn a_well_known_community_is_recognised_by_name_and_number() {
    for community in ["\"65535:65281\"", "\"065535:65282\"", "local-as", "blackhole", "\"65535:666\""] {
        let proof = proof(&rack(&format!(", policy: {{out: {{communities: [{community}]}}}}"), SPINE));

        assert!(
            messages(&proof).iter().any(|reported| reported.contains("a community stops leaf")),
            "{community}"
        );
    }
    for community in ["\"65000:65281\"", "no-peer", "accept-own", "\"65535:1:65281\""] {
        let proof = proof(&rack(&format!(", policy: {{out: {{communities: [{community}]}}}}"), SPINE));

        assert!(proof.holds(), "{community}");
    }
}

#[test]
fn a_node_with_graceful_shutdown_is_used_only_as_the_last_path() {
    let leaving = ", routing: {policy: {out: {communities: [graceful-shutdown]}}}";
    let text =
        rack(", workload: {speaker: metallb}", SPINE).replace("index: 2", &format!("index: 2{leaving}"));

    let subject = subject(&text);

    assert_eq!(next(&subject, "198.51.100.1/32")["leaf1"], ["a"]);
    assert_eq!(next(&subject, "10.1.254.2/32")["leaf1"], ["b"]);
}

#[test]
fn an_anycast_address_hidden_by_an_aggregate_stays_local_to_its_node() {
    let text = rack("", "").replace("node: null", "node: null, api: {anycast: [10.1.9.1/32]}");
    let hides = "role: controlplane, index: 2, routing: {aggregates: [10.1.9.0/24]}";
    let subject = subject(&text.replace("index: 2", hides));

    let ways = next(&subject, "10.1.9.1/32");

    assert_eq!((&ways["leaf1"], ways["b"].len()), (&vec!["a".to_owned()], 0));
}

#[test]
fn path_lengths_include_prepended_as_numbers() {
    let proof = proof(&rack(", policy: {out: {prepend: 255}}", SPINE));

    let longest = proof.study.reaches.iter().map(|reach| reach.longest).max();

    assert_eq!(longest, Some(257), "spine, over a leaf, to a node with its number 256 times");
}

#[test]
fn a_path_longer_than_65535_hops_is_counted() {
    let count = 300;
    let routers: Vec<_> = (1..=count).map(|nth| format!("{{name: r{nth}, asn: {}}}", 64_600 + nth)).collect();
    let routers = routers.join(", ");
    let node = |nth: usize| {
        let neighbors = format!("{{router: r{nth}, link: fab0}}, {{router: r{}, link: fab1}}", nth + 1);
        let (high, low) = (nth / 256, nth % 256);
        format!(
            "- {{name: n{nth}, index: {nth}, macs: [\"02:00:00:{high:02x}:{low:02x}:01\", \"02:00:00:{high:02x}:{low:02x}:02\"], routing: {{neighbors: [{neighbors}]}}}}\n"
        )
    };
    let nodes = (1..count).map(node).collect::<Vec<_>>().concat();
    let text = format!(
        "cluster: {{name: a, id: 1, talos: v1.14.1}}\nnetwork: {{digits: value, node: null, loopback: {{v4: 10.64.0.0/12}}}}\n\
         fabric: {{routers: [{routers}]}}\nrouting: {{backend: native, asn: 4210000000, router_id: 10.128.0.0, policy: {{out: {{prepend: 255}}}}}}\n\
         defaults: {{ports: [fab0, fab1]}}\nnodes:\n{nodes}"
    );

    let subject = subject(&text);
    let mut spread = Propagation::new(&subject.graph);

    assert!(spread.converge(&subject.destinations[0]));
    let lengths = subject.graph.routers().map(|router| spread.length(router));
    assert!(lengths.max().unwrap() > usize::from(u16::MAX));
}

#[test]
fn default_routes_of_the_two_families_are_distinguished() {
    let text = rack(", policy: {in: {allow: [0.0.0.0/0, \"fd00:1:fe::/64\"]}}", "");
    let text = text.replace("index: 2", "index: 2, routing: {asn: 4210001001}");

    let reported = messages(&proof(&text));

    assert!(
        reported
            .iter()
            .any(|reported| reported.contains("b reaches 10.1.254.1/32 only by its default route")),
        "{reported:#?}"
    );
    assert!(
        reported.iter().any(|reported| reported.contains("b does not reach fd00:1:fe::1/128: its own AS")),
        "{reported:#?}"
    );
}

#[test]
fn a_speaker_whose_route_may_lose_to_the_fabric_is_reported() {
    let preferring = "index: 1, routing: {policy: {in: {local_preference: 200}}}";
    let text = rack(", workload: {speaker: metallb}", "").replace("index: 1", preferring);

    let reported = messages(&proof(&text));

    // The leafs pass on the route of a, which has the lower router ID, or that of b if it is older.
    assert!(
        reported.iter().any(|reported| reported.starts_with("speakers: a prefers the fabric's route")),
        "{reported:#?}"
    );
}

#[test]
fn a_higher_preference_for_the_fabric_silences_all_speakers_but_one() {
    let proof = proof(&rack(", workload: {speaker: metallb}, policy: {in: {local_preference: 200}}", ""));

    let reported = messages(&proof);

    let expected = "speakers: b prefers the fabric's route to 198.51.100.1/32 over its own speaker's, and does not announce it";
    assert!(reported.iter().any(|reported| reported == expected), "{reported:#?}");
}
