//! The document of a machine: `<domain>`.

use crate::cluster::section::{BootDevice, Machine};
use crate::render::hypervisor::guest::Guest;
use crate::render::xml::Element;

use super::storage;

/// Where the document of a machine goes.
pub fn path(guest: &Guest<'_>) -> String {
    format!("domains/{guest}.xml")
}

/// What a machine's programs run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// That of the host, through KVM.
    Host,
    /// One that QEMU emulates, where the host has no KVM: slow, and good for trying things out.
    Emulated,
}

/// The document of a machine whose ports are in `network`.
pub fn document(guest: &Guest<'_>, network: &str, processor: Processor) -> Element {
    let (kind, model) = match processor {
        Processor::Host => ("kvm", guest.vm.cpu.value.as_str()),
        Processor::Emulated => ("qemu", "max"),
    };
    let mut domain = Element::new("domain").with("type", kind);
    if !guest.args.is_empty() {
        domain = domain.with("xmlns:qemu", "http://libvirt.org/schemas/domain/qemu/1.0");
    }
    domain = domain
        .hold(Element::new("name").say(guest))
        .hold(Element::new("uuid").say(guest.uuid))
        .hold(Element::new("memory").with("unit", "MiB").say(guest.memory))
        .hold(Element::new("vcpu").say(guest.vm.cores.value))
        .hold_all(guest.serial.as_deref().map(sysinfo))
        .hold(os(guest))
        .hold(features(guest))
        .hold(cpu(model))
        .hold(Element::new("clock").with("offset", "utc"))
        .hold(Element::new("on_poweroff").say("destroy"))
        .hold(Element::new("on_reboot").say("restart"))
        .hold(Element::new("on_crash").say("restart"))
        .hold(devices(guest, network));
    if guest.args.is_empty() {
        return domain;
    }
    let arg = |arg: &&str| Element::new("qemu:arg").with("value", arg);
    domain.hold(Element::new("qemu:commandline").hold_all(guest.args.iter().map(arg)))
}

fn sysinfo(serial: &str) -> Element {
    let entry = Element::new("entry").with("name", "serial").say(serial);
    Element::new("sysinfo").with("type", "smbios").hold(Element::new("system").hold(entry))
}

/// Firmware is chosen by libvirt among those of the host, by what it can do.
fn os(guest: &Guest<'_>) -> Element {
    let kind = Element::new("type")
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
    let mut os = Element::new("os");
    if guest.is_uefi() {
        os = os.with("firmware", "efi");
    }
    os = os.hold(kind);
    if guest.is_uefi() {
        let feature = |name: &str, on: bool| {
            Element::new("feature").with("enabled", if on { "yes" } else { "no" }).with("name", name)
        };
        // Talos brings keys of its own, which firmware takes only while it has none.
        let features = [feature("secure-boot", guest.secure_boot), feature("enrolled-keys", false)];
        os = os.hold(Element::new("firmware").hold_all(features));
    }
    os.hold_all(guest.serial.is_some().then(|| Element::new("smbios").with("mode", "sysinfo")))
}

fn features(guest: &Guest<'_>) -> Element {
    let smm = guest.secure_boot && guest.vm.machine.value == Machine::Q35;
    Element::new("features")
        .hold(Element::new("acpi"))
        .hold_all((guest.vm.machine.value != Machine::Virt).then(|| Element::new("apic")))
        .hold_all(smm.then(|| Element::new("smm").with("state", "on")))
}

fn cpu(kind: &str) -> Element {
    let cpu = Element::new("cpu");
    match kind {
        "host" => cpu.with("mode", "host-passthrough"),
        "max" => cpu.with("mode", "maximum"),
        model => cpu.with("mode", "custom").with("match", "exact").hold(Element::new("model").say(model)),
    }
}

fn devices(guest: &Guest<'_>, network: &str) -> Element {
    let pty = |name| Element::new(name).with("type", "pty");
    let agent = guest.vm.guest_agent.value.then(|| {
        let target = Element::new("target").with("type", "virtio").with("name", "org.qemu.guest_agent.0");
        Element::new("channel").with("type", "unix").hold(target)
    });
    let tpm = guest.tpm.then(|| {
        let backend = Element::new("backend").with("type", "emulator").with("version", "2.0");
        // QEMU has the newer interface on x86 only.
        let model = if guest.vm.machine.value == Machine::Virt { "tpm-tis" } else { "tpm-crb" };
        Element::new("tpm").with("model", model).hold(backend)
    });
    let random = Element::new("backend").with("model", "random").say("/dev/urandom");
    Element::new("devices")
        .hold(disk(guest))
        .hold_all(scsi(guest))
        .hold_all(cdroms(guest).map(|(_, drive)| drive))
        .hold_all(ports(guest, network))
        .hold(pty("serial"))
        .hold(pty("console"))
        .hold_all(agent)
        .hold_all(tpm)
        .hold(Element::new("rng").with("model", "virtio").hold(random))
}

/// The place of a device in the order of those that boot.
fn boot(guest: &Guest<'_>, device: BootDevice) -> Option<Element> {
    let nth = guest.boot.iter().position(|boots| *boots == device)?;
    Some(Element::new("boot").with("order", nth + 1))
}

fn disk(guest: &Guest<'_>) -> Element {
    let target = Element::new("target").with("dev", "vda").with("bus", "virtio");
    storage::disk(guest).hold(target).hold_all(boot(guest, BootDevice::Disk))
}

/// Machines for ARM have no other place for a CD.
fn scsi(guest: &Guest<'_>) -> Option<Element> {
    let needed = guest.vm.machine.value == Machine::Virt && !guest.media.is_empty();
    needed.then(|| Element::new("controller").with("type", "scsi").with("model", "virtio-scsi"))
}

/// The drives for a machine's CDs, each by the name of its device.
pub(crate) fn cdroms<'g>(guest: &'g Guest<'_>) -> impl Iterator<Item = (String, Element)> + 'g {
    let (bus, prefix) = match guest.vm.machine.value {
        Machine::Q35 => ("sata", "sd"),
        Machine::I440fx => ("ide", "hd"),
        Machine::Virt => ("scsi", "sd"),
    };
    guest.media.iter().zip('a'..='z').map(move |(medium, letter)| {
        let device = format!("{prefix}{letter}");
        let target = Element::new("target").with("dev", &device).with("bus", bus);
        let order = medium.boots.then(|| boot(guest, BootDevice::Cdrom)).flatten();
        let drive = storage::cdrom(guest, medium).hold(target).hold(Element::new("readonly")).hold_all(order);
        (device, drive)
    })
}

fn ports<'g>(guest: &'g Guest<'_>, network: &'g str) -> impl Iterator<Item = Element> + 'g {
    guest.macs.iter().enumerate().map(move |(nth, mac)| {
        let vlan = guest
            .vm
            .vlan
            .as_ref()
            .map(|vlan| Element::new("vlan").hold(Element::new("tag").with("id", vlan.value.0)));
        let order = (nth == 0).then(|| boot(guest, BootDevice::Net)).flatten();
        Element::new("interface")
            .with("type", "network")
            .hold_all(mac.map(|mac| Element::new("mac").with("address", mac)))
            .hold(Element::new("source").with("network", network))
            .hold_all(vlan)
            .hold(Element::new("model").with("type", &guest.vm.nic.value))
            .hold_all(order)
    })
}
