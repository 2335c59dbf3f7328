//! Slow tests: runs killed at every step with machines, and machines on a real libvirt.

use super::proxmox::Site;
use super::{hosted, without_dhcp_addresses};
use crate::common::Run;
use ichor_testbed::libvirt::LibvirtHost;

const STEPS: [&str; 4] = ["make", "attach", "start", "eject"];

#[test]
fn a_run_killed_at_every_step_resumes_without_creating_a_machine_twice() {
    // With configured VM numbers, and with free ones.
    for (vm, ids) in [("first_id: 300", [311, 312]), ("nic: virtio", [100, 101])] {
        for step in STEPS {
            for state in ["started", "done"] {
                let site = Site::new(2, vm);
                site.pve.state().polls = 3;

                let came = site.up_killed(|event| event["step"] == step && event["state"] == state);
                site.up_well();

                assert!(came, "{vm}: {step} {state}");
                site.assert_up(&ids);
            }
        }
    }
}

/// A cluster on a real libvirt with QEMU. The machines boot nothing; simulated nodes answer while they are on.
struct Libvirt(LibvirtHost);

const ICHOR: &str = env!("CARGO_BIN_EXE_ichor");
const HYPERVISOR: &str = "here: {libvirt: {iso: /tmp/isos, network: {bridge: br0}}}";

impl Libvirt {
    fn new() -> Self {
        let host = LibvirtHost::start();
        let machine = &host.0;
        machine.ask("ip link add br0 type bridge && ip link set br0 up");
        machine.ask("mkdir -p /tmp/given && head -c 131072 /dev/zero >/tmp/given/talos.iso");
        // The folder of the cluster with secrets; the machines come from a file with a hypervisor.
        machine.ask(&format!(
            "cd /tmp && {ICHOR} lab nodes 2 -o site --id 7 --detach && {ICHOR} lab nodes stop -o site"
        ));
        let file = machine.ask("cat /tmp/site/ichor.yaml").replace("/17}", "/17, v6: null}");
        let vm = "memory: 1GiB, disk: 1GiB, firmware: seabios";
        let file = hosted(&file, HYPERVISOR, vm).replace("iso: talos.iso", "iso: /tmp/given/talos.iso");
        machine.write("/tmp/site/machines.yaml", &file);
        machine.write("/tmp/site/ichor.yaml", &without_dhcp_addresses(&file));
        let times = "--install 30ms --boot 20ms --start 5ms";
        machine.ask(&format!(
            "cd /tmp/site && {ICHOR} lab nodes --cluster machines.yaml --off --detach {times}"
        ));
        let wire = format!(
            "while sleep 0.2; do for node in $(virsh -q -c qemu:///system list --name); do
                 {ICHOR} lab nodes power $node on -o /tmp/site; done; done"
        );
        machine.ask(&format!("({wire}) </dev/null >/dev/null 2>&1 &"));
        Self(host)
    }

    fn ichor(&self, words: &str) -> Run {
        let mut command = self.0.0.enter();
        let script = format!("cd /tmp/site && XDG_CACHE_HOME=/tmp/cache exec {ICHOR} {words}");
        let output = command.args(["sh", "-c", &script]).output().unwrap();
        Run {
            code: output.status.code().expect("not killed"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

#[test]
fn machines_on_libvirt_are_created_started_configured_ejected_and_deleted() {
    let site = Libvirt::new();
    let at = "--node-address cp1=127.7.128.11 --node-address worker1=127.7.128.12";

    let up = site.ichor(&format!("up --kubeconfig kubeconfig {at}"));

    assert_eq!(up.code, 0, "{}", up.all());
    let mut running: Vec<_> = site.0.virsh("list --name").split_whitespace().map(str::to_owned).collect();
    running.sort();
    assert_eq!(running, ["cp1", "worker1"]);
    assert_eq!(site.0.0.ask("ls /tmp/isos"), "", "secrets stay nowhere");
    assert!(!site.0.virsh("domblklist cp1 --details").contains(".iso"));
    let again = site.ichor("up --kubeconfig kubeconfig");
    assert!(again.stderr.contains("nothing to do"), "{}", again.all());

    let well = site.ichor("verify --json").json();
    let checks = well["nodes"][0]["checks"].as_array().unwrap();
    let drives = checks.iter().find(|outcome| outcome["check"] == "drives").unwrap();
    assert_eq!(drives["evidence"], "the machine boots its disk first; no media are inserted", "{well:#}");
    site.0.virsh("change-media cp1 sda --insert /tmp/given/talos.iso --live --config");
    let left = site.ichor("verify --json").json();
    let checks = left["nodes"][0]["checks"].as_array().unwrap();
    let drives = checks.iter().find(|outcome| outcome["check"] == "drives").unwrap();
    assert!(drives["evidence"].as_str().unwrap().contains("sda has talos.iso (boots Talos)"), "{drives}");

    let down = site.ichor("down --yes --no-kubeconfig");
    assert_eq!(down.code, 0, "{}", down.all());
    assert_eq!(site.0.virsh("list --all --name").trim(), "");
    assert_eq!(site.0.0.ask("ls /tmp/default /tmp/given").split_whitespace().last(), Some("talos.iso"));
}
