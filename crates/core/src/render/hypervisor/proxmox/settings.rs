//! The settings of a machine, as `POST /nodes/HOST/qemu` takes them and `qm config` lists them.
//!
//! Disks that do not exist are written as `STORAGE:GIB`, which makes them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::cluster::section::{BootDevice, Machine};
use crate::render::hypervisor::guest::VmDefinition;
use crate::render::hypervisor::medium::{Medium, MediumSource};
use crate::render::hypervisor::shell::quote;
use ichor_values::Arch;

/// Where CDs go: a q35 machine of Proxmox has no other places for two.
pub const DRIVES: [&str; 2] = ["ide2", "ide0"];

/// Every setting but the number, sorted by key as Proxmox lists them.
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
    // A disk that begins as an image has the image's size, until it is made larger.
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
        // Talos brings keys of its own, which firmware takes only while it has none.
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

/// What Proxmox calls an image that a disk begins as.
pub fn import(guest: &VmDefinition<'_>, image: &Medium) -> String {
    match &image.source {
        MediumSource::There(volume) if volume.contains(":import/") => volume.clone(),
        _ => format!("{}:import/{}", guest.vm.iso.value, image.name),
    }
}

/// What Proxmox calls a CD.
pub fn volume(guest: &VmDefinition<'_>, medium: &Medium) -> String {
    match &medium.source {
        MediumSource::There(volume) if volume.contains(":iso/") => volume.clone(),
        _ => format!("{}:iso/{}", guest.vm.iso.value, medium.name),
    }
}

/// What Proxmox calls a type of machines.
pub fn machine(machine: Machine) -> &'static str {
    match machine {
        Machine::Q35 => "q35",
        Machine::I440fx => "pc",
        Machine::Virt => "virt",
    }
}

/// The devices that boot, in order.
pub fn devices(guest: &VmDefinition<'_>) -> Vec<&'static str> {
    let device = |device: &BootDevice| match device {
        BootDevice::Disk => "scsi0",
        BootDevice::Cdrom => DRIVES[0],
        BootDevice::Net => "net0",
    };
    guest.boot.iter().map(device).collect()
}

/// More arguments for QEMU: Proxmox takes them apart as a shell would.
pub fn args(guest: &VmDefinition<'_>) -> String {
    let words: Vec<_> = guest.args.iter().map(|arg| quote(arg)).collect();
    words.join(" ")
}

fn boot(guest: &VmDefinition<'_>) -> String {
    format!("order={}", devices(guest).join(";"))
}

/// A text is written in base64, because it may hold what separates settings.
fn smbios(guest: &VmDefinition<'_>) -> String {
    match &guest.serial {
        Some(serial) => format!("base64=1,serial={},uuid={}", STANDARD.encode(serial), guest.uuid),
        None => format!("uuid={}", guest.uuid),
    }
}
