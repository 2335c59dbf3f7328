//! The schema and the reference say what the types say.

use ichor_core::cluster::{File, Files};
use ichor_core::render::topology;
use ichor_core::{rules, verify};
use ichor_values::read::Read;
use ichor_values::schema::{json_schema, records, reference};

/// Replaces what stands between two marks of a document, or compares it.
fn assert_section(document: &str, section: &str, want: &str) {
    let path = ichor_testbed::folder("../../..").join(document);
    let text = String::from_utf8(
        ichor_testbed::FolderFiles(ichor_testbed::folder("../../..")).read(document).unwrap(),
    )
    .unwrap();
    let (begin, end) = (format!("<!-- {section}: begin -->\n"), format!("<!-- {section}: end -->"));
    let from = text.find(&begin).unwrap_or_else(|| panic!("{document} has no mark {begin}")) + begin.len();
    let to = text.find(&end).unwrap_or_else(|| panic!("{document} has no mark {end}"));

    ichor_testbed::assert_same(&path, &format!("{}\n{want}\n{}", &text[..from], &text[to..]));
}

#[test]
fn the_reference_lists_every_key() {
    assert_section("docs/cluster-file.md", "reference", reference(&File::shape()).trim_end());
}

#[test]
fn the_picture_in_the_readme_is_of_the_metallb_example() {
    let loaded = ichor_testbed::load_case(&ichor_testbed::folder("../../../examples/metallb"), "ichor.yaml");
    let (cluster, plan) = ichor_testbed::planned(loaded);

    let picture = topology::render(&cluster, &plan);

    ichor_testbed::assert_same(&ichor_testbed::folder("../../../docs").join("topology.svg"), &picture);
}

#[test]
fn the_rules_are_all_explained() {
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
fn the_checks_are_all_listed() {
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
fn every_example_of_a_key_can_stand_behind_it() {
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
fn the_schema_accepts_every_example_and_refuses_an_unknown_key() {
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
