//! What fails, alone and in pairs.

use ichor_core::prove::{FailureScope, ProofModel};

use crate::prove::{GATEWAYS, SPINE, outcome_of, proof, rack, subject, told};

#[test]
fn a_link_without_a_second_way_is_told_and_a_spine_is_one() {
    let (bare, with_spine) = (rack("", ""), rack("", SPINE));

    let alone = outcome_of(&proof(&bare), &subject(&bare), "a:fab0");
    let wired = outcome_of(&proof(&with_spine), &subject(&with_spine), "leaf1:swp1");

    assert_eq!(alone, Some((0, 1)), "leaf1 loses a, and nothing else leads there");
    assert_eq!(wired, None);
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
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text.as_str()));
    let subject = ProofModel::of(&cluster, &plan).unwrap();
    let scope = FailureScope::Each { failures: subject.failures(), pairs: true };

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
    let scope = FailureScope::Each { failures: failures.clone(), pairs: true };
    let known = subject.study(&subject.destinations, &scope).outcomes;

    for (nth, one) in failures.iter().enumerate() {
        for other in &failures[nth + 1..] {
            let together = FailureScope::Together(vec![*one, *other]);
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
fn a_name_of_a_link_is_known_by_both_ends() {
    let subject = subject(&rack(", workload: {speaker: metallb}", SPINE));

    let same = |one: &str, other: &str| {
        subject.failure(one).is_some() && subject.failure(one) == subject.failure(other)
    };

    assert!(same("a:fab0", "leaf1:swp1") && same("a:leaf1", "leaf1:a") && same("a:fab0", "a:leaf1"));
    assert!(subject.failure("a:metallb").is_some() && subject.failure("nobody").is_none());
}

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
