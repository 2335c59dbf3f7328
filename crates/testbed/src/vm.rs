//! A VM with a kernel that has VRFs, dummy links, volume groups and, on request, ports of hardware: made by `scripts/lab-vm`, in qemu.
//!
//! It boots from the file system of this machine, and runs the same test: the test program is started a second
//! time, inside the VM. Its output is printed on a failure. qemu is emulated: measure nothing, and use long timeouts. Work
//! outside the VM is ten times as fast.

use std::any::type_name;
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use super::lab::script_output;

/// Set in the virtual machine only: the folder with the files of the test.
const INSIDE: &str = "ICHOR_LAB_VM";

/// Timeout in seconds. Tests inside have a shorter one, and report their pending condition.
const PATIENCE: u64 = 900;

/// Whether this is the virtual machine.
pub(crate) fn is_here() -> bool {
    env::var_os(INSIDE).is_some()
}

/// Runs the test in a virtual machine; it must be a closure within the test, which gives it its name.
pub fn run_in_vm<F: FnOnce()>(test: F) {
    run_twice::<F>(&[], |_| (), |_| test());
}

/// The same where eth0 and eth1, and eth2 and eth3, are ports of hardware with a cable in between. They are in the first network
/// namespace.
pub fn run_in_vm_with_ports<F: FnOnce()>(test: F) {
    run_twice::<F>(&[[0, 1], [2, 3]], |_| (), |_| test());
}

/// The same with a folder that is filled outside, and can be read inside.
pub fn run_in_vm_with<F: FnOnce(&Path)>(fill: impl FnOnce(&Path), test: F) {
    run_twice::<F>(&[], fill, test);
}

fn run_twice<F>(cables: &[[u8; 2]], fill: impl FnOnce(&Path), test: impl FnOnce(&Path)) {
    if let Some(folder) = env::var_os(INSIDE) {
        return test(folder.as_ref());
    }
    let name = type_name::<F>().strip_suffix("::{{closure}}").unwrap().split_once("::").unwrap().1;
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let command = format!("\"{}\" --exact {name} --nocapture", env::current_exe().unwrap().display());
    let console = boot(cables, folder.path(), &command);
    assert!(console.contains("test result: ok. 1 passed"), "{name}, in a virtual machine:\n{console}");
}

/// A cable between two ports, each of which is a network card to the kernel.
fn cable(nth: usize, ports: [u8; 2]) -> Vec<String> {
    let port = |port: u8| {
        [
            "-netdev".to_owned(),
            format!("hubport,id=port{port},hubid={nth}"),
            "-device".to_owned(),
            format!("virtio-net-pci,netdev=port{port},mac=02:00:00:00:00:0{port},romfile="),
        ]
    };
    ports.into_iter().flat_map(port).collect()
}

/// Runs a command in the VM, and returns the text of the console.
fn boot(cables: &[[u8; 2]], folder: &Path, command: &str) -> String {
    let vm = script_output("scripts/lab-vm", "vm");
    let output = qemu(&[], PATIENCE)
        .args(["-m", "1024"])
        .args(cables.iter().enumerate().flat_map(|(nth, ports)| cable(nth, *ports)))
        .args(["-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"])
        .arg("-kernel")
        .arg(vm.join("kernel"))
        .arg("-initrd")
        .arg(vm.join("initrd"))
        .arg("-append")
        // A machine that is busy gives its timer so late that the kernel would find none.
        .arg(format!(
            "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check {INSIDE}={} {} -- {command}",
            folder.display(),
            env::var("ICHOR_AGENT").map(|agent| format!("ICHOR_AGENT={agent}")).unwrap_or_default()
        ))
        .output()
        .unwrap();
    let console = super::lab::output_text(&output);
    assert!(output.status.success(), "{}; `scripts/lab-vm` installs qemu\n{console}", output.status);
    console
}

/// qemu with a console on stdout, started by way of `before`. It has a timeout, and killing any of its parents kills
/// the others: the test, the timeout, qemu.
///
/// It has one processor, which needs no emulated synchronisation, so that two VMs run side by side. A page table
/// of five levels would make everything slower by a sixth. Daemons with short timers run beside it: they come first.
pub fn qemu(before: &[&str], patience: u64) -> Command {
    let (patience, with_parent) = (patience.to_string(), ["setpriv", "--pdeathsig", "KILL"]);
    let watched = [&with_parent[..], &["timeout", "--signal", "KILL", &patience], &with_parent].concat();
    let words = [before, &watched, &["nice", "-n", "5", "qemu-system-x86_64"]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(["-accel", "tcg", "-cpu", "max,la57=off", "-smp", "1"]);
    command.args(["-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio"]).stdin(Stdio::null());
    command
}
