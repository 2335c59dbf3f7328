//! The network of nodes in Talos' formats: every release accepts it.
#![expect(clippy::disallowed_methods, reason = "the cases are files")]

use std::fs;
use std::path::{Path, PathBuf};

use ichor_core::cluster::load;
use ichor_core::plan::{ConfigStage, Plan};
use ichor_core::render::machine::network::{documents, machine};
use ichor_talos::validate::{Mode, Setting, validate};
use ichor_talos::{document, kind, load as talos, release};
use ichor_values::TalosVersion;
use ichor_values::go_yaml::emit;
use serde_json::{Value, json};

const RELEASES: [&str; 4] = ["v1.11.5", "v1.12.4", "v1.13.9", "v1.14.1"];

fn planned(case: &Path, release: &str) -> Plan {
    ichor_testbed::planned(load(
        "ichor.yaml",
        &mut ichor_testbed::ReleaseFiles(ichor_testbed::FolderFiles(case.to_owned()), release),
    ))
    .1
}

fn cases() -> Vec<PathBuf> {
    ["example", "network"].into_iter().flat_map(ichor_testbed::group).collect()
}

/// The release's objections to values.
fn refused(values: &[Value], talos: &TalosVersion) -> Vec<String> {
    let config = match talos::load_values(values, talos) {
        Ok(config) => config,
        Err(error) => return vec![error.to_string()],
    };
    let issues = validate(&config, Setting { talos, mode: Mode::Cloud });
    // The network is only a part of the document that it belongs to.
    let complete = values[0].get("machine").is_none();
    let concerned = |path: &str| complete || path.starts_with("machine.network");
    issues
        .into_iter()
        .map(|found| found.issue)
        .filter(|issue| concerned(&issue.subject))
        .map(|issue| format!("{}: {}", issue.subject, issue.message))
        .collect()
}

#[test]
fn every_release_accepts_its_network_configuration() {
    let all = cases().into_iter().chain(ichor_testbed::group("plan"));
    for case in all.filter(|case| fs::exists(case.join("ichor.yaml")).unwrap()) {
        for release in RELEASES {
            let plan = planned(&case, release);
            let talos = TalosVersion::parse(release).unwrap();
            assert_eq!(plan.cluster.contract.value, talos);
            for node in &plan.nodes {
                let name = format!("{} {release} {}", case.display(), node.name);
                if release::at_least(&talos, 12) {
                    for stage in [ConfigStage::Boot, ConfigStage::Final] {
                        let documents = documents(node, stage);
                        let known =
                            |value: &Value| kind::find(document::kind(value).unwrap()).unwrap().is_in(&talos);
                        assert!(documents.iter().all(known), "{name}");
                        assert_eq!(refused(&documents, &talos), [""; 0], "{name} {stage:?}");
                    }
                } else {
                    let mut config = machine(node);
                    config["machine"]["type"] = json!(node.role.word());
                    assert_eq!(refused(&[config], &talos), [""; 0], "{name}");
                }
            }
        }
    }
}

#[test]
fn the_yaml_text_has_the_intended_values() {
    for case in cases() {
        let plan = planned(&case, "v1.12.4");
        for node in &plan.nodes {
            let values = documents(node, ConfigStage::Final);

            assert_eq!(document::read(&emit::emit_all(&values)).unwrap(), values, "{}", node.name);
        }
    }
}
