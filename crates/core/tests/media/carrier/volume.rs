//! Volumes, and the files of nocloud.

use ichor_core::render::boot_media;
use ichor_image::inspect::{BootMedia, BootOutcome, ConfigVolume, Inspection, TargetMachine, inspect};
use ichor_image::oci::MemoryStore;
use ichor_talos::nocloud::Link;

use super::rendered::{Carried, of_case, of_text};

const RELEASES: [&str; 4] = ["v1.11.5", "v1.12.4", "v1.13.9", "v1.14.1"];

/// An image as found, and the result of a release that reads it.
fn inspected(carried: &Carried, name: &str) -> (ConfigVolume, Inspection) {
    let media = BootMedia::of_image(&carried.bytes(name), &mut MemoryStore::default()).unwrap();
    let links =
        carried.node.ports.iter().enumerate().filter_map(|(nth, port)| {
            Some(Link { name: format!("eth{nth}"), mac: port.mac.as_ref()?.value })
        });
    let machine = TargetMachine { talos: carried.node.talos.value.clone(), links: links.collect() };
    let inspection = inspect(&media, &machine).unwrap();
    (media.carriers.into_iter().next().unwrap(), inspection)
}

#[test]
fn every_release_finds_name_network_and_configuration_on_a_cidata_volume() {
    for release in RELEASES {
        for carried in of_case(&ichor_testbed::folder("../../../examples/cilium"), release) {
            let (volume, inspection) = inspected(&carried, "cidata.iso");

            let at = format!("{} {release}", carried.node.name);
            assert_eq!(volume.label.as_deref(), Some("cidata"), "{at}");
            assert_eq!(volume.files["user-data"], carried.boot.as_bytes(), "{at}");
            assert!(inspection.mistakes.is_empty(), "{at}: {:?}", inspection.mistakes);
            assert_eq!(inspection.outcome(), BootOutcome::Maintenance, "{at}");
            assert_eq!(inspection.hostname().as_deref(), Some(carried.node.name.as_str()), "{at}");
            let length = carried.bytes("cidata.iso").len();
            assert!(carried.file("cidata.iso").private && length <= 200 << 10, "{at}: {length} bytes");
        }
    }
}

#[test]
fn a_physical_machine_also_has_a_usb_image() {
    let text = |more: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\nboot: {{from: metal-iso}}\n\
             defaults: {{platform: metal, install: {{disk: /dev/sda}}{more}}}\nnodes: [{{name: a, role: controlplane, index: 1}}]"
        )
    };
    let (real, virtual_one) = (of_text(&text("")), of_text(&text(", vm: {cores: 2}")));

    let volumes = ["metal-iso.iso", "metal-iso.img"].map(|name| inspected(&real, name));

    for (volume, inspection) in volumes {
        assert_eq!(volume.label.as_deref(), Some("metal-iso"));
        assert_eq!(volume.files["config.yaml"], real.boot.as_bytes());
        assert!(inspection.mistakes.is_empty(), "{:?}", inspection.mistakes);
        assert_eq!(inspection.outcome(), BootOutcome::Maintenance);
    }
    assert_eq!(real.names(), ["metal-iso.iso", "metal-iso.img", "schematic.yaml"]);
    assert_eq!(virtual_one.names(), ["metal-iso.iso", "schematic.yaml"]);
    assert!(real.text("schematic.yaml").contains("- talos.config=metal-iso\n"));
}

#[test]
fn a_serial_number_selects_the_folder_on_the_server() {
    let carried = of_text(
        "cluster: {name: a, id: 1, talos: v1.13.9}\nboot: {from: nocloud-net, server: \"https://boot.sol/\"}\n\
         defaults: {platform: nocloud, install: {disk: /dev/sda}}\nnodes: [{name: one, role: controlplane, index: 1}]",
    );

    let serial = carried.text("smbios-serial");

    assert_eq!(serial, "ds=nocloud-net;s=https://boot.sol/nocloud/one/\n");
    assert_eq!(boot_media::serial(&carried.node).as_deref(), Some(serial.trim_end()));
    assert_eq!(carried.text("nocloud/user-data"), carried.boot);
    assert_eq!(carried.text("nocloud/meta-data"), "instance-id: one\nlocal-hostname: one\n");
    assert!(carried.text("nocloud/network-config").starts_with("version: 2\n"));
    assert!(carried.file("nocloud/user-data").private && !carried.file("smbios-serial").private);
}

#[test]
fn boot_media_have_the_expected_file_name() {
    for (from, platform) in [
        ("cidata", "nocloud"),
        ("metal-iso", "metal"),
        ("meta", "metal"),
        ("netboot", "metal"),
        ("nocloud-net", "nocloud"),
        ("embedded", "metal"),
        ("early", "metal"),
        ("inline", "nocloud"),
        ("apply", "metal"),
    ] {
        let carried = of_text(&format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\nboot: {{from: {from}, server: \"https://boot.sol\"}}\n\
             defaults: {{platform: {platform}}}\nnodes: [{{name: a, role: controlplane, index: 1}}]"
        ));

        let names = carried.names();

        let named = boot_media::file_name(&carried.node);
        assert_eq!(named.is_none(), ["netboot", "apply"].contains(&from), "{from}");
        assert!(named.is_none_or(|name| names.contains(&name)), "{from}: {names:?}");
        assert!(names.contains(&"schematic.yaml"), "{from}: {names:?}");
    }
}
