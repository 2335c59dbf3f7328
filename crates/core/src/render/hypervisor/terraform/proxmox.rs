//! A module for a Proxmox cluster, with the provider `bpg/proxmox`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{build_path, label, literal, text};
use crate::plan::ProxmoxPlan;
use crate::render::hypervisor::medium::{Medium, MediumSource};
use crate::render::hypervisor::proxmox::{DRIVES, args, devices, machine, volume};
use crate::render::hypervisor::vm_definition::VmDefinition;

/// Proxmox' default storage, which is local to each host. Others are assumed to be shared.
const OWN: &str = "local";

/// The provider's resource types.
const VM: &str = "proxmox_virtual_environment_vm";
const FILE: &str = "proxmox_virtual_environment_file";
const DOWNLOAD: &str = "proxmox_download_file";

/// Every key of a network device. The provider declares the devices as an attribute that may be written as blocks. In JSON
/// they are the attribute, and an object there must have every key.
const NETWORK_DEVICE: [&str; 11] = [
    "bridge",
    "disconnected",
    "enabled",
    "firewall",
    "mac_address",
    "model",
    "mtu",
    "queues",
    "rate_limit",
    "trunks",
    "vlan_id",
];

/// The host of machines without one in the file.
const HOST: &str = "${var.host}";

/// The module of one cluster's machines.
pub(crate) fn module(proxmox: &ProxmoxPlan, guests: &[&VmDefinition<'_>]) -> String {
    let mut resources = TerraformResources::default();
    for guest in guests {
        resources.add(guest);
    }
    let mut module = json!({
        "//": "Written by ichor. The login comes from PROXMOX_VE_API_TOKEN, or PROXMOX_VE_USERNAME and PROXMOX_VE_PASSWORD.",
        "terraform": {
            "required_version": ">= 1.5",
            "required_providers": {"proxmox": {"source": "bpg/proxmox", "version": ">= 0.111"}},
        },
        "provider": {
            "proxmox": {"endpoint": proxmox.url.as_ref().map(|url| literal(url.value.as_str()))},
        },
        "resource": resources.0,
    });
    if guests.iter().any(|guest| guest.vm.host.is_none()) {
        let description = "Proxmox host that the machines run on";
        module["variable"] = json!({"host": {"type": "string", "description": description}});
    }
    text(&module)
}

/// Resources, by type and label.
#[derive(Default)]
struct TerraformResources(BTreeMap<&'static str, BTreeMap<String, Value>>);

impl TerraformResources {
    fn insert(&mut self, kind: &'static str, label: String, resource: Value) {
        self.0.entry(kind).or_default().insert(label, resource);
    }

    fn add(&mut self, guest: &VmDefinition<'_>) {
        let host = guest.vm.host.as_ref().map_or(HOST, |host| host.value.as_str());
        let mut vm = vm_resource(guest, host);
        let (bootable, config_volumes): (Vec<_>, Vec<_>) =
            guest.media.iter().partition(|medium| medium.boots);
        if let Some(medium) = bootable.first() {
            let file = self.add_boot_iso(guest, medium, host);
            vm.insert("cdrom".to_owned(), json!({"interface": DRIVES[0], "file_id": file}));
        }
        for medium in config_volumes {
            // The provider supports one CD per machine. Talos finds a volume by its label on any disk.
            let file = self.add_config_volume(guest, medium, host);
            let disk = json!({
                "interface": "scsi1",
                "datastore_id": literal(&guest.vm.storage.value),
                "import_from": file,
                "size": 1,
            });
            if let Some(Value::Array(disks)) = vm.get_mut("disk") {
                disks.push(disk);
            }
        }
        self.insert(VM, label(guest.name()), Value::Object(vm));
    }

    /// The boot ISO of a machine; it is downloaded once, to local storage once per host.
    fn add_boot_iso(&mut self, guest: &VmDefinition<'_>, medium: &Medium, host: &str) -> String {
        let MediumSource::Url(url) = &medium.source else { return literal(&volume(guest, medium)) };
        let storage = &guest.vm.iso.value;
        let name = if storage == OWN && host != HOST {
            label(&format!("{host}-{}", medium.name))
        } else {
            label(&medium.name)
        };
        let known = self.0.get(DOWNLOAD).is_some_and(|known| known.contains_key(&name));
        if !known {
            let download = json!({
                "content_type": "iso",
                "datastore_id": literal(storage),
                "node_name": host,
                "url": literal(url),
                "file_name": literal(&medium.name),
                "overwrite": false,
            });
            self.insert(DOWNLOAD, name.clone(), download);
        }
        format!("${{{DOWNLOAD}.{name}.id}}")
    }

    /// The configuration volume, as an image that a disk is imported from.
    fn add_config_volume(&mut self, guest: &VmDefinition<'_>, medium: &Medium, host: &str) -> String {
        let MediumSource::Built(path) = &medium.source else { return literal(&volume(guest, medium)) };
        let image = medium.name.strip_suffix(".iso").unwrap_or(&medium.name);
        let file = json!({
            "content_type": "import",
            "datastore_id": literal(&guest.vm.iso.value),
            "node_name": host,
            "source_file": {"path": build_path(path), "file_name": format!("{image}.raw")},
        });
        let name = label(image);
        self.insert(FILE, name.clone(), file);
        format!("${{{FILE}.{name}.id}}")
    }
}

/// The VM resource without its CDs.
fn vm_resource(guest: &VmDefinition<'_>, host: &str) -> Map<String, Value> {
    let vm = guest.vm;
    let storage = literal(&vm.storage.value);
    let port = |mac: &Option<_>| {
        let mut port: Value = NETWORK_DEVICE.into_iter().map(|key| (key.to_owned(), Value::Null)).collect();
        port["bridge"] = json!(literal(&vm.bridge.value));
        port["model"] = json!(literal(&vm.nic.value));
        if let Some(mac) = mac {
            port["mac_address"] = json!(ToString::to_string(mac).to_ascii_uppercase());
        }
        if let Some(vlan) = &vm.vlan {
            port["vlan_id"] = json!(vlan.value.0);
        }
        port
    };
    let mut smbios = json!({"uuid": guest.uuid.to_string()});
    if let Some(serial) = &guest.serial {
        smbios["serial"] = json!(literal(serial));
    }
    let mut resource = Map::new();
    let mut set = |key: &str, value: Value| resource.insert(key.to_owned(), value);
    set("name", json!(guest.name()));
    set("node_name", json!(host));
    set("machine", json!(machine(vm.machine.value)));
    set("bios", json!(vm.firmware.value.word()));
    set(
        "cpu",
        json!({"architecture": guest.architecture(), "cores": vm.cores.value, "type": literal(&vm.cpu.value)}),
    );
    set("memory", json!({"dedicated": guest.memory}));
    // Talos runs the agent only after it is configured, possibly after Terraform finishes.
    set("agent", json!({"enabled": vm.guest_agent.value, "wait_for_ip": {"disabled": true}}));
    set("on_boot", json!(vm.on_boot.value));
    set("operating_system", json!({"type": "l26"}));
    set("serial_device", json!([{"device": "socket"}]));
    set("scsi_hardware", json!("virtio-scsi-single"));
    set(
        "disk",
        json!([{
            "interface": "scsi0",
            "datastore_id": storage,
            "size": guest.disk,
            "discard": "on",
            "iothread": true,
            "ssd": true,
        }]),
    );
    set("network_device", guest.macs.iter().map(port).collect());
    set("smbios", smbios);
    set("boot_order", json!(devices(guest)));
    // A machine without the agent does not shut down on request.
    set("stop_on_destroy", json!(true));
    if let Some(id) = &vm.id {
        set("vm_id", json!(id.value));
    }
    if guest.is_uefi() {
        set("efi_disk", json!({"datastore_id": storage, "type": "4m", "pre_enrolled_keys": false}));
    }
    if guest.tpm {
        set("tpm_state", json!({"datastore_id": storage, "version": "v2.0"}));
    }
    if let Some(pool) = guest.pool {
        set("pool_id", json!(literal(pool)));
    }
    if !guest.tags.is_empty() {
        set("tags", json!(guest.tags));
    }
    if !guest.args.is_empty() {
        set("kvm_arguments", json!(literal(&args(guest))));
    }
    resource
}
