//! The settings of a machine, as accepted by `POST /nodes/HOST/qemu` and listed by `qm config`.
//!
//! New disks are written as `STORAGE:GIB`, which creates them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::cluster::section::{BootDevice, Machine};
use crate::render::hypervisor::medium::{Medium, MediumSource};
use crate::render::hypervisor::shell::quote;
use crate::render::hypervisor::vm_definition::VmDefinition;
use ichor_values::Arch;

/// The CD drives: the only two IDE drives of a q35 machine in Proxmox.
pub const DRIVES: [&str; 2] = ["ide2", "ide0"];

/// Every setting except the VM ID, sorted by key as in Proxmox.
pub fn settings(guest: &VmDefinition<'_>) -> Vec<(String, String)> {
    let vm = guest.vm;
    let storage = &vm.storage.value;
    let mut all: Vec<(String, String)> = Vec::new();
    let mut set = |key: &str, value: String| all.push((key.to_owned(), value));
    let flag = |on: bool| if on { "1" } else { "0" }.to_owned();
    set("name", guest.name().to_owned());
    set("ostype", "l26".to_owned());
    set("machine", machine(vm.machine.value).to_owned());
    set("bios", vm.firmware.value.word().to_owned());
    set("cores", vm.cores.value.to_string());
    set("cpu", vm.cpu.value.clone());
    set("memory", guest.memory.to_string());
    set("agent", flag(vm.guest_agent.value));
    set("onboot", flag(vm.on_boot.value));
    set("serial0", "socket".to_owned());
    set("scsihw", "virtio-scsi-single".to_owned());
    // A disk imported from an image has the image's size, until it is resized.
    let disk = match &guest.image {
        Some(image) => format!("{storage}:0,import-from={}", import(guest, image)),
        None => format!("{storage}:{}", guest.disk),
    };
    set("scsi0", format!("{disk},discard=on,iothread=1,ssd=1"));
    set("smbios1", smbios(guest));
    set("boot", boot(guest));
    if guest.node.arch.value == Arch::Arm64 {
        set("arch", guest.architecture().to_owned());
    }
    if guest.is_uefi() {
        // Talos enrols its own keys, which works only if the firmware has none.
        set("efidisk0", format!("{storage}:1,efitype=4m,pre-enrolled-keys=0"));
    }
    if guest.tpm {
        set("tpmstate0", format!("{storage}:1,version=v2.0"));
    }
    for (medium, drive) in guest.media.iter().zip(DRIVES) {
        set(drive, format!("{},media=cdrom", volume(guest, medium)));
    }
    for (nth, mac) in guest.macs.iter().enumerate() {
        let mac = mac.map(|mac| format!("={}", mac.to_string().to_ascii_uppercase())).unwrap_or_default();
        let tag = vm.vlan.as_ref().map(|vlan| format!(",tag={}", vlan.value.0)).unwrap_or_default();
        set(&format!("net{nth}"), format!("{}{mac},bridge={}{tag}", vm.nic.value, vm.bridge.value));
    }
    if let Some(pool) = guest.pool {
        set("pool", pool.to_owned());
    }
    if !guest.tags.is_empty() {
        set("tags", guest.tags.join(";"));
    }
    if !guest.args.is_empty() {
        set("args", args(guest));
    }
    all.sort();
    all
}

/// Proxmox' volume ID of an image to import.
pub fn import(guest: &VmDefinition<'_>, image: &Medium) -> String {
    match &image.source {
        MediumSource::Existing(volume) if volume.contains(":import/") => volume.clone(),
        _ => format!("{}:import/{}", guest.vm.iso.value, image.name),
    }
}

/// Proxmox' volume ID of a CD.
pub fn volume(guest: &VmDefinition<'_>, medium: &Medium) -> String {
    match &medium.source {
        MediumSource::Existing(volume) if volume.contains(":iso/") => volume.clone(),
        _ => format!("{}:iso/{}", guest.vm.iso.value, medium.name),
    }
}

/// Proxmox' name of a machine type.
pub fn machine(machine: Machine) -> &'static str {
    match machine {
        Machine::Q35 => "q35",
        Machine::I440fx => "pc",
        Machine::Virt => "virt",
    }
}

/// The boot devices, in order.
pub fn devices(guest: &VmDefinition<'_>) -> Vec<&'static str> {
    let device = |device: &BootDevice| match device {
        BootDevice::Disk => "scsi0",
        BootDevice::Cdrom => DRIVES[0],
        BootDevice::Net => "net0",
    };
    guest.boot.iter().map(device).collect()
}

/// Additional arguments of QEMU, quoted because Proxmox splits them like a shell.
pub fn args(guest: &VmDefinition<'_>) -> String {
    let words: Vec<_> = guest.args.iter().map(|arg| quote(arg)).collect();
    words.join(" ")
}

fn boot(guest: &VmDefinition<'_>) -> String {
    format!("order={}", devices(guest).join(";"))
}

/// The serial is encoded in base64, because it may contain separators.
fn smbios(guest: &VmDefinition<'_>) -> String {
    match &guest.serial {
        Some(serial) => format!("base64=1,serial={},uuid={}", STANDARD.encode(serial), guest.uuid),
        None => format!("uuid={}", guest.uuid),
    }
}
