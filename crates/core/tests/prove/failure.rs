//! Failures, single and in pairs.

use ichor_core::prove::{FailureScope, ProofModel};

use crate::prove::{GATEWAYS, SPINE, messages, outcome_of, proof, rack, subject};

#[test]
fn a_link_without_a_second_path_is_reported_as_a_single_point_of_failure() {
    let (bare, with_spine) = (rack("", ""), rack("", SPINE));

    let alone = outcome_of(&proof(&bare), &subject(&bare), "a:fab0");
    let wired = outcome_of(&proof(&with_spine), &subject(&with_spine), "leaf1:swp1");

    assert_eq!(alone, Some((0, 1)), "leaf1 loses a and has no other path");
    assert_eq!(wired, None);
}

#[test]
fn nodes_with_one_as_number_depend_on_default_routes_that_a_link_failure_breaks() {
    let text = rack("", "").replace("index: 2", "index: 2, routing: {asn: 4210001001}");

    let (proof, subject) = (proof(&text), subject(&text));

    assert!(messages(&proof).iter().any(|reported| {
        reported.contains("b reaches 10.1.254.1/32 and fd00:1:fe::1/128 only by its default route")
    }));
    let (broken, _) = outcome_of(&proof, &subject, "a:fab0").unwrap();
    assert!(broken > 0, "leaf1 still gives b a default route, and no longer knows a");
}

#[test]
fn two_failures_that_only_together_cause_a_loss_are_found() {
    let text = rack("", SPINE);
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text.as_str()));
    let subject = ProofModel::from_plan(&cluster, &plan).unwrap();
    let scope = FailureScope::Each { failures: subject.failures(), pairs: true };

    let study = subject.analyse(&subject.destinations, &scope);

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
fn skipped_pairs_of_failures_have_no_new_losses() {
    let text = rack(", workload: {speaker: metallb}", SPINE);
    let subject = subject(&text);
    let failures = subject.failures();
    let scope = FailureScope::Each { failures: failures.clone(), pairs: true };
    let known = subject.analyse(&subject.destinations, &scope).outcomes;

    for (nth, one) in failures.iter().enumerate() {
        for other in &failures[nth + 1..] {
            let together = FailureScope::Together(vec![*one, *other]);
            let complete = subject.analyse(&subject.destinations, &together).outcomes;
            let lost: usize =
                complete.values().map(|outcome| outcome.broken.count + outcome.alone.count).sum();
            let of = |failures: &[ichor_core::prove::failure::Failure]| {
                known.get(failures).map_or(0, |outcome| outcome.broken.count + outcome.alone.count)
            };
            let reported = of(&[*one, *other]) + of(&[*other, *one]) + of(&[*one]) + of(&[*other]);
            assert!(
                lost <= reported,
                "{} and {}: {lost} lost, {reported} reported",
                subject.name(*one),
                subject.name(*other)
            );
        }
    }
}

#[test]
fn a_link_has_a_name_at_both_ends() {
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
