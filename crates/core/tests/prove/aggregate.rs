//! Aggregates.

use ichor_core::prove::destination::RouteSource;

use crate::prove::{next, rack, subject};

#[test]
fn an_aggregate_of_services_replaces_them() {
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

    // The parts of a reach b, which therefore has the aggregate even without its speaker.
    assert!(!target.notices(only));
    assert_eq!(target.origins[0].source, RouteSource::OthersParts);
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
fn a_prefix_is_not_a_part_of_itself() {
    let subject = subject(&rack(", aggregates: [10.1.254.1/32]", ""));

    assert_eq!(next(&subject, "10.1.254.1/32")["leaf1"], ["a"]);
    assert!(subject.destinations.iter().all(|target| target.kind.to_string() != "aggregate"));
}
