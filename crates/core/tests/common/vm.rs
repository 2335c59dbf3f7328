//! A kernel that has VRFs and dummy links: what `scripts/lab-vm` makes, in qemu.
//!
//! It runs on the file system of this machine, and so it runs this very test: the program with the test is started a second
//! time, there. What is said there is told when it fails. qemu is emulated: measure nothing, and wait patiently.
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a virtual machine is a process")]

use std::any::type_name;
use std::env;
use std::process::{Command, Stdio};

use super::lab::made_by;

/// Set in the virtual machine alone.
const INSIDE: &str = "ICHOR_LAB_VM";

/// Seconds after which there is no hope. Whoever waits inside gives up before, and says for what.
const PATIENCE: &str = "540";

/// Whether this is the virtual machine.
pub fn is_here() -> bool {
    env::var_os(INSIDE).is_some()
}

/// Does in a virtual machine what a test does, which must be a closure within that test: so its name is known.
pub fn inside<F: FnOnce()>(test: F) {
    if is_here() {
        return test();
    }
    let name = type_name::<F>().strip_suffix("::{{closure}}").unwrap().split_once("::").unwrap().1;
    let console = boot(&format!("\"{}\" --exact {name} --nocapture", env::current_exe().unwrap().display()));
    assert!(console.contains("test result: ok. 1 passed"), "{name}, in a virtual machine:\n{console}");
}

/// Runs a command there, and gives back what stood on the console. Whoever is killed takes those below along: the test,
/// the one who watches the time, qemu.
fn boot(command: &str) -> String {
    let vm = made_by("scripts/lab-vm", "vm");
    let with_parent = ["setpriv", "--pdeathsig", "KILL"];
    let output = Command::new(with_parent[0])
        .args(&with_parent[1..])
        .args(["timeout", "--signal", "KILL", PATIENCE])
        .args(with_parent)
        .args(["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1024"])
        .args(["-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio"])
        .args(["-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"])
        .arg("-kernel")
        .arg(vm.join("kernel"))
        .arg("-initrd")
        .arg(vm.join("initrd"))
        .arg("-append")
        // A machine that is busy gives its timer so late that the kernel would find none.
        .arg(format!(
            "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check {INSIDE}=yes {} -- {command}",
            env::var("ICHOR_AGENT").map(|agent| format!("ICHOR_AGENT={agent}")).unwrap_or_default()
        ))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = super::lab::said(&output);
    assert!(output.status.success(), "{}; `scripts/lab-vm` installs qemu\n{said}", output.status);
    said
}
