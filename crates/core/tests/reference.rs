//! The schema and the reference match the types.

use ichor_core::cluster::{File, Files};
use ichor_core::render::topology;
use ichor_core::{rules, verify};
use ichor_testbed::assert_section;
use ichor_values::read::Read;
use ichor_values::schema::{json_schema, records, reference};

#[test]
fn the_reference_lists_every_key() {
    assert_section("docs/cluster-file.md", "reference", reference(&File::shape()).trim_end());
}

#[test]
fn the_diagrams_in_the_documents_are_of_the_examples() {
    for (example, picture) in [
        ("metallb", "topology.svg"),
        ("homelab", "tutorials/homelab-on-proxmox.svg"),
        ("cilium", "tutorials/cilium-on-proxmox.svg"),
        ("edge", "tutorials/edge-sites.svg"),
        ("native", "tutorials/native-bgp.svg"),
    ] {
        let example = ichor_testbed::folder("../../../examples").join(example);
        let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_case(&example, "ichor.yaml"));

        let got = topology::render(&cluster, &plan);

        ichor_testbed::assert_same(&ichor_testbed::folder("../../../docs").join(picture), &got);
    }
}

#[test]
fn all_rules_are_explained() {
    let mut want = String::new();
    for (group, rules) in rules::explanations() {
        want += &format!("\n## {group}\n");
        for rule in rules {
            want += &format!(
                "\n### {}\n\n*{}*: {}.\n\n{}\n\n**Fix:** {}.\n",
                rule.id, rule.severity, rule.summary, rule.failure, rule.fix
            );
        }
    }

    assert_section("docs/rules.md", "rules", want.trim());
}

#[test]
fn all_checks_are_listed() {
    let mut want = "| check | what holds | what is looked at | needs |\n|---|---|---|---|\n".to_owned();
    for check in verify::CHECKS {
        let whose = if matches!(check.scope, verify::CheckScope::Cluster(_)) { "(cluster) " } else { "" };
        let needs: Vec<_> = check.needs.iter().map(|need| format!("`{need}`")).collect();
        want += &format!(
            "| {whose}`{}` | {} | {} | {} |\n",
            check.id,
            check.title,
            check.looks_at,
            needs.join(", ")
        );
    }

    assert_section("docs/reference/verify-checks.md", "checks", want.trim());
}

#[test]
fn the_example_of_every_key_is_a_valid_value() {
    let mut checked = 0;
    for (record, fields) in records(&File::shape()) {
        for field in fields.iter().filter(|field| record.name == "File" && field.name != "include") {
            let loaded = ichor_testbed::load_text(format!("{}: {}\n", field.name, field.example));

            assert!(loaded.problems.is_empty(), "{}: {:?}", field.name, loaded.problems);
            checked += 1;
        }
        for field in fields.iter().filter(|field| !field.example.is_empty()) {
            assert!(!field.doc.is_empty(), "{}.{} has no comment", record.name, field.name);
            assert!(!field.default.is_empty(), "{}.{} says nothing of its default", record.name, field.name);
        }
    }
    assert!(checked > 10);
}

#[test]
fn the_schema_accepts_every_example_and_rejects_an_unknown_key() {
    let schema = json_schema(&File::shape());
    let validator = jsonschema::validator_for(&schema).unwrap();
    for case in ichor_testbed::cases("../../../examples") {
        let text =
            String::from_utf8(ichor_testbed::FolderFiles(case.clone()).read("ichor.yaml").unwrap()).unwrap();
        let mut value: serde_json::Value = ichor_talos::document::read(&text).unwrap().remove(0);
        let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", case.display());

        value["netwrok"] = serde_json::json!({});
        assert!(!validator.is_valid(&value), "{}", case.display());
    }
}
