//! A real libvirt accepts every document and keeps its settings.

use ichor_core::cluster::section::{Addressing, BootDevice};
use ichor_core::machines::libvirt::VolumeStore;
use ichor_core::render::artifact::Artifact;
use ichor_core::render::hypervisor::vm_definition::VmDefinition;
use ichor_values::Arch;
use roxmltree::{Document, Node};

use crate::hypervisor::{cases, files, files_of, guests};
use ichor_testbed::lab::{output_text, wait_for};
use ichor_testbed::libvirt::LibvirtHost;

/// Writes a file below `/tmp/made`, for an emulated machine with sparse disks.
fn write(host: &LibvirtHost, file: &Artifact) {
    let folder = file.path.rsplit_once('/').unwrap().0;
    host.0.ask(&format!("mkdir -p /tmp/made/{folder}"));
    let text = file.text().unwrap().replace(r#"<domain type="kvm""#, r#"<domain type="qemu""#);
    let text = text.replace(r#"<cpu mode="host-passthrough"/>"#, r#"<cpu mode="maximum"/>"#);
    let text = text.replace(r#"<capacity unit="GiB">"#, r#"<capacity unit="KiB">"#);
    let connection = text.lines().find_map(|line| line.split_once("--connect ")?.1.split(' ').next());
    let text = match connection {
        Some(uri) => text.replace(uri, "qemu:///system"),
        None => text,
    };
    host.0.write(&format!("/tmp/made/{}", file.path), &text);
}

fn children<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Vec<Node<'a, 'i>> {
    node.children().filter(|child| child.has_tag_name(name)).collect()
}

fn inner<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.descendants().find(|child| child.has_tag_name(name))
}

fn said_in<'a>(node: Node<'a, '_>, name: &str) -> &'a str {
    inner(node, name).and_then(|node| node.text()).unwrap_or_default()
}

/// The boot order, as libvirt reads it.
fn boots(domain: Node<'_, '_>) -> Vec<BootDevice> {
    let ordered =
        domain.descendants().filter(|node| node.has_tag_name("boot") && node.has_attribute("order"));
    let mut ordered: Vec<_> = ordered
        .map(|boot| {
            let device = boot.parent().unwrap();
            let kind = match (device.tag_name().name(), device.attribute("device")) {
                ("disk", Some("cdrom")) => BootDevice::Cdrom,
                ("disk", _) => BootDevice::Disk,
                _ => BootDevice::Net,
            };
            (boot.attribute("order").unwrap().parse::<u8>().unwrap(), kind)
        })
        .collect();
    ordered.sort_unstable_by_key(|(order, _)| *order);
    ordered.into_iter().map(|(_, kind)| kind).collect()
}

/// Compares libvirt's view with the plan.
fn compare(host: &LibvirtHost, guest: &VmDefinition<'_>) {
    let text = host.virsh(&format!("dumpxml {guest}"));
    let document = Document::parse(&text).unwrap();
    let domain = document.root_element();
    let vm = guest.vm;
    let devices = inner(domain, "devices").unwrap();
    let ports = children(devices, "interface");

    assert_eq!(said_in(domain, "uuid"), guest.uuid.to_string());
    assert_eq!(said_in(domain, "vcpu"), vm.cores.value.to_string());
    let memory = vm.memory.value.bytes().div_ceil(1 << 20) << 10;
    assert_eq!(
        (said_in(domain, "memory"), inner(domain, "memory").unwrap().attribute("unit")),
        (memory.to_string().as_str(), Some("KiB"))
    );
    let macs: Vec<_> =
        ports.iter().map(|port| inner(*port, "mac").unwrap().attribute("address").unwrap()).collect();
    let want: Vec<_> =
        guest.node.ports.iter().map(|port| port.mac.as_ref().unwrap().value.to_string()).collect();
    assert_eq!(macs, want, "{guest}");
    for port in &ports {
        let tag = inner(*port, "tag").and_then(|tag| tag.attribute("id")).map(ToOwned::to_owned);
        assert_eq!(tag, vm.vlan.as_ref().map(|vlan| vlan.value.0.to_string()), "{guest}");
        assert_eq!(inner(*port, "model").unwrap().attribute("type"), Some(vm.nic.value.as_str()), "{guest}");
    }
    assert_eq!(boots(domain), vm.boot.value, "{guest}");
    let arch = if guest.node.arch.value == Arch::Amd64 { "x86_64" } else { "aarch64" };
    assert_eq!(inner(domain, "type").unwrap().attribute("arch"), Some(arch), "{guest}");
    let agent = devices.descendants().any(|node| node.attribute("name") == Some("org.qemu.guest_agent.0"));
    assert_eq!(agent, vm.guest_agent.value, "{guest}");
    let autostart = host.virsh(&format!("dominfo {guest}"));
    let on = if vm.on_boot.value { "enable" } else { "disable" };
    assert!(
        autostart.lines().any(|line| line.starts_with("Autostart:") && line.ends_with(on)),
        "{autostart}"
    );
}

/// Compares libvirt's QEMU command with the plan.
fn compare_command(host: &LibvirtHost, guest: &VmDefinition<'_>) {
    let command = host.virsh(&format!("domxml-to-native qemu-argv --domain {guest}"));

    let uefi = command.contains("OVMF_CODE") || command.contains("AAVMF_CODE");
    assert_eq!(uefi, guest.is_uefi(), "{guest}: {command}");
    if guest.is_uefi() && guest.node.arch.value == Arch::Amd64 {
        assert_eq!(
            command.contains(".secboot.fd") || command.contains("OVMF_CODE_4M.ms.fd"),
            guest.secure_boot,
            "{command}"
        );
    }
    if let Some(serial) = &guest.serial {
        assert!(command.contains(&format!("serial={serial}")), "{guest}: {command}");
    }
    for medium in &guest.media {
        assert!(command.contains(&medium.name), "{guest}: {}: {command}", medium.name);
    }
    for arg in &guest.args {
        let bare: String = arg.chars().filter(|letter| !"\"'\\".contains(*letter)).collect();
        let said: String = command.chars().filter(|letter| !"\"'\\".contains(*letter)).collect();
        assert!(said.contains(&bare), "{guest}: {bare}: {command}");
    }
}

#[test]
fn libvirt_accepts_every_document_and_keeps_its_settings() {
    let host = LibvirtHost::start();
    let mut seen = 0;
    for case in cases() {
        let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        let files = files(&case);
        let scripts: Vec<_> = files
            .iter()
            .filter(|file| file.path.ends_with("/create.sh") && file.text().unwrap().contains("virsh"))
            .collect();
        let of_libvirt = |file: &&Artifact| {
            scripts.iter().any(|script| file.path.starts_with(script.path.trim_end_matches("create.sh")))
        };
        files.iter().filter(of_libvirt).for_each(|file| write(&host, file));
        for (folder, schema) in [("domains", "domain"), ("networks", "network"), ("volumes", "storagevol")] {
            let valid = "find /tmp/made -path '*/FOLDER/*.xml' | while read -r file; do virt-xml-validate $file SCHEMA || exit 1; done";
            host.0.ask(&valid.replace("FOLDER", folder).replace("SCHEMA", schema));
        }
        for script in &scripts {
            let path = format!("/tmp/made/{}", script.path);
            host.0.ask(&format!("sh {path} && sh {path}"));
        }
        for guest in guests(&cluster, &plan) {
            let name = guest.vm.hypervisor.as_ref().unwrap().value.as_str();
            if !scripts.iter().any(|script| script.path == format!("hypervisors/{name}/create.sh")) {
                continue;
            }
            for medium in &guest.media {
                host.0.write(&format!("/tmp/isos/{}", medium.name), "");
            }
            host.virsh("pool-refresh isos");
            compare(&host, &guest);
            compare_command(&host, &guest);
            seen += 1;
        }
        host.0.ask("rm -rf /tmp/made");
    }
    assert!(seen >= 8, "{seen}");
}

/// The network leases a machine the address of the file.
#[test]
fn a_nat_network_leases_the_addresses_of_the_file() {
    let host = LibvirtHost::start();
    let case = ichor_testbed::folder("cases/hypervisor-libvirt");
    let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
    let files = files(&case);
    let network = files.iter().find(|file| file.path == "hypervisors/nat/networks/pots-nat.xml").unwrap();
    write(&host, network);

    host.virsh(&format!("net-define /tmp/made/{}", network.path));
    host.virsh("net-start pots-nat");

    let addresses = host.0.ask("ip -brief address show pots-nat");
    assert!(addresses.contains(" 10.0.20.1/24 "), "{addresses}");
    let hosts = host.0.ask("cat /var/lib/libvirt/dnsmasq/pots-nat.hostsfile");
    for guest in guests(&cluster, &plan).iter().filter(|it| it.vm.bridge.value == "pots-nat") {
        let mac = guest.macs[0].unwrap();
        let address = match guest.node.addressing.value {
            Addressing::DhcpThenStatic => "10.0.20.77".to_owned(),
            _ => guest.node.address.v4.as_ref().unwrap().value.addr().to_string(),
        };
        let line = format!("{mac},{address},{guest}\n");
        assert!(hosts.contains(&line), "{line}{hosts}");
    }
    let output = host.0.run("pgrep -a dnsmasq");
    assert!(output.status.success(), "{}", output_text(&output));
}

/// Firmware, boot order, port and network of a running machine: OVMF finds the disk empty and requests an address.
#[test]
fn a_machine_with_an_empty_disk_falls_through_to_network_boot() {
    let host = LibvirtHost::start();
    let files = files_of(
        "cluster: {name: pots, id: 7, talos: v1.13.9, services: [172.20.0.0/16]}\n\
         network: {node: {v4: 10.0.20.0/24, gateway: {v4: 10.0.20.1}}}\n\
         boot: {from: netboot, server: 'https://boot.pots'}\n\
         hypervisors: {nat: {libvirt: {network: {bridge: pots0, nat: 10.0.20.0/24}}}}\n\
         nodes: [{name: pot1, role: controlplane, index: 11, vm: {memory: 1GiB}}]",
    );
    for file in &files {
        write(&host, file);
    }

    host.0.ask("sh /tmp/made/hypervisors/nat/create.sh");
    host.virsh("start pot1");

    let leases = || host.virsh("net-dhcp-leases pots0");
    let leased = || leases().contains("02:00:07:00:0b:00") && leases().contains(" 10.0.20.11/24 ");
    wait_for("the address of pot1", leased, || format!("{}{}", leases(), host.virsh("domstate pot1")));
}

#[test]
fn libvirt_accepts_pools_for_folders_and_volume_groups() {
    let host = LibvirtHost::start();
    for (text, kind, source) in [("/srv/vm & more", "dir", ""), ("/dev/vg-talos", "logical", "vg-talos")] {
        let store = VolumeStore::parse(text);
        host.0.write("/tmp/pool.xml", &store.document().unwrap());

        host.0.ask("virt-xml-validate /tmp/pool.xml storagepool");
        host.virsh("pool-define /tmp/pool.xml");

        let understood = host.virsh(&format!("pool-dumpxml {}", store.pool_name()));
        let document = Document::parse(&understood).unwrap();
        let pool = document.root_element();
        assert_eq!((pool.attribute("type"), said_in(pool, "path")), (Some(kind), text));
        assert_eq!(said_in(inner(pool, "source").unwrap(), "name"), source);
    }
}
