//! Disks in a volume group. Needs `scripts/tools libvirt lvm`, and the kernel of `scripts/lab-vm`: this machine's may have no device mapper.
//!
//! A virtual machine takes its time to boot, so one test does everything in one.

use super::bridge::lease;
use super::{FILE, Site};
use ichor_testbed::lab::wait_for;
use ichor_testbed::vm;

/// The cluster with disks in a volume group, on a network that libvirt needs no firewall for, and small enough to be emulated twice.
fn site() -> Site {
    let file = FILE.replace("{bridge: pots0, nat: 10.0.20.0/24}", "{bridge: br0}");
    let file = file.replace("vm: {memory: 1GiB", "vm: {storage: /dev/vg-talos, memory: 256MiB");
    let site = Site::with(&file.replace("vm: {storage: /tmp/folder}", "vm: {boot: [disk, net]}"));
    site.0.0.ask(
        "set -e
         ip link add br0 type bridge
         truncate -s 3G /tmp/physical
         vgcreate vg-talos $(losetup --find --show /tmp/physical)",
    );
    lease(&site.0.0, "br0");
    site
}

/// The volumes of the group: name, size, and whether somebody has it open.
fn volumes(site: &Site) -> Vec<String> {
    let said = site.0.0.ask("lvs --noheadings --units m -o lv_name,lv_size,lv_device_open vg-talos");
    said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_disk_in_a_volume_group_is_made_used_and_taken_away() {
    vm::run_in_vm(|| {
        let site = site();
        site.0.0.ask("lvcreate --yes --name pot2 --size 4M vg-talos");
        assert_eq!(site.run("check").all(), "no problems\n");

        is_not_taken_from_others(&site);
        is_made(&site);
        is_used(&site);
        is_taken_away(&site);
    });
}

fn is_not_taken_from_others(site: &Site) {
    let refused = site.run("make --only pot2");

    assert!(refused.stderr.contains("there is a disk pot2 without its machine"), "{}", refused.all());
    assert_eq!(site.state("pot2"), "absent");
}

fn is_made(site: &Site) {
    let made = site.run("make --only pot1");
    let again = site.run("make --only pot1");

    assert_eq!(made.stdout, "pot1: created\n", "{}", made.all());
    assert_eq!(again.stdout, "pot1: exists\n", "{}", again.all());
    assert_eq!(volumes(site), ["pot1 1024.00m", "pot2 4.00m"]);
    let drives = site.0.virsh("domblklist pot1");
    assert!(drives.contains("/dev/vg-talos/pot1"), "{drives}");
}

/// Firmware finds nothing on the disk and asks the network, so the host has the machine among its neighbours.
fn is_used(site: &Site) {
    assert_eq!(site.run("start --only pot1").all(), "pot1: on\n");
    assert_eq!(volumes(site), ["pot1 1024.00m open", "pot2 4.00m"]);
    let addresses = || site.run("ls --json --only pot1").json()[0]["addresses"].clone();
    wait_for(
        "its address",
        || addresses() == serde_json::json!(["10.0.20.11"]),
        || site.0.0.ask("cat /run/leases; ip neighbour"),
    );

    assert_eq!(site.run("stop --cut --only pot1").all(), "pot1: off\n");
    assert_eq!(volumes(site), ["pot1 1024.00m", "pot2 4.00m"]);
}

fn is_taken_away(site: &Site) {
    let deleted = site.run("delete --yes");

    assert_eq!(deleted.all(), "pot1: deleted\npot2: deleted\n");
    assert_eq!(volumes(site), ["pot2 4.00m"], "what is somebody else's stays");
    assert_eq!(site.state("pot1"), "absent");
}
