//! The document of a machine: `<domain>`.

use crate::cluster::section::{BootDevice, Machine};
use crate::render::hypervisor::guest::VmDefinition;
use crate::render::xml::XmlElement;

use super::storage;

/// Where the document of a machine goes.
pub fn path(guest: &VmDefinition<'_>) -> String {
    format!("domains/{guest}.xml")
}

/// What a machine's programs run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuMode {
    /// That of the host, through KVM.
    Host,
    /// One that QEMU emulates, where the host has no KVM: slow, and good for trying things out.
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
        .hold(XmlElement::new("name").say(guest))
        .hold(XmlElement::new("uuid").say(guest.uuid))
        .hold(XmlElement::new("memory").with("unit", "MiB").say(guest.memory))
        .hold(XmlElement::new("vcpu").say(guest.vm.cores.value))
        .hold_all(guest.serial.as_deref().map(sysinfo))
        .hold(os(guest))
        .hold(features(guest))
        .hold(cpu(model))
        .hold(XmlElement::new("clock").with("offset", "utc"))
        .hold(XmlElement::new("on_poweroff").say("destroy"))
        .hold(XmlElement::new("on_reboot").say("restart"))
        .hold(XmlElement::new("on_crash").say("restart"))
        .hold(devices(guest, network));
    if guest.args.is_empty() {
        return domain;
    }
    let arg = |arg: &&str| XmlElement::new("qemu:arg").with("value", arg);
    domain.hold(XmlElement::new("qemu:commandline").hold_all(guest.args.iter().map(arg)))
}

fn sysinfo(serial: &str) -> XmlElement {
    let entry = XmlElement::new("entry").with("name", "serial").say(serial);
    XmlElement::new("sysinfo").with("type", "smbios").hold(XmlElement::new("system").hold(entry))
}

/// Firmware is chosen by libvirt among those of the host, by what it can do.
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
        .say("hvm");
    let mut os = XmlElement::new("os");
    if guest.is_uefi() {
        os = os.with("firmware", "efi");
    }
    os = os.hold(kind);
    if guest.is_uefi() {
        let feature = |name: &str, on: bool| {
            XmlElement::new("feature").with("enabled", if on { "yes" } else { "no" }).with("name", name)
        };
        // Talos brings keys of its own, which firmware takes only while it has none.
        let features = [feature("secure-boot", guest.secure_boot), feature("enrolled-keys", false)];
        os = os.hold(XmlElement::new("firmware").hold_all(features));
    }
    os.hold_all(guest.serial.is_some().then(|| XmlElement::new("smbios").with("mode", "sysinfo")))
}

fn features(guest: &VmDefinition<'_>) -> XmlElement {
    let smm = guest.secure_boot && guest.vm.machine.value == Machine::Q35;
    XmlElement::new("features")
        .hold(XmlElement::new("acpi"))
        .hold_all((guest.vm.machine.value != Machine::Virt).then(|| XmlElement::new("apic")))
        .hold_all(smm.then(|| XmlElement::new("smm").with("state", "on")))
}

fn cpu(kind: &str) -> XmlElement {
    let cpu = XmlElement::new("cpu");
    match kind {
        "host" => cpu.with("mode", "host-passthrough"),
        "max" => cpu.with("mode", "maximum"),
        model => cpu.with("mode", "custom").with("match", "exact").hold(XmlElement::new("model").say(model)),
    }
}

fn devices(guest: &VmDefinition<'_>, network: &str) -> XmlElement {
    let pty = |name| XmlElement::new(name).with("type", "pty");
    let agent = guest.vm.guest_agent.value.then(|| {
        let target = XmlElement::new("target").with("type", "virtio").with("name", "org.qemu.guest_agent.0");
        XmlElement::new("channel").with("type", "unix").hold(target)
    });
    let tpm = guest.tpm.then(|| {
        let backend = XmlElement::new("backend").with("type", "emulator").with("version", "2.0");
        // QEMU has the newer interface on x86 only.
        let model = if guest.vm.machine.value == Machine::Virt { "tpm-tis" } else { "tpm-crb" };
        XmlElement::new("tpm").with("model", model).hold(backend)
    });
    let random = XmlElement::new("backend").with("model", "random").say("/dev/urandom");
    XmlElement::new("devices")
        .hold(disk(guest))
        .hold_all(scsi(guest))
        .hold_all(cdroms(guest).map(|(_, drive)| drive))
        .hold_all(ports(guest, network))
        .hold(pty("serial"))
        .hold(pty("console"))
        .hold_all(agent)
        .hold_all(tpm)
        .hold(XmlElement::new("rng").with("model", "virtio").hold(random))
}

/// The place of a device in the order of those that boot.
fn boot(guest: &VmDefinition<'_>, device: BootDevice) -> Option<XmlElement> {
    let nth = guest.boot.iter().position(|boots| *boots == device)?;
    Some(XmlElement::new("boot").with("order", nth + 1))
}

fn disk(guest: &VmDefinition<'_>) -> XmlElement {
    let target = XmlElement::new("target").with("dev", "vda").with("bus", "virtio");
    storage::disk(guest).hold(target).hold_all(boot(guest, BootDevice::Disk))
}

/// Machines for ARM have no other place for a CD.
fn scsi(guest: &VmDefinition<'_>) -> Option<XmlElement> {
    let needed = guest.vm.machine.value == Machine::Virt && !guest.media.is_empty();
    needed.then(|| XmlElement::new("controller").with("type", "scsi").with("model", "virtio-scsi"))
}

/// The drives for a machine's CDs, each by the name of its device.
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
            storage::cdrom(guest, medium).hold(target).hold(XmlElement::new("readonly")).hold_all(order);
        (device, drive)
    })
}

fn ports<'g>(guest: &'g VmDefinition<'_>, network: &'g str) -> impl Iterator<Item = XmlElement> + 'g {
    guest.macs.iter().enumerate().map(move |(nth, mac)| {
        let vlan = guest
            .vm
            .vlan
            .as_ref()
            .map(|vlan| XmlElement::new("vlan").hold(XmlElement::new("tag").with("id", vlan.value.0)));
        let order = (nth == 0).then(|| boot(guest, BootDevice::Net)).flatten();
        XmlElement::new("interface")
            .with("type", "network")
            .hold_all(mac.map(|mac| XmlElement::new("mac").with("address", mac)))
            .hold(XmlElement::new("source").with("network", network))
            .hold_all(vlan)
            .hold(XmlElement::new("model").with("type", &guest.vm.nic.value))
            .hold_all(order)
    })
}
