//! Boots every product, with the extension running and a session with the leaf.

use std::fs;

use super::built::Built;
use super::imager;
use super::parts::Parts;
use super::rack::{Firmware, Rack, extension, netboot};

/// Kernel command line of Talos' imager for nocloud, with [`ARGUMENTS`](super::built::ARGUMENTS).
const LINE: &str = "talos.platform=nocloud console=tty1 console=ttyS0 net.ifnames=0 slab_nomerge consoleblank=0 \
    nvme_core.io_timeout=4294967295 printk.devkmsg=on selinux=1 module.sig_enforce=1 proc_mem.force_override=never \
    mitigations=off no_timer_check";

/// Boots a machine, waits for its routes, and returns the layers of its extensions and their file tree.
fn boots(rack: &Rack, words: &[String]) -> Vec<String> {
    let mut guest = rack.boot(words);
    guest.routes();
    let lines = guest.simulator_lines();
    for line in ["platform nocloud", "hostname n1", "service ext-frr running"] {
        assert!(lines.iter().any(|found| found == line), "{line}: {lines:#?}");
    }
    let is_extension_line = |line: &String| line.starts_with("extension ") || line.starts_with("tree ");
    let extension_lines: Vec<String> = lines.into_iter().filter(is_extension_line).collect();
    assert!(extension_lines[0].starts_with("extension frr 8.4"), "{extension_lines:#?}");
    extension_lines
}

#[test]
fn a_node_boots_images_of_ichor_and_of_talos_imager_alike() {
    let (parts, rack) = (Parts::made(), Rack::new());
    let folder = tempfile::tempdir().unwrap();
    let [initramfs, iso] = ["initramfs.xz", "nocloud.iso"].map(|name| folder.path().join(name));
    imager::initramfs(&parts, &extension(), &initramfs);
    imager::iso(&parts, &initramfs, LINE, &iso);
    let built = Built::new(&parts, ".", "nocloud", "netboot");
    let line = fs::read_to_string(built.path(".cmdline")).unwrap();

    let by_imager = boots(&rack, &Firmware::Uefi.cd(&iso));
    let by_ichor = boots(&rack, &netboot(&built.path(".vmlinuz"), &built.path(".initramfs.xz"), line.trim()));

    assert_eq!(line.trim(), LINE);
    assert_eq!(by_ichor, by_imager);
}

#[test]
fn a_disk_boots_under_bios_and_uefi() {
    let (parts, rack) = (Parts::made(), Rack::new());
    let built = Built::new(&parts, ".", "nocloud", "disk,qcow2");

    boots(&rack, &Firmware::Bios.disk(&built.path(".raw"), "raw"));
    boots(&rack, &Firmware::Uefi.disk(&built.path(".qcow2"), "qcow2"));
}
