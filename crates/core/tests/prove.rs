//! What the proof says of clusters: of every incident in docs/rules.md that BGP decides, and of fabrics that work.

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use ichor_core::prove::destination::Source;
use ichor_core::prove::spread::Spread;
use ichor_core::prove::{Proof, Scope, Subject, way};
use ipnet::IpNet;

/// The proof of a cluster, with every single failure.
fn proved((cluster, plan): &(ichor_core::model::Cluster, ichor_core::plan::Plan)) -> Proof {
    let subject = Subject::of(cluster, plan).unwrap();
    let scope = Scope::Each { failures: subject.failures(), pairs: false };
    let study = subject.study(&subject.destinations, &scope);
    Proof::of(cluster, plan, &subject, study)
}

fn proof(text: &str) -> Proof {
    proved(&common::planned(common::load_text(text)))
}

fn rule_case(rule: &str, name: &str) -> (PathBuf, String) {
    (common::folder("rules").join(rule), name.to_owned())
}

/// All that is broken, and all remarks, each with the name of its intent.
fn told(proof: &Proof) -> Vec<String> {
    let of = |intent: &ichor_core::prove::intent::Intent| {
        let both = intent.broken.examples.iter().chain(&intent.remarks.examples);
        both.map(|said| format!("{}: {said}", intent.id)).collect::<Vec<_>>()
    };
    proof.intents.iter().flat_map(of).collect()
}

/// Rules whose incident BGP decides, and what the proof says of the file that trips them.
const INCIDENTS: [(&str, &str); 27] = [
    ("aggregate-with-specifics", "delivered: 10.101.254.11/32: announced only as part of 10.101.254.0/24"),
    ("allow-misses-pool", "reached: 10.101.251.1/32: nobody announces it"),
    (
        "asn-behind-reflector",
        "together: solwk01 reaches 10.101.254.11/32 and fd00:101:fe::11/128 by its default route alone: its own AS",
    ),
    (
        "asn-of-router",
        "together: solwk01 reaches 10.101.254.11/32 and fd00:101:fe::11/128 by its default route alone: leaf1 has it from within AS 65101",
    ),
    ("allow-fabric", "guarded: solcp01 would take 10.101.0.11/32 from the speaker"),
    ("backend-cannot", "sessions: solcp01, solwk01 and solwk02: native cannot have"),
    ("backend-too-old", "sessions: solwk03 and the router on eth0: solwk03 has Talos"),
    (
        "bfd-listen-range",
        "sessions: solcp01 and gw1: gw1 accepts solcp01 by a range, and its FRR starts BGP only after BFD",
    ),
    ("bfd-one-sided-affected", "sessions: solcp01 and gw1: gw1 has BFD and solcp01 has not"),
    ("bfd-vrf-native", "speakers: solcp01: native cannot have BFD with the speaker"),
    ("cable-contradicts", "sessions: solcp01 and leaf1: by its cable solcp01:eth0 leads to leaf2:swp1"),
    ("duplicate-asn", "reached: leaf2 does not reach 10.101.254.11/32"),
    (
        "extended-nexthop-missing",
        "reached: gw1 does not reach 10.101.254.11/32: its session with solcp01 does not carry IPv4",
    ),
    (
        "listen-range-misses-nodes",
        "sessions: solwk01 and gw1: gw1 accepts fd00:101::/64 only, and solwk01 comes from",
    ),
    ("metallb-native-ipv6", "speakers: solcp01: MetalLB's native mode writes IPv4 routes wrongly"),
    ("mtu-below-1280", "sessions: solcp01 and the router on eth0: the MTU of solcp01:eth0 is below 1280"),
    ("neighbor-is-self", "sessions: solcp01 and 10.101.0.11: 10.101.0.11 is an address of solcp01 itself"),
    ("neighbor-link-unknown", "sessions: solcp01 and the router on fab1: solcp01 has no link fab1"),
    ("neighbor-twice", "sessions: solcp01 and 10.101.0.1: 10.101.0.1 is a neighbour of solcp01 twice"),
    (
        "neighbor-unreachable",
        "sessions: solcp01 and 10.102.0.1: solcp01 has neither an address beside 10.102.0.1 nor a gateway",
    ),
    ("neighbor-without-address", "sessions: solcp01 has nobody to speak with"),
    ("password-unsupported", "sessions: solcp01 and gw1: gw1 wants a password, and Talos' own BGP has none"),
    ("routing-without-neighbors", "sessions: solcp01 has nobody to speak with"),
    (
        "speaker-asn-of-router",
        "reached: leaf1 does not reach 10.101.250.1/32: its own AS 65101 is in the path",
    ),
    (
        "speaker-link-broken",
        "speakers: solcp01: fda1:b2c3:d4e5:1::1 and fda1:b2c3:d4e5:1::2 are not in one network",
    ),
    ("speaker-without-cilium", "speakers: solcp01: Cilium is not there"),
    ("zebra-netns-vrf", "speakers: solcp01: with `zebra -n` FRR takes VRFs for network namespaces"),
];

#[test]
fn every_incident_that_bgp_decides_is_foreseen() {
    for (rule, expected) in INCIDENTS {
        let (case, file) = rule_case(rule, "trips.yaml");
        let said = told(&proved(&common::planned_case(&case, &file)));
        assert!(said.iter().any(|said| said.contains(expected)), "{rule}: {said:#?}");
    }
}

#[test]
fn what_passes_the_rule_is_not_said_to_break() {
    for (rule, expected) in INCIDENTS {
        let (case, file) = rule_case(rule, "passes.yaml");
        let said = told(&proved(&common::planned_case(&case, &file)));
        assert!(!said.iter().any(|said| said.contains(expected)), "{rule}: {said:#?}");
    }
}

#[test]
fn an_aggregate_of_which_the_node_has_no_part_is_not_announced() {
    let (case, file) = rule_case("aggregate-foreign", "trips.yaml");

    let proof = proved(&common::planned_case(&case, &file));

    assert!(proof.study.reaches.iter().all(|reach| reach.kind.to_string() != "aggregate"));
}

#[test]
fn a_prefix_of_the_fabric_is_not_taken_even_where_the_file_allows_it() {
    let (case, file) = rule_case("allow-around-fabric", "trips.yaml");

    let proof = proved(&common::planned_case(&case, &file));

    assert!(!told(&proof).iter().any(|said| said.starts_with("guarded")));
}

#[test]
fn every_example_that_routes_holds() {
    for case in common::routing::cases() {
        let planned = common::planned_case(&case, "ichor.yaml");
        let subject = Subject::of(&planned.0, &planned.1).unwrap();
        let known = subject.network.routers.iter().all(|router| router.listed);
        if case.components().any(|part| part.as_os_str() == "examples") && known {
            assert!(proved(&planned).holds(), "{}: {:#?}", case.display(), told(&proved(&planned)));
        }
    }
}

/// Two nodes on two leafs that have no spine, and what is added to `routing`.
fn rack(routing: &str, more: &str) -> String {
    format!(
        "cluster: {{name: a, id: 1, talos: v1.13.9}}\n\
         network: {{services: {{pools: {{default: [198.51.100.0/24]}}}}, node: null}}\n\
         fabric: {{routers: [{{name: leaf1, asn: 65101}}, {{name: leaf2, asn: 65102}}{more}]}}\n\
         routing: {{backend: frr{routing}}}\ndefaults: {{ports: [fab0, fab1]}}\n\
         nodes:\n\
         - {{name: a, role: controlplane, index: 1, macs: [\"02:00:00:00:00:01\", \"02:00:00:00:00:02\"]}}\n\
         - {{name: b, index: 2, macs: [\"02:00:00:00:01:01\", \"02:00:00:00:01:02\"]}}\n"
    )
}

const SPINE: &str = ", {name: spine, asn: 65200, role: spine}";

fn outcome_of(proof: &Proof, subject: &Subject, name: &str) -> Option<(usize, usize)> {
    let failure = subject.failure(name).unwrap();
    let outcome = proof.study.outcomes.get(&vec![failure])?;
    Some((outcome.broken.count, outcome.alone.count))
}

fn subject(text: &str) -> Subject {
    let (cluster, plan) = common::planned(common::load_text(text));
    Subject::of(&cluster, &plan).unwrap()
}

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
fn talos_itself_makes_a_node_transit_between_leafs_of_different_as_numbers() {
    let text = rack("", "").replace("backend: frr", "backend: native").replace("v1.13.9", "v1.14.0-rc.1");
    let one_number = text.replace("asn: 65102", "asn: 65101");

    let (two, one) = (told(&proof(&text)), told(&proof(&one_number)));

    let through = |said: &[String]| said.iter().any(|said| said.starts_with("transit: leaf"));
    // Each leaf has the node beside it, so the longer way through another node is taken only where that one is cut off.
    assert!(!through(&two) && !through(&one), "{two:#?} {one:#?}");
    let (broken, _) = outcome_of(&proof(&text), &subject(&text), "a:fab1").unwrap();
    assert!(broken > 0, "leaf2 then reaches a through b");
    let single = text.replacen("\"02:00:00:00:00:02\"", "", 1).replacen(", ]", "]", 1);
    let said = told(&proof(&single));
    assert!(
        said.iter().any(|said| said.contains("leaf2 reaches 10.1.254.1/32 and fd00:1:fe::1/128 through b")),
        "{said:#?}"
    );
}

#[test]
fn a_link_without_a_second_way_is_told_and_a_spine_is_one() {
    let (bare, with_spine) = (rack("", ""), rack("", SPINE));

    let alone = outcome_of(&proof(&bare), &subject(&bare), "a:fab0");
    let wired = outcome_of(&proof(&with_spine), &subject(&with_spine), "leaf1:swp1");

    assert_eq!(alone, Some((0, 1)), "leaf1 loses a, and nothing else leads there");
    assert_eq!(wired, None);
}

#[test]
fn routes_that_may_not_leave_the_next_router_are_missed_behind_it() {
    let proof = proof(&rack(", policy: {out: {communities: [no-export]}}", SPINE));

    let said = told(&proof);

    assert!(
        said.iter().any(|said| said
            .contains("spine does not reach 10.1.254.1/32 and fd00:1:fe::1/128: a community keeps leaf")),
        "{said:#?}"
    );
}

#[test]
fn a_community_is_known_by_its_number_too_and_a_blackhole_is_kept() {
    for community in ["\"65535:65281\"", "\"065535:65282\"", "local-as", "blackhole", "\"65535:666\""] {
        let proof = proof(&rack(&format!(", policy: {{out: {{communities: [{community}]}}}}"), SPINE));

        assert!(told(&proof).iter().any(|said| said.contains("a community keeps leaf")), "{community}");
    }
    for community in ["\"65000:65281\"", "no-peer", "accept-own", "\"65535:1:65281\""] {
        let proof = proof(&rack(&format!(", policy: {{out: {{communities: [{community}]}}}}"), SPINE));

        assert!(proof.holds(), "{community}");
    }
}

/// The names of everyone's next hops to a prefix, by name.
fn next(subject: &Subject, net: &str) -> BTreeMap<String, Vec<String>> {
    let net: IpNet = net.parse().unwrap();
    let graph = &subject.graph;
    let name = |vertex: u32| graph.vertices[vertex as usize].name.clone();
    let target = subject.destinations.iter().find(|target| target.nets.contains(&net)).unwrap();
    let mut spread = Spread::new(graph);
    assert!(spread.settle(target));
    let of = |vertex: u32| {
        let next = spread.next(vertex).into_iter();
        (name(vertex), next.map(|edge| name(graph.edges[edge as usize].other(vertex))).collect())
    };
    (0..).take(graph.vertices.len()).filter(|vertex| spread.has(*vertex)).map(of).collect()
}

#[test]
fn a_node_that_says_it_is_leaving_is_used_only_where_nobody_else_is() {
    let leaving = ", routing: {policy: {out: {communities: [graceful-shutdown]}}}";
    let text =
        rack(", workload: {speaker: metallb}", SPINE).replace("index: 2", &format!("index: 2{leaving}"));

    let subject = subject(&text);

    assert_eq!(next(&subject, "198.51.100.1/32")["leaf1"], ["a"]);
    assert_eq!(next(&subject, "10.1.254.2/32")["leaf1"], ["b"]);
}

#[test]
fn an_aggregate_of_services_stands_in_for_them() {
    let subject = subject(&rack(", workload: {speaker: metallb}, aggregates: [198.51.100.0/24]", ""));

    let (service, aggregate) = (next(&subject, "198.51.100.1/32"), next(&subject, "198.51.100.0/24"));

    assert!(!service.contains_key("leaf1") && service["a"].is_empty(), "{service:?}");
    assert_eq!(aggregate["leaf1"], ["a", "b"]);
}

#[test]
fn an_aggregate_of_services_outlives_a_speaker_while_others_announce_parts() {
    let text = rack(", workload: {speaker: metallb}", "");
    let subject = subject(&text.replace("index: 2", "index: 2, routing: {aggregates: [198.51.100.0/24]}"));
    let (only, net) = (subject.failure("b:metallb").unwrap(), "198.51.100.0/24".parse().unwrap());
    let target = subject.destinations.iter().find(|target| target.nets.contains(&net)).unwrap();

    // The parts of a reach b, so it has the aggregate without its speaker too.
    assert!(!target.notices(only));
    assert_eq!(target.origins[0].source, Source::OthersParts);
}

#[test]
fn an_aggregate_is_announced_for_parts_that_only_others_have() {
    let text = rack("", "")
        .replace("index: 2", "index: 2, routing: {advertise: [dummy], aggregates: [10.1.254.0/24]}");

    let subject = subject(&text);

    assert_eq!(next(&subject, "10.1.254.0/24")["leaf1"], ["b"]);
    assert_eq!(next(&subject, "10.1.254.1/32")["leaf1"], ["a"]);
}

#[test]
fn a_prefix_is_no_part_of_itself() {
    let subject = subject(&rack(", aggregates: [10.1.254.1/32]", ""));

    assert_eq!(next(&subject, "10.1.254.1/32")["leaf1"], ["a"]);
    assert!(subject.destinations.iter().all(|target| target.kind.to_string() != "aggregate"));
}

#[test]
fn an_address_that_one_of_two_nodes_hides_is_still_that_nodes_own() {
    let text = rack("", "").replace("node: null", "node: null, api: {anycast: [10.1.9.1/32]}");
    let hides = "role: controlplane, index: 2, routing: {aggregates: [10.1.9.0/24]}";
    let subject = subject(&text.replace("index: 2", hides));

    let ways = next(&subject, "10.1.9.1/32");

    assert_eq!((&ways["leaf1"], ways["b"].len()), (&vec!["a".to_owned()], 0));
}

#[test]
fn only_prefixes_that_the_node_lets_in_count_toward_its_limit() {
    // Of each family a hears of a default route and the other's loopback, and not of its own.
    let crowded = |policy: &str| {
        let text =
            rack("", "").replace("index: 1", &format!("index: 1, routing: {{policy: {{in: {{{policy}}}}}}}"));
        subject(&text).faults.iter().flatten().count()
    };

    assert_eq!(crowded("max_prefixes: 2"), 0);
    assert_eq!(crowded("max_prefixes: 1"), 2);
    assert_eq!(crowded("max_prefixes: 0, allow: [192.0.2.0/24]"), 0);
    assert_eq!(crowded("max_prefixes: 0"), 2);
}

#[test]
fn lengths_of_paths_count_what_is_put_in_front() {
    let proof = proof(&rack(", policy: {out: {prepend: 255}}", SPINE));

    let longest = proof.study.reaches.iter().map(|reach| reach.longest).max();

    assert_eq!(longest, Some(257), "spine, over a leaf, to a node with its number 256 times");
}

#[test]
fn a_long_chain_of_nodes_that_prepend_their_numbers_can_be_counted() {
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
        "cluster: {{name: a, id: 1, talos: v1.14.0-rc.1}}\nnetwork: {{digits: value, node: null, loopback: {{v4: 10.64.0.0/12}}}}\n\
         fabric: {{routers: [{routers}]}}\nrouting: {{backend: native, asn: 4210000000, router_id: 10.128.0.0, policy: {{out: {{prepend: 255}}}}}}\n\
         defaults: {{ports: [fab0, fab1]}}\nnodes:\n{nodes}"
    );

    let subject = subject(&text);
    let mut spread = Spread::new(&subject.graph);

    assert!(spread.settle(&subject.destinations[0]));
    let lengths = subject.graph.routers().map(|router| spread.length(router));
    assert!(lengths.max().unwrap() > usize::from(u16::MAX));
}

#[test]
fn default_routes_of_the_two_families_are_told_apart() {
    let text = rack(", policy: {in: {allow: [0.0.0.0/0, \"fd00:1:fe::/64\"]}}", "");
    let text = text.replace("index: 2", "index: 2, routing: {asn: 4210001001}");

    let said = told(&proof(&text));

    assert!(
        said.iter().any(|said| said.contains("b reaches 10.1.254.1/32 by its default route alone")),
        "{said:#?}"
    );
    assert!(
        said.iter().any(|said| said.contains("b does not reach fd00:1:fe::1/128: its own AS")),
        "{said:#?}"
    );
}

#[test]
fn nothing_at_all_can_be_proved_without_panic() {
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
fn a_speaker_that_is_heard_only_if_its_node_is_first_is_told() {
    let preferring = "index: 1, routing: {policy: {in: {local_preference: 200}}}";
    let text = rack(", workload: {speaker: metallb}", "").replace("index: 1", preferring);

    let said = told(&proof(&text));

    // The leafs pass on the route of a, which has the lower router id, or that of b, if it is the older.
    assert!(said.iter().any(|said| said.starts_with("speakers: a prefers the fabric's way")), "{said:#?}");
}

#[test]
fn a_preference_for_the_fabric_over_the_own_speaker_leaves_one_node_alone() {
    let proof = proof(&rack(", workload: {speaker: metallb}, policy: {in: {local_preference: 200}}", ""));

    let said = told(&proof);

    let expected = "speakers: b prefers the fabric's way to 198.51.100.1/32 over its own speaker's, and does not announce it";
    assert!(said.iter().any(|said| said == expected), "{said:#?}");
}

#[test]
fn one_as_number_for_all_nodes_lives_on_default_routes_until_a_link_fails() {
    let text = rack("", "").replace("index: 2", "index: 2, routing: {asn: 4210001001}");

    let (proof, subject) = (proof(&text), subject(&text));

    assert!(told(&proof).iter().any(|said| {
        said.contains("b reaches 10.1.254.1/32 and fd00:1:fe::1/128 by its default route alone")
    }));
    let (broken, _) = outcome_of(&proof, &subject, "a:fab0").unwrap();
    assert!(broken > 0, "leaf1 still gives b a default route, and no longer knows a");
}

#[test]
fn two_failures_that_only_together_cut_something_off_are_found() {
    let text = rack("", SPINE);
    let (cluster, plan) = common::planned(common::load_text(text.as_str()));
    let subject = Subject::of(&cluster, &plan).unwrap();
    let scope = Scope::Each { failures: subject.failures(), pairs: true };

    let study = subject.study(&subject.destinations, &scope);

    let mut pair = vec![subject.failure("a:fab0").unwrap(), subject.failure("a:fab1").unwrap()];
    pair.sort();
    let found: Vec<_> = study
        .outcomes
        .keys()
        .filter(|failures| {
            let mut them = (*failures).clone();
            them.sort();
            them == pair
        })
        .collect();
    assert_eq!(found.len(), 1);
}

#[test]
fn pairs_that_are_left_out_would_have_told_nothing_new() {
    let text = rack(", workload: {speaker: metallb}", SPINE);
    let subject = subject(&text);
    let failures = subject.failures();
    let scope = Scope::Each { failures: failures.clone(), pairs: true };
    let known = subject.study(&subject.destinations, &scope).outcomes;

    for (nth, one) in failures.iter().enumerate() {
        for other in &failures[nth + 1..] {
            let together = Scope::Together(vec![*one, *other]);
            let whole = subject.study(&subject.destinations, &together).outcomes;
            let lost: usize = whole.values().map(|outcome| outcome.broken.count + outcome.alone.count).sum();
            let of = |failures: &[ichor_core::prove::failure::Failure]| {
                known.get(failures).map_or(0, |outcome| outcome.broken.count + outcome.alone.count)
            };
            let told = of(&[*one, *other]) + of(&[*other, *one]) + of(&[*one]) + of(&[*other]);
            assert!(
                lost <= told,
                "{} and {}: {lost} lost, {told} told",
                subject.name(*one),
                subject.name(*other)
            );
        }
    }
}

#[test]
fn a_speaker_whose_port_is_taken_is_not_heard() {
    let text = rack(", workload: {speaker: metallb}", "");
    let taken = text.replace("defaults: {ports", "defaults: {extensions: [siderolabs/bird2], ports");

    let said = told(&proof(&taken));

    assert!(
        said.iter().any(|said| said.contains("a and b: the extension bird2 has taken port 179")),
        "{said:#?}"
    );
}

#[test]
fn a_router_of_others_with_another_password_refuses_the_session() {
    let text = |password: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\n\
             fabric: {{routers: [{{name: gw, role: gateway, asn: 65001, addresses: [10.1.0.254], software: other, password: {{env: A}}}}]}}\n\
             routing: {{backend: frr, neighbors: [{{router: gw{password}}}]}}\nnodes: [{{name: a, index: 1}}]"
        )
    };

    let (same, other) = (told(&proof(&text(""))), told(&proof(&text(", password: {env: B}"))));

    assert!(!same.iter().any(|said| said.starts_with("sessions")), "{same:#?}");
    assert!(
        other.iter().any(|said| said.contains("have their passwords from different places")),
        "{other:#?}"
    );
}

#[test]
fn a_gateway_with_the_as_number_of_its_nodes_hears_them_and_does_not_pass_it_on() {
    let text = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
                fabric: {routers: [{name: gw, role: gateway, asn: 4200000001, addresses: [10.1.0.254], software: other}]}\n\
                routing: {backend: frr, neighbors: [{router: gw}]}\nnetwork: {loopback: {v6: null}}\n\
                nodes: [{name: a, index: 1, routing: {asn: 4200000001}}, {name: b, index: 2, routing: {asn: 4200000001}}]";

    let said = told(&proof(text));

    assert!(
        !said.iter().any(|said| said.starts_with("sessions") || said.starts_with("reached")),
        "{said:#?}"
    );
    assert!(
        said.iter().any(|said| said.starts_with("together: b does not reach 10.1.254.1/32")),
        "{said:#?}"
    );
}

#[test]
fn a_name_of_a_link_is_known_by_both_ends() {
    let subject = subject(&rack(", workload: {speaker: metallb}", SPINE));

    let same = |one: &str, other: &str| {
        subject.failure(one).is_some() && subject.failure(one) == subject.failure(other)
    };

    assert!(same("a:fab0", "leaf1:swp1") && same("a:leaf1", "leaf1:a") && same("a:fab0", "a:leaf1"));
    assert!(subject.failure("a:metallb").is_some() && subject.failure("nobody").is_none());
}

#[test]
fn a_session_that_is_down_is_named_also_by_those_behind_it() {
    let cables = "\n  cables: [[\"b:fab0\", \"leaf9:swp1\"], [\"b:fab1\", \"leaf9:swp2\"]]";
    let text =
        rack("", ", {name: leaf9, asn: 65109}").replace("]}\nrouting", &format!("],{cables}}}\nrouting"));

    let said = told(&proof(&text.replace(
        "backend: frr",
        "backend: frr, neighbors: [{router: leaf1, link: fab0}, {router: leaf2, link: fab1}]",
    )));

    for expected in [
        "reached: leaf1 does not reach 10.1.254.2/32 and fd00:1:fe::2/128: its session with b does not come up",
        "together: a does not reach 10.1.254.2/32 and fd00:1:fe::2/128: the session of leaf1 with b does not come up",
    ] {
        assert!(said.iter().any(|said| said == expected), "{expected}: {said:#?}");
    }
}

#[test]
fn a_family_that_is_not_spoken_is_named_also_by_those_behind_it() {
    let text = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
                fabric: {routers: [{name: gw, role: gateway, asn: 65001, extended_nexthop: false, addresses: [10.1.0.254, \"fd00:1::fffe\"]}]}\n\
                routing: {backend: frr, neighbors: [{router: gw, address: 10.1.0.254}]}\n\
                nodes: [{name: a, index: 1}, {name: b, index: 2}, {name: c, index: 3, routing: {neighbors: [{router: gw, address: \"fd00:1::fffe\"}]}}]";

    let said = told(&proof(text));

    let expected =
        "together: a and b do not reach 10.1.254.3/32: the session of gw with c does not carry IPv4";
    assert!(said.iter().any(|said| said == expected), "{said:#?}");
}

#[test]
fn what_many_nodes_share_is_said_once_of_all_of_them() {
    let many: Vec<_> = (3..=6).map(|nth| format!("- {{name: n{nth}, index: {nth}, macs: [\"02:00:00:00:{nth:02}:01\", \"02:00:00:00:{nth:02}:02\"]}}\n")).collect();
    let text = rack("", "") + &many.concat();
    let text = text.replace("index: ", "routing: {asn: 4210001001}, index: ");
    let text = text
        .replace("backend: frr", "backend: native, policy: {out: {communities: [\"65000:1\"]}}")
        .replace("v1.13.9", "v1.14.0-rc.1");

    let proof = proof(&text);

    let said = told(&proof);
    let lacks =
        "sessions: a, b, n3 and 3 more: native cannot have communities: BGPInstanceConfig has no such field";
    assert!(said.iter().any(|said| said == lacks), "{said:#?}");
    let led = "together: b, n3, n4 and 2 more reach 10.1.254.1/32 and fd00:1:fe::1/128 by their default routes alone: \
               their own AS 4210001001 is in the path from leaf1";
    assert!(said.iter().any(|said| said == led), "{said:#?}");
    let together = proof.intents.iter().find(|intent| intent.id == "together").unwrap();
    assert_eq!((together.remarks.count, together.remarks.untold()), (30, 0));
}

#[test]
fn where_nothing_is_announced_nothing_is_said_to_be_reached() {
    let proof = proof(&rack(", advertise: []", ""));

    let ids: Vec<_> = proof.intents.iter().map(|intent| intent.id).collect();

    assert_eq!(ids, ["sessions", "announced"]);
    assert!(told(&proof)[0].starts_with("announced: nothing is announced"));
    assert!(proof.holds() && proof.has_warnings());
}

#[test]
fn the_hurdle_that_no_service_address_takes_is_named() {
    let services = ", workload: {speaker: metallb}";
    let filtered = rack(", workload: {speaker: metallb, allow: [192.0.2.0/24]}", "");
    let unheard =
        rack(services, "").replace("defaults: {ports", "defaults: {extensions: [siderolabs/bird2], ports");

    for (text, expected) in [
        (filtered, "nobody announces it: no node's filter takes it from a speaker"),
        (unheard, "nobody announces it: no speaker that may announce it is heard"),
    ] {
        let said = told(&proof(&text));
        assert!(said.iter().any(|said| said.contains(expected)), "{expected}: {said:#?}");
    }
}

/// Two nodes on a network with two gateways, each with a session to both over one port.
const GATEWAYS: &str = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
    fabric: {routers: [{name: gw1, role: gateway, asn: 65001, addresses: [10.1.0.254]}, {name: gw2, role: gateway, asn: 65002, addresses: [10.1.0.253]}]}\n\
    routing: {backend: frr, neighbors: [{router: gw1}, {router: gw2}]}\n\
    network: {loopback: {v6: null}, services: {pools: {default: [198.51.100.0/24]}}}\n\
    nodes: [{name: a, index: 1, ports: [eth0, eth1]}, {name: b, index: 2, ports: [eth0, eth1]}]";

#[test]
fn sessions_over_one_port_fail_together() {
    let subject = subject(GATEWAYS);

    let names: Vec<_> = subject.failures().into_iter().map(|failure| subject.name(failure)).collect();

    assert_eq!(names, ["gw1", "gw2", "a", "b", "a:eth0", "b:eth0"]);
    assert_eq!(subject.failure("a:eth0").unwrap().edges(&subject.graph).len(), 2);
    assert_eq!(subject.failure("a:gw1").unwrap().edges(&subject.graph).len(), 1);
    assert_eq!(subject.name(subject.failure("gw2:a").unwrap()), "gw2:a");
    let (broken, alone) = outcome_of(&proof(GATEWAYS), &subject, "a:eth0").unwrap();
    assert_eq!((broken, alone), (0, 4), "both gateways and b lose a, and a loses b");
}

#[test]
fn a_session_on_a_vlan_fails_with_the_port_below() {
    let vlan = "links: [{name: v7, vlan: {id: 7, link: eth0}, addresses: [192.0.2.1/24]}], routing: {neighbors: [{router: gw1}, {address: 192.0.2.9, asn: 65009}]}";
    let subject = subject(&GATEWAYS.replace("name: a, index: 1", &format!("name: a, index: 1, {vlan}")));

    assert_eq!(subject.failure("a:eth0").unwrap().edges(&subject.graph).len(), 2);
}

/// Everyone's next hop to an address, in words.
fn ways(text: &str, address: &str, fail: &[&str]) -> BTreeMap<String, String> {
    let (cluster, plan) = common::planned(common::load_text(text));
    let subject = Subject::of(&cluster, &plan).unwrap();
    let failures: Vec<_> = fail.iter().map(|name| subject.failure(name).unwrap()).collect();
    let (_, ways) = way::all(&subject, &plan, address.parse().unwrap(), &failures);
    let name = |vertex: u32| subject.graph.vertices[vertex as usize].name.clone();
    let told = |way: &way::Way| match &way.next {
        way::Next::Neighbors(next) => next.iter().map(|vertex| name(*vertex)).collect::<Vec<_>>().join(" "),
        other => format!("{other:?}"),
    };
    ways.iter().map(|way| (name(way.vertex), told(way))).collect()
}

#[test]
fn a_way_by_bgp_goes_before_a_default_route_and_one_on_the_own_link_before_both() {
    let outside = ways(GATEWAYS, "192.0.2.7", &[]);
    let cut = ways(GATEWAYS, "192.0.2.7", &["a:gw1"]);
    let beside = ways(GATEWAYS, "10.1.0.2", &[]);
    let announced = ways(GATEWAYS, "10.1.254.2", &[]);

    assert_eq!((outside["a"].as_str(), outside["gw1"].as_str()), ("gw1 gw2", "Unknown"));
    assert_eq!(cut["a"], "gw2");
    assert!(
        beside["a"].starts_with("Link(Some(") && beside["gw1"] == "Link(None)" && beside["b"] == "Itself"
    );
    assert_eq!((announced["a"].as_str(), announced["gw1"].as_str()), ("gw1 gw2", "b"));
}

#[test]
fn a_link_that_is_taken_away_leads_to_no_network() {
    let beside = ways(GATEWAYS, "10.1.0.2", &["a:eth0"]);

    assert_eq!((beside["a"].as_str(), beside["b"].as_str()), ("Nowhere", "Itself"));
}

#[test]
fn an_aggregate_leads_to_parts_that_are_not_announced_and_one_of_a_pool_to_all() {
    let text = rack(", workload: {speaker: metallb}", "")
        .replace("index: 2", "index: 2, routing: {aggregates: [10.1.254.0/24]}");

    let (hidden, service) = (ways(&text, "10.1.254.2", &[]), ways(&text, "198.51.100.77", &["a:metallb"]));

    assert_eq!((hidden["leaf1"].as_str(), hidden["b"].as_str()), ("b", "Itself"));
    assert_eq!((service["leaf1"].as_str(), service["b"].as_str()), ("b", "Itself"));
}
