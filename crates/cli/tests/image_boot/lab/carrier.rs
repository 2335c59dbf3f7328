//! Real Talos boots from each source of a first configuration into the state that `ichor media inspect` predicts.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::release::{TALOS_1_13, TALOS_1_14, TalosRelease};
use super::site::{ADDRESS, SERVER, Site};
use super::vm::{TalosVm, cd};

/// What a machine boots from, beside kernel and initramfs.
struct BootSetup {
    /// The media to inspect.
    media: PathBuf,
    command_line: String,
    more: Vec<String>,
}

/// Builds, predicts, boots and compares.
fn boots_as_predicted(
    release: TalosRelease,
    (platform, source): (&str, &str),
    set_up: impl FnOnce(&Site) -> BootSetup,
) {
    let site = Site::new(release, platform, source);
    let BootSetup { media, command_line, more } = set_up(&site);
    let predicted = site.predict(&media);
    assert_eq!(predicted["outcome"], "maintenance", "{predicted:#}");

    let mut vm = site.boot(&command_line, &more);
    vm.wait_for_maintenance(ADDRESS);

    compare(&predicted, &mut vm);
    let found = site.discover();
    let machine = found.as_array().map_or(&found["machines"][0], |machines| &machines[0]);
    assert_eq!(machine["state"], "maintenance", "{found:#}");
}

/// Compares every predicted key with the node's resources.
fn compare(predicted: &Value, vm: &mut TalosVm<'_>) {
    let spec = |vm: &TalosVm<'_>, kind: &str| vm.resources(ADDRESS, kind)[0]["spec"].clone();
    assert_eq!(spec(vm, "platformmetadata")["platform"], predicted["platform"]);
    assert_eq!(spec(vm, "hostnamestatus")["hostname"], predicted["hostname"], "{predicted:#}");
    assert_eq!(spec(vm, "resolverstatus")["dnsServers"], serde_json::json!([SERVER]));
    let arguments = spec(vm, "kernelcmdline")["cmdline"].as_str().unwrap().to_owned();
    let shown = predicted["kernel_arguments"].as_array().into_iter().flatten();
    for argument in
        shown.map(|argument| argument.as_str().unwrap()).filter(|argument| !argument.contains("***"))
    {
        assert!(arguments.split(' ').any(|found| found == argument), "{argument}: {arguments}");
    }

    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let wanted = predicted["addresses"].as_array().unwrap().iter();
    let wanted: BTreeSet<_> = wanted.map(|it| (text(&it["interface"]), text(&it["address"]))).collect();
    assert!(wanted.len() >= 2, "{predicted:#}");
    let addresses = |vm: &TalosVm<'_>| -> BTreeSet<_> {
        let all = vm.resources(ADDRESS, "addresses").into_iter();
        let all = all.map(|it| (text(&it["spec"]["linkName"]), text(&it["spec"]["address"])));
        all.filter(|(_, address)| {
            !["127.0.0.1/8", "::1/128"].contains(&address.as_str()) && !address.starts_with("fe80:")
        })
        .collect()
    };
    // Duplicate address detection delays those of IPv6.
    vm.wait_until(
        "the predicted addresses",
        |vm| addresses(vm) == wanted,
        |vm| format!("{:?} instead of {wanted:?}", addresses(vm)),
    );
}

/// A CD with the configuration.
fn volume(name: &'static str) -> impl FnOnce(&Site) -> BootSetup {
    move |site| {
        let media = site.node_file(name);
        BootSetup { more: cd(media.to_str().unwrap()), command_line: site.command_line(), media }
    }
}

/// The image, which has everything.
fn image(site: &Site) -> BootSetup {
    BootSetup { media: site.image(), command_line: site.command_line(), more: Vec::new() }
}

/// The kernel command line that `ichor build` writes.
fn command_line(site: &Site) -> BootSetup {
    let media = site.node_file("cmdline");
    let command_line = fs::read_to_string(&media).unwrap().trim().to_owned();
    BootSetup { media, command_line, more: Vec::new() }
}

#[test]
fn talos_1_14_boots_from_a_cidata_volume() {
    boots_as_predicted(TALOS_1_14, ("nocloud", "cidata"), volume("cidata.iso"));
}

#[test]
fn talos_1_14_boots_from_a_metal_iso_volume() {
    boots_as_predicted(TALOS_1_14, ("metal", "metal-iso"), volume("metal-iso.iso"));
}

#[test]
fn talos_1_14_boots_with_a_network_in_meta() {
    boots_as_predicted(TALOS_1_14, ("metal", "meta"), image);
}

#[test]
fn talos_1_13_boots_with_a_network_in_meta() {
    boots_as_predicted(TALOS_1_13, ("metal", "meta"), image);
}

#[test]
fn talos_1_14_boots_with_an_embedded_configuration() {
    boots_as_predicted(TALOS_1_14, ("metal", "embedded"), image);
}

#[test]
fn talos_1_13_boots_with_an_embedded_configuration() {
    boots_as_predicted(TALOS_1_13, ("metal", "embedded"), image);
}

#[test]
fn talos_1_14_boots_with_an_early_configuration() {
    boots_as_predicted(TALOS_1_14, ("metal", "early"), command_line);
}

#[test]
fn talos_1_14_boots_with_an_inline_configuration() {
    boots_as_predicted(TALOS_1_14, ("metal", "inline"), command_line);
}

#[test]
fn talos_1_14_boots_with_a_server_in_its_smbios_serial() {
    boots_as_predicted(TALOS_1_14, ("nocloud", "nocloud-net, server: \"http://10.12.1.254\""), |site| {
        let serial = fs::read_to_string(site.node_file("smbios-serial")).unwrap();
        // The server has the files of every node at the path that the serial names.
        let path = serial.trim().rsplit_once(SERVER).unwrap().1;
        let files = fs::read_dir(site.node_file("nocloud")).unwrap().map(|file| file.unwrap());
        let files = files.map(|file| (format!("{path}{}", file.file_name().display()), file.path()));
        site.serve(&files.collect::<Vec<_>>());
        BootSetup {
            media: site.node_file("nocloud"),
            command_line: site.command_line(),
            more: ["-smbios".to_owned(), format!("type=1,serial={}", serial.trim())].to_vec(),
        }
    });
}

#[test]
fn talos_1_14_boots_with_a_configuration_from_a_web_server() {
    boots_as_predicted(TALOS_1_14, ("metal", "netboot, server: \"http://10.12.1.254\""), |site| {
        // A volume with the same document, because the contents of a server are unknown to the inspection.
        let media = site.folder().join("volume");
        fs::create_dir(&media).unwrap();
        fs::copy(site.node_file("boot.yaml"), media.join("config.yaml")).unwrap();
        site.serve(&[("n1.yaml".to_owned(), media.join("config.yaml"))]);
        let line = format!("{} talos.config=http://{SERVER}/n1.yaml", site.command_line());
        BootSetup { media, command_line: line, more: Vec::new() }
    });
}
