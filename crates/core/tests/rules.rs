//! Every folder under `rules/` is named after a rule: `trips.yaml` has it, `passes.yaml` does not.
#![expect(clippy::disallowed_methods, reason = "the cases are files")]

mod common;

use std::path::Path;

use ichor_core::rules::attachment::Attachments;
use ichor_core::rules::{self, Context};
use ichor_core::{model, plan};

/// Ids of the rules that `name` trips.
fn tripped(case: &Path, name: &str) -> Vec<&'static str> {
    let loaded = common::load_case(case, name);
    let cluster = model::validate(loaded.file, loaded.problems)
        .unwrap_or_else(|problems| panic!("{}/{name}: {problems:#?}", case.display()));
    let plan = plan::plan(&cluster);
    let attachments = Attachments::gather(&cluster, |path| {
        std::fs::read_to_string(case.join(path)).map_err(|error| error.to_string())
    });
    let context = Context { cluster: &cluster, plan: &plan, attachments: &attachments };
    rules::check(&context).into_iter().map(|finding| finding.rule.id).collect()
}

#[test]
fn every_rule_has_a_case_that_trips_it_and_one_that_does_not() {
    for rule in rules::all() {
        let case = common::folder("rules").join(rule.id);

        assert!(tripped(&case, "trips.yaml").contains(&rule.id), "{}: trips.yaml does not trip it", rule.id);
        assert!(!tripped(&case, "passes.yaml").contains(&rule.id), "{}: passes.yaml trips it", rule.id);
    }
}

#[test]
fn every_case_belongs_to_a_rule() {
    for case in common::cases("rules") {
        let name = case.file_name().unwrap().to_str().unwrap();

        assert!(rules::find(name).is_some(), "no rule {name}");
    }
}
