//! Every folder under `rules/` is named after a rule: `trips.yaml` violates it, `passes.yaml` complies, and `expected.txt` has
//! all findings for `trips.yaml`, with the fix of the folder's rule.
//!
//! Rules between clusters have a second file for each, `trips-other.yaml` and `passes-other.yaml`. Those of boot media are in
//! `inspect/rules.rs`. `UPDATE_GOLDEN=1 cargo nextest run -p ichor-core rules::` rewrites `expected.txt`; the diff is reviewed.

use std::collections::BTreeSet;
use std::path::Path;

use ichor_core::rules::{self, Finding, Rule, clash};

/// The findings in `NAME.yaml`, or between it and `NAME-other.yaml` if that exists; each with its file.
#[expect(clippy::disallowed_methods, reason = "a case is a folder")]
fn findings(case: &Path, name: &str) -> Vec<(String, Finding)> {
    let (one, other) = (format!("{name}.yaml"), format!("{name}-other.yaml"));
    if !case.join(&other).exists() {
        return ichor_testbed::findings_of_case(case, &one)
            .into_iter()
            .map(|found| (one.clone(), found))
            .collect();
    }
    let [(a, plan_a), (b, plan_b)] = [&one, &other].map(|file| ichor_testbed::planned_case(case, file));
    let files = [one, other];
    let found = clash::compare(&[(&files[0], &a, &plan_a), (&files[1], &b, &plan_b)]);
    found.into_iter().map(|(nth, finding)| (files[nth].clone(), finding)).collect()
}

/// A finding as written to `expected.txt`. Only findings of `rule` show the fix.
fn described(file: &str, finding: &Finding, rule: &Rule) -> String {
    let Finding { rule: found, issue, place, silenced } = finding;
    let (severity, path, message) = (issue.severity, &issue.subject, &issue.message);
    let silenced = silenced.as_ref().map(|why| format!("  silenced: {why}\n")).unwrap_or_default();
    let fix = if found.id == rule.id { format!("  fix: {}\n", rule.fix) } else { String::new() };
    let (line, column) = (place.line, place.column);
    format!("{severity}[{}] {file}:{line}:{column} {path}\n  {message}\n{silenced}{fix}", found.id)
}

#[test]
fn rules_report_exactly_the_findings_of_their_case() {
    for rule in rules::all().filter(|rule| !rule.id.starts_with("media-")) {
        let case = ichor_testbed::folder("rules").join(rule.id);
        let trips = findings(&case, "trips");
        let text: Vec<_> = trips.iter().map(|(file, finding)| described(file, finding, rule)).collect();

        ichor_testbed::assert_same(&case.join("expected.txt"), &text.join("\n"));
        assert!(trips.iter().any(|(_, found)| found.rule.id == rule.id), "{}: trips.yaml keeps it", rule.id);
    }
}

#[test]
fn the_valid_file_of_each_rule_has_no_finding() {
    for rule in rules::all().filter(|rule| !rule.id.starts_with("media-")) {
        let passes = findings(&ichor_testbed::folder("rules").join(rule.id), "passes");
        let broken = passes.iter().any(|(_, found)| found.rule.id == rule.id);

        assert!(!broken, "{}: passes.yaml breaks it", rule.id);
        assert!(!rule.id.starts_with("clash-") || passes.is_empty(), "{}: passes.yaml clashes", rule.id);
    }
}

#[test]
fn each_case_belongs_to_a_rule() {
    let rules: BTreeSet<&str> = rules::all().map(|rule| rule.id).collect();
    for case in ichor_testbed::cases("rules") {
        let name = case.file_name().unwrap().to_str().unwrap();

        assert!(rules.contains(name), "no rule {name}");
    }
}
