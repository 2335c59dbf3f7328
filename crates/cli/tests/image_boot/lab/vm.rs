//! A machine in qemu that boots Talos on a network segment.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use ichor_testbed::lab::{LabMachine, output_text};
use ichor_testbed::parts;
use ichor_testbed::vm::qemu;

/// MAC address of the machine's port.
pub const PORT: &str = "52:54:00:12:00:01";

/// Time limit in seconds for an emulated machine to boot, after which qemu exits.
const BOOT_TIMEOUT: u64 = 240;

/// The running machine, stopped on drop. Its ports are tap devices of a lab machine, the segment.
pub struct TalosVm<'s> {
    segment: &'s LabMachine,
    qemu: Child,
    folder: TempDir,
}

impl<'s> TalosVm<'s> {
    /// Starts it with these arguments of qemu, and the tap device `eth0` as its port.
    pub fn start(segment: &'s LabMachine, arguments: &[String]) -> Self {
        Self::start_for(segment, BOOT_TIMEOUT, arguments)
    }

    /// The same with another limit of its life in seconds, for more than a boot.
    pub fn start_for(segment: &'s LabMachine, timeout: u64, arguments: &[String]) -> Self {
        Self::start_on(segment, &[("eth0", PORT)], timeout, arguments)
    }

    /// Starts it with ports, the tap device and the MAC address of each, and a limit of its life in seconds.
    pub fn start_on(
        segment: &'s LabMachine,
        ports: &[(&str, &str)],
        timeout: u64,
        arguments: &[String],
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let console = fs::File::create(folder.path().join("console")).unwrap();
        let port = |(tap, mac): &(&str, &str)| {
            let netdev = format!("tap,id={tap},ifname={tap},script=no,downscript=no");
            [
                "-netdev".to_owned(),
                netdev,
                "-device".to_owned(),
                format!("virtio-net-pci,netdev={tap},mac={mac},romfile="),
            ]
        };
        let qemu = qemu(&["nsenter", "--net", "--target", segment.pid()], timeout)
            .args(["-machine", "q35", "-m", "2560"])
            .args(ports.iter().flat_map(port))
            .args(arguments)
            .stdout(console.try_clone().unwrap())
            .stderr(console)
            .spawn()
            .unwrap();
        Self { segment, qemu, folder }
    }

    /// Console output.
    pub fn console(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.path().join("console")).unwrap()).into_owned()
    }

    /// Polls until `holds` is true; on a timeout it panics with the console and `state`.
    pub fn wait_until(
        &mut self,
        what: &str,
        mut holds: impl FnMut(&Self) -> bool,
        state: impl Fn(&Self) -> String,
    ) {
        let start = Instant::now();
        while !holds(self) {
            let is_over = start.elapsed() > Duration::from_secs(BOOT_TIMEOUT)
                || self.qemu.try_wait().unwrap().is_some();
            assert!(!is_over, "{what}: never seen\n{}\n{}", self.console(), state(self));
            thread::sleep(Duration::from_millis(500));
        }
    }

    /// Waits for maintenance mode with every service and address that belongs to it.
    pub fn wait_for_maintenance(&mut self, address: &str) {
        // The console first: a client's start takes more time from an emulated machine than a look at a file.
        let has_api = |vm: &Self| vm.console().contains("this machine is reachable at:");
        self.wait_until("the maintenance service", has_api, |_| String::new());
        let status = |vm: &Self| vm.try_resources(address, "machinestatus");
        let is_ready = |vm: &Self| {
            status(vm).is_ok_and(|found| {
                let spec = &found[0]["spec"];
                spec["stage"] == "maintenance" && spec["status"]["ready"] == true
            })
        };
        self.wait_until("maintenance mode", is_ready, |vm| format!("{:?}", status(vm)));
    }

    /// The resources of a kind on the node, as Talos' own client prints them.
    pub fn resources(&self, address: &str, kind: &str) -> Vec<Value> {
        self.try_resources(address, kind)
            .unwrap_or_else(|error| panic!("{kind}: {error}\n{}", self.console()))
    }

    /// Applies a configuration to the node in maintenance mode.
    pub fn apply(&self, address: &str, configuration: &Path) {
        let mut command = self.segment.enter_network();
        command.args(["timeout", "60"]).arg(parts::path("talosctl-1.14/talosctl"));
        command.args(["apply-config", "--insecure", "--nodes", address, "--file"]).arg(configuration);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}\n{}", output_text(&output), self.console());
    }

    pub fn try_resources(&self, address: &str, kind: &str) -> Result<Vec<Value>, String> {
        let talosctl = parts::path("talosctl-1.14/talosctl");
        let command =
            format!("timeout 20 {} get {kind} --insecure --nodes {address} -o json", talosctl.display());
        let output = self.segment.run(&command);
        if !output.status.success() {
            return Err(output_text(&output));
        }
        let found = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
        let found: Result<Vec<Value>, _> = found.collect();
        found
            .map_err(|error| error.to_string())
            .and_then(|found| if found.is_empty() { Err(format!("no {kind}")) } else { Ok(found) })
    }
}

impl Drop for TalosVm<'_> {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// qemu arguments for a direct kernel boot.
pub fn direct_boot(kernel: &str, initramfs: &str, line: &str) -> Vec<String> {
    ["-kernel", kernel, "-initrd", initramfs, "-append", line].map(str::to_owned).to_vec()
}

/// qemu arguments for a CD beside the boot medium.
pub fn cd(path: &str) -> Vec<String> {
    let drive = format!("if=none,id=volume,media=cdrom,readonly=on,file={path}");
    ["-drive", &drive, "-device", "ide-cd,drive=volume,bus=ide.1"].map(str::to_owned).to_vec()
}
