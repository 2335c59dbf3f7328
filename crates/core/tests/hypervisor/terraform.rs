//! Modules for Terraform, compared with its providers.
//!
//! `providers.json` has the names of the arguments that ichor writes, each looked up: in bpg/proxmox 0.112.0 and
//! hashicorp/google 6.50.0.

mod lab;

use serde_json::{Map, Value};

use crate::hypervisor::{cases, files, files_of};

const PROVIDERS: &str = include_str!("providers.json");

/// The modules of all cases, with their paths.
fn modules() -> Vec<(String, Value)> {
    let all = cases().into_iter().flat_map(|case| files(&case));
    let modules = all.filter(|file| file.path.ends_with("main.tf.json"));
    modules
        .map(|file| {
            let module = serde_json::from_str(file.text().unwrap()).unwrap();
            (file.path, module)
        })
        .collect()
}

/// The arguments of a block that the provider does not know.
fn unknown(block: &Map<String, Value>, known: &Value, at: &str, found: &mut Vec<String>) {
    for (key, value) in block {
        let at = format!("{at}.{key}");
        match known.get(key) {
            None => found.push(at),
            Some(Value::Null) => {}
            Some(known) => {
                let blocks = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                for block in blocks {
                    match block.as_object() {
                        Some(block) => unknown(block, known, &at, found),
                        None => found.push(format!("{at} is no block")),
                    }
                }
            }
        }
    }
}

/// All strings of a value.
fn texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(values) => values.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

#[test]
fn the_provider_knows_every_argument() {
    let providers: Value = serde_json::from_str(PROVIDERS).unwrap();

    let mut found = Vec::new();
    for (path, module) in modules() {
        for (kind, resources) in module["resource"].as_object().unwrap() {
            for (label, resource) in resources.as_object().unwrap() {
                let at = format!("{path}: {kind}.{label}");
                unknown(resource.as_object().unwrap(), &providers[kind], &at, &mut found);
            }
        }
    }

    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn network_devices_have_every_key_of_the_provider() {
    let providers: Value = serde_json::from_str(PROVIDERS).unwrap();
    let known = providers["proxmox_virtual_environment_vm"]["network_device"].as_object().unwrap();

    for (path, module) in modules() {
        let Some(machines) = module["resource"]["proxmox_virtual_environment_vm"].as_object() else {
            continue;
        };
        for (name, machine) in machines {
            for device in machine["network_device"].as_array().unwrap() {
                let missing: Vec<_> = known.keys().filter(|key| device.get(key.as_str()).is_none()).collect();
                assert!(missing.is_empty(), "{path}: {name}: {missing:?}");
            }
        }
    }
}

#[test]
fn references_name_existing_resources() {
    for (path, module) in modules() {
        let mut all = Vec::new();
        texts(&module, &mut all);
        for text in all {
            let references = text.match_indices("${").filter(|(at, _)| !text[..*at].ends_with('$'));
            for (at, _) in references {
                let inner = text[at + 2..].trim_start_matches("file(\"${");
                let word: Vec<_> =
                    inner.split(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c))).collect();
                let parts: Vec<_> = word[0].split('.').collect();
                let leads = match parts.as_slice() {
                    ["var", name] => module["variable"].get(name).is_some(),
                    ["path", "module"] => true,
                    [kind, label, _] => module["resource"][kind].get(label).is_some(),
                    _ => false,
                };
                assert!(leads, "{path}: {text}");
            }
        }
    }
}

#[test]
fn boot_media_are_a_disk_for_providers_with_one_cd_drive() {
    let (_, module) = modules().into_iter().find(|(path, _)| path == "hypervisors/pve/main.tf.json").unwrap();

    let machine = &module["resource"]["proxmox_virtual_environment_vm"]["solcp01"];

    assert!(machine["cdrom"].is_object(), "{machine:#}");
    assert_eq!(
        machine["disk"][1]["import_from"],
        "${proxmox_virtual_environment_file.sol_solcp01-cidata.id}"
    );
    let file = &module["resource"]["proxmox_virtual_environment_file"]["sol_solcp01-cidata"]["source_file"];
    assert_eq!(file["path"], "${path.module}/../../nodes/solcp01/cidata.iso");
    assert_eq!(file["file_name"], "sol_solcp01-cidata.raw");
}

#[test]
fn the_apis_are_open_only_to_the_sources_in_the_variable() {
    for (path, module) in modules().into_iter().filter(|(path, _)| path.starts_with("clouds/")) {
        let rules = module["resource"]["google_compute_firewall"].as_object().unwrap();

        assert_eq!(rules["apis"]["source_ranges"], "${var.admin_ranges}", "{path}");
        assert_eq!(rules["apis"]["allow"][0]["ports"], serde_json::json!(["50000", "6443"]), "{path}");
        assert!(module["variable"]["admin_ranges"].get("default").is_none(), "{path}");
        assert!(!module.to_string().contains("0.0.0.0/0"), "{path}");
    }
}

#[test]
fn cloud_machines_get_their_configuration_from_its_file() {
    let files = files_of(
        "cluster: {name: a, id: 1, talos: v1.13.9}\nnetwork: {node: {addressing: dhcp}}\n\
         nodes:\n- {name: b, role: controlplane, index: 1, platform: gcp}\n\
         - {name: c, index: 2, platform: gcp, boot: {from: apply}}\n",
    );

    let module: Value = serde_json::from_str(files[0].text().unwrap()).unwrap();
    let instances = &module["resource"]["google_compute_instance"];

    assert_eq!(
        instances["b"]["metadata"]["user-data"],
        "${file(\"${path.module}/../../nodes/b/machine.yaml\")}"
    );
    assert!(instances["c"].get("metadata").is_none());
}
