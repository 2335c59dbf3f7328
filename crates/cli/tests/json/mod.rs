//! The JSON documents of ichor against their schemas in `docs/schemas`, and `docs/json.md`, which is generated from them.
//!
//! Every run of `ichor … --json` in any test is validated ([`validate_run`]), also those of labs.
//! `UPDATE_GOLDEN=1` rewrites the page.

mod page;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::common::{EXAMPLES, GOOD, Run, folder, ichor, root};
use ichor_testbed::schema::{self, assert_valid};
use serde_json::Value;

/// The commands with `--json` and the schemas of their output; the first one whose words all occur.
const COMMANDS: &[(&str, &str)] = &[
    ("check", "check"),
    ("diff", "diff"),
    ("discover", "discover"),
    ("down", "down-events"),
    ("explain", "explain"),
    ("extension build", "extension-build"),
    ("extension check", "extension-check"),
    ("extension push", "extension-push"),
    ("image build --dry-run", "image-plan"),
    ("image build", "image-build"),
    ("lab ls", "lab-ls"),
    ("lab nodes status", "lab-nodes-status"),
    ("lab status", "lab-status"),
    ("lab test", "lab-test"),
    ("lab up", "lab-up"),
    ("logs", "logs"),
    ("machine ls", "machine-ls"),
    ("media inspect", "media-inspect"),
    ("meta decode", "meta-decode"),
    ("migrate", "migrate"),
    ("prove --to", "prove-to"),
    ("prove", "prove"),
    ("reset", "reset-events"),
    ("schematic fetch", "schematic-fetch"),
    ("schematic url", "schematic-url"),
    ("secrets check", "secrets-check"),
    ("show --why", "show-why"),
    ("show backends", "show-backends"),
    ("show bgp", "show-bgp"),
    ("show boot", "show-boot"),
    ("show cilium", "show-cilium"),
    ("show file", CLUSTER_FILE),
    ("show nodes", "show-nodes"),
    ("show vms", "show-vms"),
    ("show", "show"),
    ("status", "status"),
    ("talos validate", "talos-validate"),
    ("up", "up-events"),
    ("upgrade", "upgrade-events"),
    ("verify", "verify"),
];

/// A placeholder for the cluster file, whose keys `ichor schema` describes.
const CLUSTER_FILE: &str = "";

/// The tests that validate what the tests of this module do not: schema, source and the words that write the document.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("agent-config", "crates/bgp/tests/all/agent_config.rs", "assert_valid(\"agent-config\""),
    ("agent-render", "crates/agent/tests/run/command.rs", "assert_valid(\"agent-render\""),
    ("agent-status", "crates/bgp/tests/all/agent_status.rs", "assert_valid(\"agent-status\""),
    ("diff", "crates/cli/tests/node_queries/mod.rs", "diff --only worker1 --json"),
    ("discover", "crates/cli/tests/node_queries/mod.rs", "discover --json"),
    ("down-events", "crates/cli/tests/lifecycle/down.rs", "down --reset --yes --json"),
    ("extension-build", "crates/cli/tests/extension_build.rs", "-o bird.tar --json"),
    ("extension-check", "crates/cli/tests/extension.rs", "extension check x --talos {release} --json"),
    ("extension-push", "crates/cli/tests/extension_build.rs", "extension push bird.tar {target} --json"),
    ("image-build", "crates/cli/tests/image.rs", "-o two --json"),
    ("image-plan", "crates/cli/tests/image.rs", "--dry-run --json"),
    ("images", "crates/cli/tests/build.rs", "assert_valid(\"images\""),
    ("lab-ls", "crates/cli/tests/lab_fabric/lab.rs", "lab ls --json"),
    ("lab-nodes-status", "crates/cli/tests/simulated.rs", "lab nodes status -o . --json"),
    ("lab-status", "crates/cli/tests/lab_status/lab.rs", "status --json"),
    ("lab-test", "crates/cli/tests/lab_test/lab/mod.rs", "--json --html report.html"),
    ("lab-up", "crates/cli/tests/lab_fabric/lab.rs", "lab.up(\"--json\")"),
    ("logs", "crates/cli/tests/node_queries/mod.rs", "logs cp1 --json"),
    ("machine-ls", "crates/cli/tests/machine/proxmox/mod.rs", "ls --json"),
    ("manifest", "crates/cli/tests/build.rs", "assert_valid(\"manifest\""),
    ("media-inspect", "crates/cli/tests/media.rs", "--links {links} --json"),
    ("migrate", "crates/cli/tests/migrate.rs", "migrate native frr --json"),
    ("reset-events", "crates/cli/tests/lifecycle/reset.rs", "reset worker1 cp2 --yes --json"),
    ("schematic-fetch", "crates/cli/tests/schematic.rs", "--cache cache --json"),
    ("secrets-check", "crates/cli/tests/secrets.rs", "secrets check --json"),
    ("status", "crates/cli/tests/node_queries/mod.rs", "status --json"),
    ("up-events", "crates/cli/tests/simulated.rs", "--json {more}"),
    ("up-record", "crates/cli/tests/simulated.rs", "assert_valid(\"up-record\""),
    ("upgrade-events", "crates/cli/tests/lifecycle/upgrade.rs", "upgrade --yes --json"),
    ("verify", "crates/cli/tests/verify/mod.rs", "verify --json"),
];

/// The schema of a command's output.
fn schema_of(words: &[&str]) -> Option<&'static str> {
    let is_command = |command: &str| {
        let mut parts = command.split(' ');
        let first = parts.next().unwrap();
        words.first() == Some(&first) && parts.all(|part| words.contains(&part))
    };
    COMMANDS.iter().find(|(command, _)| is_command(command)).map(|(_, schema)| *schema)
}

/// The JSON values of an output, one after the other; none if it is a text.
fn documents(stdout: &str) -> Option<Vec<Value>> {
    serde_json::Deserializer::from_str(stdout).into_iter().collect::<Result<_, _>>().ok()
}

/// Validates the output of `ichor` with `--json`. A refused command may print a text instead.
pub fn validate_run(words: &[&str], run: &Run) {
    if !words.contains(&"--json") || words.contains(&"--help") {
        return;
    }
    let schema = schema_of(words).unwrap_or_else(|| panic!("no schema for {words:?}; add it to COMMANDS"));
    let documents = documents(&run.stdout);
    assert!(run.code != 0 || documents.is_some(), "{words:?} does not print JSON: {}", run.all());
    if schema != CLUSTER_FILE {
        let errors = schema::errors(schema, documents.iter().flatten());
        assert!(errors.is_empty(), "{words:?} is not valid for {schema}: {errors:#?}\n{}", run.stdout);
    }
}

/// Runs a command with `--json`, which must print a document.
fn print(folder: &Path, words: &str) -> Value {
    let run = ichor(folder, &format!("{words} --json"));
    assert!(documents(&run.stdout).is_some_and(|all| !all.is_empty()), "{words}: {}", run.all());
    run.json()
}

#[test]
fn plans_of_all_examples_are_valid() {
    for example in EXAMPLES {
        let file = format!("examples/{example}/ichor.yaml");
        for view in ["", "nodes", "bgp", "boot", "vms", "cilium"] {
            print(&root(), &format!("show {view} {file}"));
        }
        print(&root(), &format!("check {file}"));
        print(&root(), &format!("schematic url --cluster {file}"));
    }
    print(&root(), "show backends");
    print(&root(), "explain");
    print(&root(), "explain asn-public");
    print(&root(), "meta decode MHhhPWZvbzsweGI9YmFy");
}

#[test]
fn a_value_has_a_valid_origin_whether_it_is_written_derived_or_a_default() {
    let folder = folder(&[("ichor.yaml", GOOD)]);

    let written = print(folder.path(), "show --why nodes.solcp01.index");
    let derived = print(folder.path(), "show --why nodes.solcp01.network.node.v4");
    let default = print(folder.path(), "show --why nodes.solcp01.network.mtu");

    assert!(written["origin"]["line"].is_u64(), "{written:#}");
    assert!(derived["origin"]["inputs"].is_array(), "{derived:#}");
    assert!(default["origin"]["default"].is_string(), "{default:#}");
}

#[test]
fn problems_findings_and_unresolved_secrets_are_valid() {
    let unresolved = GOOD.replace(
        "index: 11,",
        "index: 11, routing: {neighbors: [{address: 10.0.0.1, asn: 65001, password: {env: NONE}}]},",
    );
    let twice = format!("{GOOD}  - {{name: solcp01, role: worker, index: 14}}\n");
    let folder = folder(&[
        ("bad.yaml", "cluster: {nmae: sol}\n"),
        ("twice.yaml", &twice),
        ("even.yaml", &GOOD.replace("  - {name: solcp03", "  # - {name: solcp03")),
        ("unresolved.yaml", &unresolved),
    ]);

    let bad = print(folder.path(), "check bad.yaml");
    let twice = print(folder.path(), "check twice.yaml");
    let even = print(folder.path(), "check even.yaml");
    let unresolved = print(folder.path(), "check unresolved.yaml --resolve");

    assert!(!bad["problems"].as_array().unwrap().is_empty(), "{bad:#}");
    assert!(twice.to_string().contains("\"related\""), "{twice:#}");
    assert!(!even["findings"].as_array().unwrap().is_empty(), "{even:#}");
    assert!(!unresolved["unresolved_secrets"].as_array().unwrap().is_empty(), "{unresolved:#}");
}

#[test]
fn proofs_paths_and_migrations_are_valid() {
    for example in ["metallb", "cilium", "namespace"] {
        let file = format!("examples/{example}/ichor.yaml");
        print(&root(), &format!("prove {file}"));
        print(&root(), &format!("prove {file} --to 192.0.2.1"));
    }
}

#[test]
fn results_for_one_and_for_several_configurations_are_valid() {
    let folder = folder(&[("bad.yaml", "machine: {type: nonsense}\n"), ("bytes.yaml", "a\n")]);

    print(folder.path(), "talos validate bad.yaml --talos v1.13.9");
    print(folder.path(), "talos validate bad.yaml missing.yaml bytes.yaml --talos v1.13.9");
}

#[test]
fn every_schema_is_strict_and_describes_every_key() {
    for name in schema::names() {
        let schema = schema::read(&name);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{name}");
        assert_strict(&name, "", &schema);
    }
}

/// Asserts that objects have no undocumented keys, unless they are maps or values of another program's format.
fn assert_strict(name: &str, path: &str, schema: &Value) {
    match schema {
        Value::Object(map) => {
            if let Some(properties) = map.get("properties").and_then(Value::as_object)
                && !["if", "then"].iter().any(|end| path.ends_with(&format!("/{end}")))
            {
                assert_eq!(map.get("additionalProperties"), Some(&Value::Bool(false)), "{name}{path}");
                for (key, property) in properties {
                    assert!(property["description"].is_string(), "{name}{path}: {key} has no description");
                }
            }
            map.iter().for_each(|(key, value)| assert_strict(name, &format!("{path}/{key}"), value));
        }
        Value::Array(items) => items.iter().for_each(|item| assert_strict(name, path, item)),
        _ => {}
    }
}

#[test]
fn every_schema_is_used_by_a_test() {
    let here = fs::read_to_string(root().join("crates/cli/tests/json/mod.rs")).unwrap();
    let tests = here.split_once("#[test]").unwrap().1;
    for (schema, source, words) in ELSEWHERE {
        let text = fs::read_to_string(root().join(source)).unwrap();
        assert!(text.contains(words), "{source} does not write {schema}: `{words}` not found");
    }
    for name in schema::names() {
        let elsewhere = ELSEWHERE.iter().any(|(schema, ..)| *schema == name);
        let command = COMMANDS.iter().find(|(_, schema)| *schema == name);
        let run_here = command.is_some_and(|(command, _)| {
            let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
            tests.contains(&format!("\"{verb} ")) && tests.contains(rest)
        });
        assert!(elsewhere || run_here, "no test validates docs/schemas/{name}.schema.json");
    }
    let known: BTreeSet<_> = schema::names().into_iter().collect();
    for schema in COMMANDS.iter().map(|(_, schema)| *schema).filter(|schema| *schema != CLUSTER_FILE) {
        assert!(known.contains(schema), "{schema} does not exist");
    }
}

#[test]
fn every_schema_has_a_valid_example() {
    for name in schema::names() {
        let schema = schema::read(&name);
        let examples = schema["examples"].as_array().unwrap_or_else(|| panic!("{name} has no example"));
        assert!(!examples.is_empty(), "{name} has no example");
        for example in examples {
            assert_valid(&name, example);
        }
    }
}
