//! Domain documents: `<domain>`.

use crate::cluster::section::{BootDevice, Machine};
use crate::render::hypervisor::vm_definition::VmDefinition;
use crate::render::xml::XmlElement;

use super::storage;

/// The path of a machine's document.
pub fn path(guest: &VmDefinition<'_>) -> String {
    format!("domains/{guest}.xml")
}

/// CPU mode of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuMode {
    /// The host's CPU, with KVM.
    Host,
    /// Emulated by QEMU, for hosts without KVM: slow, for tests only.
    Emulated,
}

/// The document of a machine whose ports are in `network`.
pub fn document(guest: &VmDefinition<'_>, network: &str, processor: CpuMode) -> XmlElement {
    let (kind, model) = match processor {
        CpuMode::Host => ("kvm", guest.vm.cpu.value.as_str()),
        CpuMode::Emulated => ("qemu", "max"),
    };
    let mut domain = XmlElement::new("domain").with("type", kind);
    if !guest.args.is_empty() {
        domain = domain.with("xmlns:qemu", "http://libvirt.org/schemas/domain/qemu/1.0");
    }
    domain = domain
        .child(XmlElement::new("name").text(guest))
        .child(XmlElement::new("uuid").text(guest.uuid))
        .child(XmlElement::new("memory").with("unit", "MiB").text(guest.memory))
        .child(XmlElement::new("vcpu").text(guest.vm.cores.value))
        .children(guest.serial.as_deref().map(sysinfo))
        .child(os(guest))
        .child(features(guest))
        .child(cpu(model))
        .child(XmlElement::new("clock").with("offset", "utc"))
        .child(XmlElement::new("on_poweroff").text("destroy"))
        .child(XmlElement::new("on_reboot").text("restart"))
        .child(XmlElement::new("on_crash").text("restart"))
        .child(devices(guest, network));
    if guest.args.is_empty() {
        return domain;
    }
    let arg = |arg: &&str| XmlElement::new("qemu:arg").with("value", arg);
    domain.child(XmlElement::new("qemu:commandline").children(guest.args.iter().map(arg)))
}

fn sysinfo(serial: &str) -> XmlElement {
    let entry = XmlElement::new("entry").with("name", "serial").text(serial);
    XmlElement::new("sysinfo").with("type", "smbios").child(XmlElement::new("system").child(entry))
}

/// Firmware and boot settings; libvirt selects the host's firmware by feature.
fn os(guest: &VmDefinition<'_>) -> XmlElement {
    let kind = XmlElement::new("type")
        .with("arch", guest.architecture())
        .with(
            "machine",
            match guest.vm.machine.value {
                Machine::Q35 => "q35",
                Machine::I440fx => "pc",
                Machine::Virt => "virt",
            },
        )
        .text("hvm");
    let mut os = XmlElement::new("os");
    if guest.is_uefi() {
        os = os.with("firmware", "efi");
    }
    os = os.child(kind);
    if guest.is_uefi() {
        let feature = |name: &str, on: bool| {
            XmlElement::new("feature").with("enabled", if on { "yes" } else { "no" }).with("name", name)
        };
        // Talos enrols its own keys, which works only if the firmware has none.
        let features = [feature("secure-boot", guest.secure_boot), feature("enrolled-keys", false)];
        os = os.child(XmlElement::new("firmware").children(features));
    }
    os.children(guest.serial.is_some().then(|| XmlElement::new("smbios").with("mode", "sysinfo")))
}

fn features(guest: &VmDefinition<'_>) -> XmlElement {
    let smm = guest.secure_boot && guest.vm.machine.value == Machine::Q35;
    XmlElement::new("features")
        .child(XmlElement::new("acpi"))
        .children((guest.vm.machine.value != Machine::Virt).then(|| XmlElement::new("apic")))
        .children(smm.then(|| XmlElement::new("smm").with("state", "on")))
}

fn cpu(kind: &str) -> XmlElement {
    let cpu = XmlElement::new("cpu");
    match kind {
        "host" => cpu.with("mode", "host-passthrough"),
        "max" => cpu.with("mode", "maximum"),
        model => {
            cpu.with("mode", "custom").with("match", "exact").child(XmlElement::new("model").text(model))
        }
    }
}

fn devices(guest: &VmDefinition<'_>, network: &str) -> XmlElement {
    let pty = |name| XmlElement::new(name).with("type", "pty");
    let agent = guest.vm.guest_agent.value.then(|| {
        let target = XmlElement::new("target").with("type", "virtio").with("name", "org.qemu.guest_agent.0");
        XmlElement::new("channel").with("type", "unix").child(target)
    });
    let tpm = guest.tpm.then(|| {
        let backend = XmlElement::new("backend").with("type", "emulator").with("version", "2.0");
        // QEMU supports CRB on x86 only.
        let model = if guest.vm.machine.value == Machine::Virt { "tpm-tis" } else { "tpm-crb" };
        XmlElement::new("tpm").with("model", model).child(backend)
    });
    let random = XmlElement::new("backend").with("model", "random").text("/dev/urandom");
    XmlElement::new("devices")
        .child(disk(guest))
        .children(scsi(guest))
        .children(cdroms(guest).map(|(_, drive)| drive))
        .children(ports(guest, network))
        .child(pty("serial"))
        .child(pty("console"))
        .children(agent)
        .children(tpm)
        .child(XmlElement::new("rng").with("model", "virtio").child(random))
}

/// The position of a device in the boot order.
fn boot(guest: &VmDefinition<'_>, device: BootDevice) -> Option<XmlElement> {
    let nth = guest.boot.iter().position(|boots| *boots == device)?;
    Some(XmlElement::new("boot").with("order", nth + 1))
}

fn disk(guest: &VmDefinition<'_>) -> XmlElement {
    let target = XmlElement::new("target").with("dev", "vda").with("bus", "virtio");
    storage::disk(guest).child(target).children(boot(guest, BootDevice::Disk))
}

/// The SCSI controller, the only bus for CDs on ARM machines.
fn scsi(guest: &VmDefinition<'_>) -> Option<XmlElement> {
    let needed = guest.vm.machine.value == Machine::Virt && !guest.media.is_empty();
    needed.then(|| XmlElement::new("controller").with("type", "scsi").with("model", "virtio-scsi"))
}

/// The CD drives of a machine, each with its device name.
pub(crate) fn cdroms<'g>(guest: &'g VmDefinition<'_>) -> impl Iterator<Item = (String, XmlElement)> + 'g {
    let (bus, prefix) = match guest.vm.machine.value {
        Machine::Q35 => ("sata", "sd"),
        Machine::I440fx => ("ide", "hd"),
        Machine::Virt => ("scsi", "sd"),
    };
    guest.media.iter().zip('a'..='z').map(move |(medium, letter)| {
        let device = format!("{prefix}{letter}");
        let target = XmlElement::new("target").with("dev", &device).with("bus", bus);
        let order = medium.boots.then(|| boot(guest, BootDevice::Cdrom)).flatten();
        let drive =
            storage::cdrom(guest, medium).child(target).child(XmlElement::new("readonly")).children(order);
        (device, drive)
    })
}

fn ports<'g>(guest: &'g VmDefinition<'_>, network: &'g str) -> impl Iterator<Item = XmlElement> + 'g {
    guest.macs.iter().enumerate().map(move |(nth, mac)| {
        let vlan = guest
            .vm
            .vlan
            .as_ref()
            .map(|vlan| XmlElement::new("vlan").child(XmlElement::new("tag").with("id", vlan.value.0)));
        let order = (nth == 0).then(|| boot(guest, BootDevice::Net)).flatten();
        XmlElement::new("interface")
            .with("type", "network")
            .children(mac.map(|mac| XmlElement::new("mac").with("address", mac)))
            .child(XmlElement::new("source").with("network", network))
            .children(vlan)
            .child(XmlElement::new("model").with("type", &guest.vm.nic.value))
            .children(order)
    })
}
