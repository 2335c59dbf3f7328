//! Machines on a real libvirt, with QEMU. Needs `scripts/tools libvirt`.

mod bridge;
mod lvm;

use crate::common::Run;
use ichor_testbed::lab::wait_for;
use ichor_testbed::libvirt::LibvirtHost;

/// A cluster of two machines: one that boots from the network, and one with a Talos CD.
const FILE: &str = "\
cluster: {name: pots, id: 7, talos: v1.13.9, services: [172.20.0.0/16]}
network: {node: {v4: 10.0.20.0/24, gateway: {v4: 10.0.20.1}}}
boot: {from: cidata}
image: {source: {iso: 'https://example.org/talos.iso'}}
hypervisors: {here: {libvirt: {iso: /tmp/isos, network: {bridge: pots0, nat: 10.0.20.0/24}}}}
defaults: {platform: nocloud, install: {disk: /dev/vda}, vm: {memory: 1GiB, disk: 1GiB, firmware: seabios}}
nodes:
  - {name: pot1, role: controlplane, index: 11, vm: {boot: [disk, net]}}
  - {name: pot2, role: worker, index: 12, vm: {storage: /tmp/folder}}
";

/// A host with the cluster's folder on it.
struct Site(LibvirtHost);

impl Site {
    fn new() -> Self {
        Self::with(FILE)
    }

    /// The host with another cluster file.
    fn with(file: &str) -> Self {
        let host = LibvirtHost::start();
        host.0.ask("mkdir -p /tmp/folder /tmp/site/build/pots/nodes/pot1 /tmp/site/build/pots/nodes/pot2 /tmp/cache/ichor/media");
        host.0.write("/tmp/site/ichor.yaml", file);
        host.0.ask("cd /tmp/site/build/pots/nodes && for node in pot1 pot2; do head -c 131072 /dev/zero | tr '\\0' $node >$node/cidata.iso; done");
        Self(host)
    }

    fn run(&self, words: &str) -> Run {
        let mut command = self.0.0.enter();
        let program = env!("CARGO_BIN_EXE_ichor");
        let script = format!("cd /tmp/site && XDG_CACHE_HOME=/tmp/cache exec {program} machine {words}");
        let output = command.args(["sh", "-c", &script]).output().unwrap();
        Run {
            code: output.status.code().expect("not killed"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn state(&self, node: &str) -> String {
        self.run(&format!("ls --json --only {node}")).json()[0]["state"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_machine_is_created_started_ejected_and_deleted() {
    let site = Site::new();
    assert_eq!(site.run("check").all(), "no problems\n");

    let made = site.run("make --only pot1");
    assert_eq!((made.code, made.stdout.as_str()), (0, "pot1: created\n"), "{}", made.all());
    let again = site.run("make --only pot1");
    assert_eq!(again.stdout, "pot1: exists\n", "{}", again.all());
    assert_eq!(site.state("pot1"), "off");
    let cd = "cmp /tmp/isos/pots_pot1-cidata.iso /tmp/site/build/pots/nodes/pot1/cidata.iso && ls /tmp/isos";
    assert_eq!(site.0.0.ask(cd).trim(), "pots_pot1-cidata.iso");

    let started = site.run("start --only pot1");
    assert_eq!(started.stdout, "pot1: on\n", "{}", started.all());
    let addresses = || site.run("ls --json --only pot1").json()[0]["addresses"].clone();
    wait_for(
        "its address",
        || addresses() == serde_json::json!(["10.0.20.11"]),
        || site.0.virsh("net-dhcp-leases pots0"),
    );

    assert_eq!(site.run("eject --only pot1").all(), "pot1: ejected\n");
    assert!(site.0.virsh("domblklist pot1 --details").contains("cdrom"));
    assert!(!site.0.virsh("domblklist pot1 --details").contains("cidata"));
    assert_eq!(site.0.0.ask("ls /tmp/isos"), "", "secrets stay nowhere");
    assert_eq!(site.run("make --only pot1").stdout, "pot1: exists\n");
    assert!(site.0.virsh("domblklist pot1 --details").contains("cidata"), "it is put in again");

    assert_eq!(site.run("stop --cut --only pot1").all(), "pot1: off\n");
    assert_eq!(site.state("pot1"), "off");
    assert_eq!(site.run("delete --yes --only pot1").all(), "pot1: deleted\n");
    assert_eq!(site.run("delete --yes --only pot1").all(), "pot1: deleted\n", "twice is once");
    assert_eq!(site.state("pot1"), "absent");
    assert_eq!(
        site.0.0.ask("ls /tmp/default /tmp/isos").replace(['\n', ':'], " ").trim(),
        "/tmp/default   /tmp/isos"
    );
}

#[test]
fn a_disk_in_a_folder_and_a_cached_image_are_used() {
    let site = Site::new();
    // Cached images are not downloaded again: no server is running.
    let image = "head -c 32769 /dev/zero; printf CD001; head -c 98298 /dev/zero";
    site.0.0.ask(&format!("cd /tmp/cache/ichor/media && ({image}) >talos.iso && sum=$(sha256sum talos.iso | cut -d' ' -f1) && echo \"{{\\\"sha256\\\": \\\"$sum\\\"}}\" >talos.iso.sum.json"));

    let made = site.run("make --only pot2");

    assert_eq!(made.stdout, "pot2: created\n", "{}", made.all());
    site.0.0.ask("cmp /tmp/isos/talos.iso /tmp/cache/ichor/media/talos.iso && test -f /tmp/folder/pot2.img");
    let drives = site.0.virsh("domblklist pot2");
    assert!(drives.contains("/tmp/isos/talos.iso") && drives.contains("/tmp/folder/pot2.img"), "{drives}");
    assert_eq!(site.run("start --only pot2").all(), "pot2: on\n");
    assert_eq!(site.run("delete --yes --only pot2").all(), "pot2: deleted\n");
    assert_eq!(
        site.0.0.ask("ls /tmp/folder /tmp/isos").split_whitespace().collect::<Vec<_>>(),
        ["/tmp/folder:", "/tmp/isos:", "talos.iso"]
    );
}

#[test]
fn foreign_machines_and_disks_are_never_changed() {
    let site = Site::new();
    let domain = "<domain type='qemu'><name>pot1</name><memory unit='MiB'>64</memory><os><type arch='x86_64' machine='q35'>hvm</type></os></domain>";
    site.0.0.write("/tmp/other.xml", domain);
    site.0.virsh("define /tmp/other.xml");
    site.0.virsh("vol-create-as default pot1.img 1M");
    site.0.0.ask("echo precious >/tmp/folder/pot2.img");
    site.0.virsh("pool-define-as folder dir --target /tmp/folder && virsh -q pool-start folder");

    let check = site.run("check");
    assert_eq!(check.code, 1, "{}", check.all());
    assert!(check.stdout.contains("pot1: another machine has its name"), "{}", check.stdout);
    assert!(check.stdout.contains("pot2: there is a disk pot2.img without its machine"), "{}", check.stdout);
    for verb in ["make", "start", "stop --cut", "eject", "delete --yes"] {
        let run = site.run(&format!("{verb} --only pot1"));
        assert_ne!(run.code, 0, "{verb}: {}", run.all());
    }
    assert_eq!(site.run("ls --only pot1").code, 1);
    assert_eq!(site.run("make --only pot2").code, 1);
    assert_eq!(site.run("delete --yes --only pot2").code, 0);

    assert_eq!(site.0.virsh("list --all --name").trim(), "pot1");
    assert_eq!(site.0.0.ask("cat /tmp/folder/pot2.img && ls /tmp/default"), "precious\npot1.img\n");
}

#[test]
fn a_foreign_disk_in_a_folder_without_a_pool_was_taken_and_deleted() {
    let site = Site::new();
    site.0.0.ask("echo precious >/tmp/folder/pot2.img");

    let made = site.run("make --only pot2");
    let deleted = site.run("delete --yes --only pot2");

    assert!(
        made.code == 2 && made.stderr.contains("there is a disk pot2.img without its machine"),
        "{}",
        made.all()
    );
    assert_eq!(deleted.all(), "pot2: deleted\n");
    assert_eq!(site.0.virsh("list --all --name").trim(), "");
    assert_eq!(site.0.0.ask("cat /tmp/folder/pot2.img"), "precious\n");
}

#[test]
fn a_disk_missing_in_the_pools_list_counted_as_absent() {
    let site = Site::new();
    site.0.0.ask("echo precious >/tmp/default/pot1.img");

    let check = site.run("check --only pot1");
    let made = site.run("make --only pot1");

    assert!(check.stdout.contains("there is a disk pot1.img without its machine"), "{}", check.all());
    assert_eq!(made.code, 1, "{}", made.all());
    assert_eq!(site.0.virsh("list --all --name").trim(), "");
    assert_eq!(site.0.0.ask("cat /tmp/default/pot1.img"), "precious\n");
}

#[test]
fn a_manually_created_disk_is_deleted_with_its_machine() {
    let site = Site::new();
    assert_eq!(site.run("make --only pot1").code, 0);
    site.0.virsh("vol-delete --pool default pot1.img");
    site.0.0.ask("truncate -s 1G /tmp/default/pot1.img");

    let deleted = site.run("delete --yes --only pot1");

    assert_eq!(deleted.all(), "pot1: deleted\n");
    assert_eq!(site.0.0.ask("ls /tmp/default"), "");
}

#[test]
fn a_missing_disk_folder_left_a_machine_without_a_disk() {
    let site = Site::new();
    site.0.0.ask("rmdir /tmp/folder");

    let made = site.run("make --only pot2");

    assert!(made.code == 2 && made.stderr.contains("/tmp/folder"), "{}", made.all());
    assert_eq!(site.state("pot2"), "absent");
}
