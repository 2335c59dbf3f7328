//! Custom templates: the document lists every variable, and its example renders.

use std::collections::BTreeSet;

use ichor_bgp::render::Template;
use ichor_bgp::render::template::variables;
use ichor_bgp::render::template::variables::DaemonInfo;
use ichor_testbed::document;
use ichor_testbed::routing::{PASSWORD, cases, model, routed, service_with_template};
use serde_json::Value;

/// The first block of a language in the document.
fn block(document: &str, language: &str) -> String {
    let (_, rest) = document.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// The paths of all leaf values.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| {
            let dot = if path.is_empty() { "" } else { "." };
            paths(value, &format!("{path}{dot}{name}"), found);
        }),
        Value::Array(list) => list.iter().for_each(|value| paths(value, &format!("{path}[]"), found)),
        Value::Null => {}
        _ => {
            found.insert(path.to_owned());
        }
    }
}

#[test]
fn the_document_lists_exactly_the_variables() {
    let mut known = BTreeSet::new();
    for case in cases() {
        let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        for node in routed(&plan) {
            let model = model(&cluster, &plan, node);
            let passwords: Vec<_> =
                model.fabric.neighbors.iter().map(|_| Some(PASSWORD.to_owned())).collect();
            let backend = node.routing.as_deref().unwrap().backend.value;
            let daemon = DaemonInfo { backend, version: (1, 0), default: "text" };
            paths(&variables::template_variables(&model, &passwords, daemon), "", &mut known);
        }
    }

    let document = document("reference/template-variables.md");
    let (_, table) = document.split_once("| variable | what it is |").unwrap();
    let name = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let listed: BTreeSet<String> = table.lines().filter_map(name).collect();

    similar_asserts::assert_eq!(listed, known);
}

#[test]
fn the_example_of_the_document_renders_as_documented() {
    let document = document("how-to/use-a-routing-template.md");
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(block(&document, "yaml")));
    let text = block(&document, "jinja");

    let template = Template { path: "my-frr.conf.j2", text: &text };
    let service = service_with_template(&cluster, &plan, &plan.nodes[0], Some(template)).unwrap().unwrap();

    similar_asserts::assert_eq!(service.files[0].text, block(&document, "text"));
    assert!(service.files[0].private);
}

/// For every case: a template that only includes the default changes nothing.
#[test]
fn the_default_in_a_template_is_the_complete_file() {
    for case in cases() {
        let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        for node in routed(&plan) {
            let template = Template { path: "same.j2", text: "{{ default }}" };

            let with = service_with_template(&cluster, &plan, node, Some(template)).unwrap();
            let without = service_with_template(&cluster, &plan, node, None).unwrap();

            assert!(with == without, "{} {}", case.display(), node.name);
        }
    }
}
