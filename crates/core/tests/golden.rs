//! Every folder under `golden/` and every example is a case: `ichor.yaml` in, every decided value out.
//!
//! `UPDATE_GOLDEN=1 cargo nextest run --test golden` rewrites `plan.txt`; the diff is reviewed.

mod common;

use std::fmt::Write;
use std::path::Path;

use ichor_core::cluster::read::Read;
use ichor_core::cluster::schema::Shape;
use ichor_core::cluster::section::{File, Node};
use ichor_core::plan::why::{
    Cause, Row, cluster_detail_rows, cluster_rows, node_rows, surrounding_rows, why, written,
};
use ichor_core::plan::{Origin, Plan};

/// Keys whose documentation says how the default is found, and not what it is.
const BY_RULE: [&str; 4] = ["network.node.link", "routing.workload.link.theirs", "vm.bridge", "vm.storage"];

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
            let row = (format!("{}.settings", node.name), written(node), Origin::Written(node.place));
            tell(row);
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

/// Every value of a plan with its key path: from the root of the file, and from where its documentation begins.
fn rows(plan: &Plan) -> Vec<(String, Row, fn() -> Shape)> {
    let details = cluster_detail_rows(&plan.cluster).into_iter().chain(surrounding_rows(plan));
    let of_file = cluster_rows(&plan.cluster).into_iter().chain(details);
    let mut all: Vec<_> = of_file.map(|row| (row.0.clone(), row, File::shape as fn() -> Shape)).collect();
    for (node, _) in plan.by_kind() {
        let of_node = node_rows(plan, node).into_iter();
        all.extend(of_node.map(|row| (node.path(&row.0), row, Node::shape as fn() -> Shape)));
    }
    all
}

/// The clusters to look at: every example and every case.
fn clusters() -> Vec<std::path::PathBuf> {
    ["../../../examples", "golden"].into_iter().flat_map(common::cases).collect()
}

#[test]
fn every_value_of_a_plan_is_explained_with_its_origin() {
    for case in clusters() {
        let (cluster, plan) = common::planned_case(&case, "ichor.yaml");
        for (path, (_, value, origin), _) in rows(&plan) {
            let why = why(&cluster, &plan, &path).unwrap_or_else(|wrong| panic!("{path}: {wrong}"));

            assert_eq!(why.value, Some(value), "{path} of {}", case.display());
            let same = match (why.cause, origin) {
                (Cause::Line(line), Origin::Written(place)) => line == place,
                (Cause::Rule { rule, .. }, Origin::Derived(by, _)) => rule == by.words(),
                (Cause::Default(why), Origin::Default(reason)) => why == reason,
                _ => false,
            };
            assert!(same, "{path} of {} is explained by something else", case.display());
        }
    }
}

/// What the reference says of a key that is not written, and of the keys around it.
fn documented(shape: &Shape, key: &str) -> Vec<&'static str> {
    let steps: Vec<_> = key
        .split(['.', '['])
        .map(|step| step.trim_end_matches(']'))
        .filter(|step| !step.is_empty())
        .collect();
    (1..=steps.len()).rev().filter_map(|length| shape.default_at(&steps[..length]).ok()).collect()
}

/// Whether a text names a value: `10.244.0.0/16` is one, `true, false with Cilium` names two.
fn names(text: &str, value: &str) -> bool {
    let literal = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let value = value.split(" on ").next().unwrap_or(value);
    let is_prose = literal.contains([';', ']']) || (literal == text && text.contains(' '));
    if is_prose { text.contains(value) } else { literal == value.trim_matches(['[', ']']) }
}

#[test]
fn every_default_of_a_plan_is_the_one_that_the_reference_names() {
    let mut seen = 0;
    for case in clusters() {
        let (_, plan) = common::planned_case(&case, "ichor.yaml");
        for (path, (key, value, origin), shape) in rows(&plan) {
            if !matches!(origin, Origin::Default(_)) || BY_RULE.contains(&key.as_str()) {
                continue;
            }
            let texts = documented(&shape(), &key);
            let named = texts.iter().any(|text| names(text, &value));
            assert!(named, "{path} of {} is {value}, and the reference says {texts:?}", case.display());
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen} defaults are too few to tell");
}
