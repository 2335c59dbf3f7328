//! Settings for Proxmox, compared with its API.
//!
//! `pve-qemu.json` has the parameters of `POST /nodes/{node}/qemu` that ichor writes and their properties, each from
//! the documentation of Proxmox 9.1.
#![expect(clippy::disallowed_types, reason = "a shell reads the script")]

use std::collections::BTreeSet;
use std::process::Command;

use ichor_core::render::hypervisor::proxmox::settings;
use ichor_core::render::hypervisor::vm_definition::VmDefinition;
use serde_json::Value;

use crate::hypervisor::{cases, files, guests};

const PARAMETERS: &str = include_str!("pve-qemu.json");

/// The Proxmox machines of all cases.
fn each_guest(mut look: impl FnMut(&VmDefinition<'_>)) {
    for case in cases() {
        let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        for guest in guests(&cluster, &plan) {
            let name = &guest.vm.hypervisor.as_ref().unwrap().value;
            let hypervisor = cluster.file.hypervisors.get().unwrap().get(name.as_str()).unwrap();
            if hypervisor.value.proxmox.is_set() {
                look(&guest);
            }
        }
    }
}

/// Why a value of a property is rejected.
fn fault(property: &Value, value: &str) -> Option<String> {
    if let Some(format) = property.get("format").and_then(Value::as_object) {
        return value.split(',').find_map(|part| part_fault(format, part));
    }
    match property["type"].as_str() {
        Some("boolean") if !["0", "1"].contains(&value) => return Some(format!("{value} is no boolean")),
        Some("integer" | "number") => {
            let Ok(number) = value.parse::<i64>() else { return Some(format!("{value} is no number")) };
            let least = property["minimum"].as_i64().unwrap_or(i64::MIN);
            let most = property["maximum"].as_i64().unwrap_or(i64::MAX);
            return (number < least || number > most).then(|| format!("{value} is out of bounds"));
        }
        _ => {}
    }
    if let Some(values) = property["enum"].as_array()
        && !values.iter().any(|known| known == value)
    {
        return Some(format!("{value} is none of {values:?}"));
    }
    let longest = property["maxLength"].as_u64().unwrap_or(u64::MAX);
    (value.len() as u64 > longest).then(|| format!("{value} is too long"))
}

/// `key=value`, or a value of the default key.
fn part_fault(format: &serde_json::Map<String, Value>, part: &str) -> Option<String> {
    let first =
        || format.iter().find(|(_, property)| property["default_key"] == 1).map(|(key, _)| key.as_str());
    let (key, value) = match part.split_once('=') {
        Some(pair) => pair,
        // The model of a port has no key if its MAC address is not set.
        None if first().is_none() => ("model", part),
        None => (first()?, part),
    };
    let Some(property) = format.get(key) else { return Some(format!("there is no {key}")) };
    let property = property["alias"].as_str().map_or(property, |alias| &format[alias]);
    fault(property, value).map(|fault| format!("{key}: {fault}"))
}

#[test]
fn the_api_accepts_every_setting() {
    let parameters: Value = serde_json::from_str(PARAMETERS).unwrap();
    let mut seen = BTreeSet::new();

    each_guest(|guest| {
        for (key, value) in settings(guest) {
            let many = format!("{}[n]", key.trim_end_matches(|letter: char| letter.is_ascii_digit()));
            let property = parameters.get(&key).or_else(|| parameters.get(&many));
            let property = property.unwrap_or_else(|| panic!("{guest}: the API has no {key}"));
            assert_eq!(fault(property, &value), None, "{guest}: {key}: {value}");
            seen.insert(if parameters.get(&key).is_some() { key } else { many });
        }
        if let Some(id) = &guest.vm.id {
            assert_eq!(fault(&parameters["vmid"], &id.value.to_string()), None, "{guest}");
        }
    });

    let all: BTreeSet<_> = parameters.as_object().unwrap().keys().cloned().collect();
    let unseen: Vec<_> = all.difference(&seen).map(String::as_str).collect();
    assert_eq!(unseen, ["arch", "vmid"], "every other parameter is used by a case");
}

#[test]
fn settings_that_the_api_rejects_are_detected() {
    let parameters: Value = serde_json::from_str(PARAMETERS).unwrap();

    let faults = [
        fault(&parameters["net[n]"], "virtio=BC:24:11:00:00:11,bridge=vmbr0,vlan=101"),
        fault(&parameters["bios"], "uefi"),
        fault(&parameters["efidisk0"], "local-lvm:1,efitype=5m"),
        fault(&parameters["onboot"], "true"),
        fault(&parameters["cores"], "0"),
    ];

    assert!(faults.iter().all(Option::is_some), "{faults:#?}");
}

/// The script calls `pvesh` with the settings, each as a single word.
#[test]
fn the_shell_parses_the_script_as_intended() {
    for case in cases() {
        let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        let guests = guests(&cluster, &plan);
        for script in files(&case).iter().filter(|file| file.path.ends_with("/create.sh")) {
            if !script.text().unwrap().contains("pvesh") {
                continue;
            }
            let fake = "pvesh() { if [ \"$1\" = get ]; then echo 999; else printf '%s\\n' \"$@\" .; fi; }\n";
            let output = Command::new("sh")
                .args(["-c", &format!("{fake}{}", script.text().unwrap())])
                .output()
                .unwrap();

            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let said = String::from_utf8(output.stdout).unwrap();
            for call in said.split(".\n").filter(|call| !call.is_empty()) {
                let words: Vec<&str> = call.lines().collect();
                let name = words[words.iter().position(|word| *word == "-name").unwrap() + 1];
                let guest = guests.iter().find(|guest| guest.name() == name).unwrap();
                let host = guest.vm.host.as_ref().map_or("localhost", |host| host.value.as_str());
                let id = guest.vm.id.as_ref().map_or(999, |id| id.value).to_string();
                let mut want =
                    vec!["create".to_owned(), format!("/nodes/{host}/qemu"), "-vmid".to_owned(), id];
                for (key, value) in settings(guest) {
                    want.extend([format!("-{key}"), value]);
                }
                assert_eq!(words, want);
            }
        }
    }
}

/// Both ISOs of seed 000: Talos' own, which boots, and the one with the label `cidata`.
#[test]
fn a_machine_boots_its_disk_first_and_the_iso_while_the_disk_is_empty() {
    let (cluster, plan) =
        ichor_testbed::planned_case(&ichor_testbed::folder("../../../examples/cilium"), "ichor.yaml");
    let all = guests(&cluster, &plan);
    let settings = settings(&all[0]);
    let of = |key: &str| settings.iter().find(|(known, _)| known == key).unwrap().1.as_str();

    assert_eq!(of("boot"), "order=scsi0;ide2");
    assert!(of("ide2").contains("-nocloud-amd64.iso,"), "{}", of("ide2"));
    assert_eq!(of("ide0"), "cephfs:iso/sol_solcp01-cidata.iso,media=cdrom");
}
