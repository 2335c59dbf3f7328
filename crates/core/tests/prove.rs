//! What the proof says of clusters: of every incident in docs/rules.md that BGP decides, and of fabrics that work.

mod common;

use std::path::PathBuf;

use ichor_core::prove::{Proof, Scope, Subject};

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
const INCIDENTS: [(&str, &str); 24] = [
    ("aggregate-with-specifics", "delivered: 10.101.254.11/32: announced only as part of 10.101.254.0/24"),
    ("allow-misses-pool", "reached: 10.101.251.1/32: nobody announces it"),
    (
        "asn-behind-reflector",
        "together: solwk01 reaches 10.101.254.11/32 and 1 more by its default route alone: its own AS",
    ),
    ("backend-cannot", "sessions: solcp01: native cannot have"),
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
    let (case, file) = rule_case("allow-fabric", "trips.yaml");

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
        said.iter().any(|said| said.contains("leaf2 reaches 10.1.254.1/32 and 1 more through b")),
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
        said.iter().any(
            |said| said.contains("spine does not reach 10.1.254.1/32 and 1 more: a community keeps leaf")
        ),
        "{said:#?}"
    );
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

    assert!(
        told(&proof)
            .iter()
            .any(|said| said.contains("b reaches 10.1.254.1/32 and 1 more by its default route alone"))
    );
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

    assert!(said.iter().any(|said| said.contains("a: the extension bird2 has taken port 179")), "{said:#?}");
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
