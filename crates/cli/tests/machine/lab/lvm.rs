//! Disks in a volume group. Needs `scripts/tools libvirt lvm`, and the kernel of `scripts/lab-vm`: that of the host may
//! have no device mapper.
//!
//! A virtual machine is slow to boot, so one test covers everything.

use super::bridge::lease;
use super::{FILE, Site};
use ichor_testbed::lab::wait_for;
use ichor_testbed::vm;

/// The cluster with disks in a volume group, on a network without firewall rules, small enough for nested emulation.
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

/// Volumes of the group: name, size, and whether they are open.
fn volumes(site: &Site) -> Vec<String> {
    let output = site.0.0.ask("lvs --noheadings --units m -o lv_name,lv_size,lv_device_open vg-talos");
    output.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_disk_in_a_volume_group_is_created_used_and_deleted() {
    vm::run_in_vm(|| {
        let site = site();
        site.0.0.ask("lvcreate --yes --name pot2 --size 4M vg-talos");
        assert_eq!(site.run("check").all(), "no problems\n");

        assert_foreign_volume_is_kept(&site);
        assert_created(&site);
        assert_used(&site);
        assert_deleted(&site);
    });
}

fn assert_foreign_volume_is_kept(site: &Site) {
    let refused = site.run("make --only pot2");

    assert!(refused.stderr.contains("there is a disk pot2 without its machine"), "{}", refused.all());
    assert_eq!(site.state("pot2"), "absent");
}

fn assert_created(site: &Site) {
    let made = site.run("make --only pot1");
    let again = site.run("make --only pot1");

    assert_eq!(made.stdout, "pot1: created\n", "{}", made.all());
    assert_eq!(again.stdout, "pot1: exists\n", "{}", again.all());
    assert_eq!(volumes(site), ["pot1 1024.00m", "pot2 4.00m"]);
    let drives = site.0.virsh("domblklist pot1");
    assert!(drives.contains("/dev/vg-talos/pot1"), "{drives}");
}

/// The firmware finds an empty disk and boots from the network, so the machine is in the host's neighbour table.
fn assert_used(site: &Site) {
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

fn assert_deleted(site: &Site) {
    let deleted = site.run("delete --yes");

    assert_eq!(deleted.all(), "pot1: deleted\npot2: deleted\n");
    assert_eq!(volumes(site), ["pot2 4.00m"], "foreign volumes are kept");
    assert_eq!(site.state("pot1"), "absent");
}
