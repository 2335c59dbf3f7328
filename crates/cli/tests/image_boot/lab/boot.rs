//! Boots every product, with the extension running and a session with the leaf.

use std::fs;

use serde_json::Value;

use super::built::Built;
use super::imager;
use super::rack::{ADDRESS, Firmware, Rack, extension};
use super::release::TALOS_1_13;
use super::vm::direct_boot;

/// Kernel command line of Talos' imager for nocloud, with [`ARGUMENTS`](super::built::ARGUMENTS).
const LINE: &str = "talos.platform=nocloud console=tty1 console=ttyS0 net.ifnames=0 slab_nomerge pti=on consoleblank=0 \
    nvme_core.io_timeout=4294967295 printk.devkmsg=on selinux=1 module.sig_enforce=1 proc_mem.force_override=never \
    mitigations=off nopti no_timer_check talos.dashboard.disabled=1";

/// Boots a machine, waits for its routes, and returns the extensions that Talos reports.
fn boots(rack: &Rack, arguments: &[String]) -> Vec<Value> {
    let vm = rack.boot(arguments);
    let spec = |kind: &str| vm.resources(ADDRESS, kind).into_iter().map(|mut it| it["spec"].take());
    assert_eq!(spec("platformmetadata").next().unwrap()["platform"], "nocloud");
    assert_eq!(spec("hostnamestatus").next().unwrap()["hostname"], "n1");
    let services = vm.resources(ADDRESS, "services");
    let routing = services.iter().find(|it| it["metadata"]["id"] == "ext-frr").unwrap();
    assert_eq!(routing["spec"]["running"], true, "{routing:#}");
    let extensions: Vec<_> = spec("extensions").collect();
    let frr = extensions.iter().find(|it| it["metadata"]["name"] == "frr").unwrap();
    assert!(frr["metadata"]["version"].as_str().unwrap().starts_with("8.4"), "{extensions:#?}");
    extensions
}

#[test]
fn a_node_boots_images_of_ichor_and_of_talos_imager_alike() {
    let (files, rack) = (TALOS_1_13.files(), Rack::new(TALOS_1_13));
    let folder = tempfile::tempdir().unwrap();
    let [initramfs, iso] = ["initramfs.xz", "nocloud.iso"].map(|name| folder.path().join(name));
    imager::initramfs(&files, &extension(), &initramfs);
    imager::iso(&files, TALOS_1_13.version, &initramfs, LINE, &iso);
    let built = Built::new(&files, ".", "nocloud", "netboot");
    let line = fs::read_to_string(built.path(".cmdline")).unwrap();

    let by_imager = boots(&rack, &Firmware::Uefi.cd(&iso));
    let image = |ending: &str| built.path(ending).display().to_string();
    let by_ichor = boots(&rack, &direct_boot(&image(".vmlinuz"), &image(".initramfs.xz"), line.trim()));

    assert_eq!(line.trim(), LINE);
    assert_eq!(by_ichor, by_imager);
}

#[test]
fn a_disk_boots_under_bios_and_uefi() {
    let (files, rack) = (TALOS_1_13.files(), Rack::new(TALOS_1_13));
    let built = Built::new(&files, ".", "nocloud", "disk,qcow2");

    boots(&rack, &Firmware::Bios.disk(&built.path(".raw"), "raw"));
    boots(&rack, &Firmware::Uefi.disk(&built.path(".qcow2"), "qcow2"));
}
