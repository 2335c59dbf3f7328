//! Machines on an existing bridge of the kernel and of Open vSwitch. Needs `scripts/tools libvirt openvswitch`.

use super::{FILE, Site};
use ichor_testbed::lab::{LabMachine, wait_for};

/// The cluster on such a network, with machines that boot from the network.
fn site(network: &str, vlan: &str) -> Site {
    let file = FILE.replace("{bridge: pots0, nat: 10.0.20.0/24}", network);
    let file = file.replace("vm: {boot: [disk, net]}", &format!("vm: {{boot: [disk, net]{vlan}}}"));
    Site::with(&file.replace("vm: {storage: /tmp/folder}", "vm: {boot: [disk, net]}"))
}

/// A DHCP server on a link with an address for the first machine only.
pub(super) fn lease(machine: &LabMachine, link: &str) {
    machine.ask(&format!(
        "ip address add 10.0.20.1/24 dev {link} && ip link set {link} up && \
         dnsmasq --conf-file=/dev/null --user=root --port=0 --interface={link} --bind-interfaces \
             --pid-file=/run/dnsmasq.pid --dhcp-leasefile=/run/leases --dhcp-boot=nothing \
             --dhcp-range=10.0.20.0,static --dhcp-host=02:00:07:00:0b:00,10.0.20.11"
    ));
}

/// Open vSwitch without its kernel module, with a bridge where the host is in VLAN 101.
fn open_vswitch(machine: &LabMachine) {
    machine.ask(
        "set -e
         mkdir -p /run/openvswitch /var/log/openvswitch
         ovsdb-tool create /run/conf.db /usr/share/openvswitch/vswitch.ovsschema
         ovsdb-server /run/conf.db --remote=punix:/run/openvswitch/db.sock --pidfile --detach --no-chdir
         ovs-vsctl --no-wait init
         ovs-vswitchd --pidfile --detach --no-chdir
         ovs-vsctl --timeout=30 add-br ovs0 -- set bridge ovs0 datapath_type=netdev
         ovs-vsctl --timeout=30 add-port ovs0 lan101 tag=101 -- set interface lan101 type=internal",
    );
}

fn assert_comes_up(site: &Site) {
    assert_eq!(site.run("check").all(), "no problems\n");
    let made = site.run("make --only pot1");
    assert_eq!(made.stdout, "pot1: created\n", "{}", made.all());
    assert_eq!(site.run("start --only pot1").all(), "pot1: on\n");
}

/// The firmware gets an address over the bridge. libvirt 9.0 cannot read the neighbour table of recent kernels
/// (`wrong nlmsg len`, seen with Linux 6.18), so addresses are queried in the virtual machine of [`super::lvm`].
fn assert_on_the_network(site: &Site) {
    let leases = || site.0.0.ask("cat /run/leases");
    wait_for(
        "its address",
        || leases().contains("02:00:07:00:0b:00 10.0.20.11 "),
        || site.0.0.ask("ip link"),
    );
}

#[test]
fn a_running_machine_is_connected_to_its_bridge() {
    let site = site("{bridge: br0}", "");
    site.0.0.ask("ip link add br0 type bridge");
    lease(&site.0.0, "br0");
    let ports = || site.0.0.ask("ls /sys/class/net/br0/brif");

    assert_comes_up(&site);
    let plugged = ports();
    assert_on_the_network(&site);
    assert_eq!(site.run("stop --cut --only pot1").all(), "pot1: off\n");
    let stopped = ports();
    assert_eq!(site.run("start --only pot1").all(), "pot1: on\n");
    let again = ports();
    assert_eq!(site.run("delete --yes --only pot1").all(), "pot1: deleted\n");

    assert_eq!(site.0.virsh("net-list --name").trim(), "br0");
    assert!(plugged.starts_with("vnet") && again.starts_with("vnet"), "{plugged}{again}");
    assert_eq!((stopped.as_str(), ports().as_str()), ("", ""));
    assert!(!site.0.0.ask("ip -brief link").contains("vnet"), "nothing of it is left");
}

#[test]
fn a_running_machine_is_connected_to_open_vswitch_with_its_vlan() {
    let site = site("{bridge: ovs0, ovs: true}", ", vlan: 101");
    open_vswitch(&site.0.0);
    lease(&site.0.0, "lan101");
    let switch = |words: &str| site.0.0.ask(&format!("ovs-vsctl --timeout=30 {words}"));
    let ports =
        || switch("list-ports ovs0").lines().filter(|port| *port != "lan101").collect::<Vec<_>>().join(" ");

    assert_comes_up(&site);
    let plugged = ports();
    let tag = switch(&format!("get port {plugged} tag"));
    let mac = switch(&format!("get interface {plugged} external_ids:attached-mac"));
    assert_on_the_network(&site);
    assert_eq!(site.run("stop --cut --only pot1").all(), "pot1: off\n");
    let stopped = ports();

    assert_eq!(site.0.virsh("net-list --name").trim(), "ovs0");
    assert_eq!((tag.trim(), mac.trim()), ("101", "\"02:00:07:00:0b:00\""));
    assert_eq!(stopped, "");

    assert_eq!(site.run("make --only pot2").stdout, "pot2: created\n");
    assert_eq!(site.run("start").all(), "pot1: on\npot2: on\n");
    let mut tags: Vec<_> = ports().split(' ').map(|port| switch(&format!("get port {port} tag"))).collect();
    tags.sort_unstable();
    assert_eq!(site.run("delete --yes").all(), "pot1: deleted\npot2: deleted\n");

    assert_eq!(tags, ["101\n", "[]\n"], "the second has no VLAN");
    assert_eq!(ports(), "");
}
