//! Every folder under `rules/` is named after a rule: `trips.yaml` has it, `passes.yaml` does not.
//! Rules between clusters have a second file for each, `trips-other.yaml` and `passes-other.yaml`. Those of boot media are in
//! `inspect/rules.rs`.

use ichor_testbed as common;

use std::path::Path;

use ichor_core::rules::{self, clash};

/// Ids of the rules that `name` trips.
fn tripped(case: &Path, name: &str) -> Vec<&'static str> {
    common::findings_of_case(case, name).into_iter().map(|finding| finding.rule.id).collect()
}

/// Ids of the rules that `NAME.yaml` and `NAME-other.yaml` trip together.
fn tripped_by_both(case: &Path, name: &str) -> Vec<&'static str> {
    let (one, other) = (format!("{name}.yaml"), format!("{name}-other.yaml"));
    let [(a, plan_a), (b, plan_b)] = [&one, &other].map(|file| common::planned_case(case, file));
    let findings = clash::across(&[(&one, &a, &plan_a), (&other, &b, &plan_b)]);
    findings.into_iter().map(|(_, finding)| finding.rule.id).collect()
}

#[test]
fn every_rule_has_a_case_that_trips_it_and_one_that_does_not() {
    let elsewhere = |rule: &&rules::Rule| ["clash-", "media-"].iter().any(|start| rule.id.starts_with(start));
    for rule in rules::all().filter(|rule| !elsewhere(rule)) {
        let case = common::folder("rules").join(rule.id);

        assert!(tripped(&case, "trips.yaml").contains(&rule.id), "{}: trips.yaml does not trip it", rule.id);
        assert!(!tripped(&case, "passes.yaml").contains(&rule.id), "{}: passes.yaml trips it", rule.id);
    }
}

#[test]
fn every_clash_has_two_files_that_trip_it_and_two_that_do_not() {
    for rule in rules::all().filter(|rule| rule.id.starts_with("clash-")) {
        let case = common::folder("rules").join(rule.id);

        assert_eq!(tripped_by_both(&case, "trips"), [rule.id], "{}", rule.id);
        assert!(tripped_by_both(&case, "passes").is_empty(), "{}: passes.yaml trips something", rule.id);
    }
}

#[test]
fn every_case_belongs_to_a_rule() {
    for case in common::cases("rules") {
        let name = case.file_name().unwrap().to_str().unwrap();

        assert!(rules::find(name).is_some(), "no rule {name}");
    }
}
