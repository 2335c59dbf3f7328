//! VM definitions: libvirt's documents, Proxmox' settings, Terraform's modules.
//!
//! Tests with libvirt itself need root and `scripts/tools libvirt`.

mod lab;
mod proxmox;
mod terraform;

use std::path::{Path, PathBuf};

use ichor_core::model::Cluster;
use ichor_core::plan::Plan;
use ichor_core::render::artifact::Artifact;
use ichor_core::render::hypervisor;
use ichor_core::render::hypervisor::vm_definition::VmDefinition;

/// The examples and the dedicated cases.
fn cases() -> Vec<PathBuf> {
    ["example", "hypervisor"].into_iter().flat_map(ichor_testbed::group).collect()
}

fn files(case: &Path) -> Vec<Artifact> {
    let (_, plan) = ichor_testbed::planned_case(case, "ichor.yaml");
    hypervisor::render(&plan).unwrap_or_else(|errors| panic!("{}: {errors:#?}", case.display()))
}

/// The files of a text.
fn files_of(text: &str) -> Vec<Artifact> {
    let (_, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));
    hypervisor::render(&plan).unwrap()
}

/// The machines of a cluster.
fn guests<'p>(_: &Cluster, plan: &'p Plan) -> Vec<VmDefinition<'p>> {
    plan.nodes.iter().filter_map(|node| VmDefinition::from_node(plan, node).unwrap()).collect()
}

#[test]
fn the_cases_have_no_errors() {
    for case in ichor_testbed::group("hypervisor") {
        let findings = ichor_testbed::findings_of_case(&case, "ichor.yaml");
        let errors: Vec<_> =
            findings.iter().filter(|it| it.issue.severity == ichor_core::rules::Severity::Error).collect();

        assert!(errors.is_empty(), "{}: {errors:#?}", case.display());
    }
}

#[test]
fn the_dhcp_range_of_a_network_has_no_assigned_address() {
    let files = files_of(
        "cluster: {name: a, id: 1, talos: v1.13.9}\n\
         network: {node: {v4: 10.0.20.0/24, gateway: {v4: 10.0.20.254}}, api: {vip: 10.0.20.200}}\n\
         hypervisors: {h: {libvirt: {network: {bridge: own, nat: 10.0.20.0/24}}}}\n\
         nodes:\n- {name: b, role: controlplane, index: 100, vm: {}}\n- {name: c, index: 199, platform: metal}\n",
    );

    let network = files.iter().find(|file| file.path.ends_with("networks/own.xml")).unwrap().text().unwrap();

    assert!(network.contains(r#"<ip address="10.0.20.254" prefix="24">"#), "{network}");
    assert!(network.contains(r#"<range start="10.0.20.1" end="10.0.20.99"/>"#), "{network}");
    assert!(
        network.contains(r#"name="b" ip="10.0.20.100"/>"#) && !network.contains("name=\"c\""),
        "{network}"
    );
}

/// Every block with the path of a file is that file.
#[test]
fn the_quoted_document_is_the_rendered_one() {
    let path = ichor_testbed::folder("../../../docs/how-to/create-machines.md");
    let text = ichor_testbed::document("how-to/create-machines.md");
    let yaml =
        text.split("```yaml\n").find(|block| block.contains("  nat:")).unwrap().split_once("```").unwrap().0;
    let (from, to) = (yaml.find("  nat:").unwrap(), yaml.find("defaults:").unwrap());
    let proxmox = "  pve: {proxmox: {url: https://pve:8006, token: {env: PVE_TOKEN}}}\n";
    let files = [files_of(yaml), files_of(&yaml.replace(&yaml[from..to], proxmox))].concat();

    let mut want = String::new();
    let mut shown = 0;
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("\n`hypervisors/") {
        let (name, after) = after.split_once("`:\n\n```").unwrap();
        let (kind, after) = after.split_once('\n').unwrap();
        let (_, after) = after.split_once("```\n").unwrap();
        let file = files.iter().find(|file| file.path == format!("hypervisors/{name}")).unwrap();
        want += &format!("{before}\n`hypervisors/{name}`:\n\n```{kind}\n{}```\n", file.text().unwrap());
        rest = after;
        shown += 1;
    }
    want += rest;

    assert_eq!(shown, 3);
    ichor_testbed::assert_same(&path, &want);
}
