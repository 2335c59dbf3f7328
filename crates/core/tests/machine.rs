//! Complete configurations of nodes: Talos accepts them, and they have no forbidden contents.

use std::path::{Path, PathBuf};

use ichor_core::cluster::section::Role;
use ichor_core::plan::NodePlan;
use ichor_values::Issue;
use ichor_values::go_yaml::emit::emit_all;

const RELEASES: [&str; 4] = ["v1.11.5", "v1.12.4", "v1.13.9", "v1.14.1"];

fn cases() -> Vec<PathBuf> {
    ["example", "machine", "network"].into_iter().flat_map(ichor_testbed::group).collect()
}

/// A node: its name, its role, and its configurations before and after the installation.
type Node = (String, Role, String, String);

/// Every node of a case.
fn rendered(case: &Path, release: &str) -> Result<Vec<Node>, Vec<Issue>> {
    let mut files = ichor_testbed::ReleaseFiles(ichor_testbed::FolderFiles(case.to_owned()), release);
    ichor_testbed::machine::of_files(&mut files, |renderer, plan| {
        let one = |node: &NodePlan| {
            let (boot, machine) = (renderer.boot(node)?, renderer.machine(node)?);
            let warnings = &machine.warnings;
            assert!(warnings.is_empty(), "{} {release} {}: {warnings:?}", case.display(), node.name);
            Ok((node.name.to_string(), node.role, emit_all(&boot.documents), emit_all(&machine.documents)))
        };
        plan.nodes.iter().map(one).collect()
    })
}

#[test]
fn talos_accepts_the_configurations_of_every_example() {
    for case in cases() {
        for release in RELEASES {
            let rendered = rendered(&case, release);
            let rendered =
                rendered.unwrap_or_else(|errors| panic!("{} {release}: {errors:#?}", case.display()));
            assert!(!rendered.is_empty());
        }
    }
}

#[test]
fn the_first_configuration_has_no_cluster_secret() {
    let bundle = ichor_testbed::machine::bundle();
    let token = bundle.trustd_token.as_str();
    for case in cases() {
        for release in RELEASES {
            for (name, _, boot, machine) in rendered(&case, release).unwrap() {
                assert!(machine.contains(token), "{name}");
                assert!(!boot.contains(token) && !boot.contains("a-secret-of-the-file"), "{name}");
                assert!(
                    !boot.contains("machine:") && !boot.contains("cluster:"),
                    "{name}: documents alone\n{boot}"
                );
            }
        }
    }
}

#[test]
fn a_worker_has_no_key_of_the_cluster() {
    let bundle = ichor_testbed::machine::bundle();
    let keys = bundle.entries().map(|(_, _, key)| key.base64());
    for case in cases() {
        for (name, role, _, machine) in rendered(&case, RELEASES[2]).unwrap() {
            let holds = keys.iter().any(|key| machine.contains(key.as_str()));
            assert_eq!(holds, role == Role::Controlplane, "{name}");
        }
    }
}

#[test]
fn the_agent_is_configured_before_and_after_the_installation() {
    for release in RELEASES {
        for (name, _, boot, machine) in
            rendered(&ichor_testbed::folder("../../../examples/metallb"), release).unwrap()
        {
            for text in [boot, machine] {
                let (_, service) = text.split_once("kind: ExtensionServiceConfig\nname: frr\n").unwrap();
                assert!(
                    service.contains("mountPath: /usr/local/etc/frr/agent.json"),
                    "{name} {release}: {service}"
                );
                assert!(service.contains("\"asn\": 650"), "{name} {release}: {service}");
            }
        }
    }
}

/// The first configuration of the only node of a text, or why it cannot be rendered.
fn boot_of(text: &str) -> String {
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));
    let boot = ichor_testbed::machine::rendered(&cluster, &plan, |renderer| renderer.boot(&plan.nodes[0]));
    boot.map_or_else(|errors| errors.to_string(), |rendered| emit_all(&rendered.documents))
}

#[test]
fn the_first_configuration_has_the_session_password() {
    let boot = boot_of(
        "cluster: {name: a, id: 1, talos: v1.13.9, endpoint: \"https://10.1.0.1:6443\"}\n\
         routing: {backend: frr, service: bgp, neighbors: [{link: eth0, password: {env: PW}}]}\n\
         nodes: [{name: a, role: controlplane, index: 1}]",
    );

    assert!(boot.contains("name: bgp\n") && boot.contains("\"a-secret-of-the-file\""), "{boot}");
}
