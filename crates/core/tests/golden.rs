//! Every folder under `golden/` and every example is a case: `ichor.yaml` in, every decided value out.
//!
//! `UPDATE_GOLDEN=1 cargo nextest run --test golden` rewrites `plan.txt`; the diff is reviewed.

use ichor_testbed as common;

use std::fmt::Write;
use std::path::Path;

use ichor_core::plan::Origin;
use ichor_core::plan::why::{Row, cluster_rows, node_rows};
use ichor_values::read::Read;

/// Every decided value of a case, with where it came from.
fn decided(case: &Path) -> String {
    let mut loaded = common::load_case(case, "ichor.yaml");
    let sources = std::mem::take(&mut loaded.sources);
    let (_, plan) = common::planned(loaded);
    let mut told = String::new();
    let mut tell = |(key, value, origin): Row| {
        let from = match origin {
            Origin::Written(place) => sources.locate(place),
            Origin::Derived(rule, _) => rule.words().to_owned(),
            Origin::Default(_) => "default".to_owned(),
        };
        let _ = writeln!(told, "{key} = {value}  ({from})");
    };
    cluster_rows(&plan.cluster).into_iter().for_each(&mut tell);
    for node in &plan.nodes {
        if case.parent().is_some_and(|folder| folder.ends_with("golden")) {
            let settings = node.settings.print().to_flow();
            tell((format!("{}.settings", node.name), settings, Origin::Written(node.place)));
        }
        node_rows(&plan, node)
            .into_iter()
            .map(|(key, value, origin)| (format!("{}.{key}", node.name), value, origin))
            .for_each(&mut tell);
    }
    told
}

#[test]
fn every_case_decides_what_is_expected() {
    for case in common::cases("golden") {
        common::assert_same(&case.join("plan.txt"), &decided(&case));
    }
}

#[test]
fn every_example_decides_what_is_expected() {
    for case in common::cases("../../../examples") {
        let name = case.file_name().unwrap().to_str().unwrap();

        common::assert_same(&common::folder("golden-examples").join(format!("{name}.txt")), &decided(&case));
    }
}
