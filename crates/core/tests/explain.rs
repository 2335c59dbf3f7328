//! `ichor show --why` explains every value of a plan, with the defaults that the reference documents.

use ichor_core::cluster::section::{File, Node};
use ichor_core::plan::why::{
    ValueRow, ValueSource, cluster_detail_rows, cluster_rows, fabric_rows, node_rows, why,
};
use ichor_core::plan::{Origin, Plan};
use ichor_values::read::Read;
use ichor_values::schema::Shape;

/// Keys whose documentation describes how the default is derived instead of its value.
const BY_RULE: [&str; 5] = [
    "cluster.kube_vip.interface",
    "network.node.link",
    "routing.workload.link.theirs",
    "vm.bridge",
    "vm.storage",
];

/// A row with its key path from the root of the file, and the shape of the section that its documentation begins with.
type PathRow = (String, ValueRow, fn() -> Shape);

/// Every value of a plan.
fn rows(plan: &Plan) -> Vec<PathRow> {
    let details = cluster_detail_rows(&plan.cluster).into_iter().chain(fabric_rows(plan));
    let of_file = cluster_rows(&plan.cluster).into_iter().chain(details);
    let mut all: Vec<_> = of_file.map(|row| (row.0.clone(), row, File::shape as fn() -> Shape)).collect();
    for (node, _) in plan.by_class() {
        let of_node = node_rows(plan, node).into_iter();
        all.extend(of_node.map(|row| (node.path(&row.0), row, Node::shape as fn() -> Shape)));
    }
    all
}

/// The clusters to test: every example and every case.
fn clusters() -> Vec<std::path::PathBuf> {
    ["../../../examples", "cases"].into_iter().flat_map(ichor_testbed::cases).collect()
}

#[test]
fn all_values_of_a_plan_are_explained_with_their_origin() {
    for case in clusters() {
        let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        for (path, (_, value, origin), _) in rows(&plan) {
            let why = why(&cluster, &plan, &path).unwrap_or_else(|wrong| panic!("{path}: {wrong}"));

            assert_eq!(why.value, Some(value), "{path} of {}", case.display());
            let same = match (why.cause, origin) {
                (ValueSource::Line(line), Origin::Written(place)) => line == place,
                (ValueSource::Rule { rule, .. }, Origin::Derived(by, _)) => rule == by.description(),
                (ValueSource::Default(why), Origin::Default(reason)) => why == reason,
                _ => false,
            };
            assert!(same, "{path} of {} is explained by something else", case.display());
        }
    }
}

/// The reference's text about the default of a key, and of the keys above it.
fn documented(shape: &Shape, key: &str) -> Vec<&'static str> {
    let steps: Vec<_> = key
        .split(['.', '['])
        .map(|step| step.trim_end_matches(']'))
        .filter(|step| !step.is_empty())
        .collect();
    (1..=steps.len()).rev().filter_map(|length| shape.default_at(&steps[..length]).ok()).collect()
}

/// Whether a text is a single value: `10.244.0.0/16` is, `true, false with Cilium` is not.
fn names(text: &str, value: &str) -> bool {
    let literal = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let value = value.split(" on ").next().unwrap_or(value);
    let is_prose = literal.contains([';', ']']) || (literal == text && text.contains(' '));
    if is_prose { text.contains(value) } else { literal == value.trim_matches(['[', ']']) }
}

#[test]
fn the_defaults_of_a_plan_are_those_of_the_reference() {
    let mut seen = 0;
    for case in clusters() {
        let (_, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
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
