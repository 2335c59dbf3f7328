//! Nodes as virtual machines: one qemu each, in the switch namespace, with ports on the lab's cables.
//!
//! The files of a VM are in its own folder below the lab's. Its disk is an unnamed file that disappears with the VM. The
//! console is written to the machine's log, and a [`QemuMonitor`] controls the running VM.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::lab::LabTopology;
use ichor_core::lab::topology::{CableEnd, DiskBus, LabMachine, LabVm, MachineRole};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::accelerator::{Accelerator, QEMU};
use super::monitor::QemuMonitor;
use super::registry::LabDir;
use super::{Lab, switch};

/// UEFI firmware of Debian's package ovmf.
pub(crate) const OVMF: &str = "/usr/share/OVMF/OVMF_CODE_4M.fd";

/// Folder of VM disks, which may become large.
const DISKS: &str = "/var/tmp";

/// Name of the monitor socket in a VM's folder.
const MONITOR: &str = "monitor";

/// Time limit until qemu listens.
const QEMU_TIMEOUT: Duration = Duration::from_secs(20);

/// Settings of all VMs of a lab.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct GuestSettings {
    /// The Talos ISO.
    pub image: PathBuf,
    /// Release of the ISO.
    #[serde(rename = "talos_version")]
    pub talos: String,
    pub accelerator: Accelerator,
}

/// Options of one VM.
struct GuestOptions<'o> {
    guest: &'o LabVm,
    guests: &'o GuestSettings,
    /// MAC address of each port, and its switch port if connected.
    ports: Vec<(String, Option<String>)>,
    /// Folder of the VM.
    folder: &'o Path,
    /// Log file of the console.
    log: &'o Path,
    /// File descriptor of the disk.
    disk: i32,
}

/// Starts the VM `nth` in the switch namespace. Returns once qemu listens.
pub(crate) fn start(
    dir: &LabDir,
    topology: &LabTopology,
    nth: usize,
    guests: &GuestSettings,
) -> io::Result<()> {
    let machine = &topology.machines[nth];
    let MachineRole::Guest(guest) = &machine.part else { return Ok(()) };
    let folder = dir.guest(nth);
    let disk = tempfile::tempfile_in(DISKS)?;
    disk.set_len(guest.disk << 30)?;
    let log = dir.log(&machine.name);
    let options = GuestOptions {
        guest,
        guests,
        ports: ports(topology, nth),
        folder: &folder,
        log: &log,
        disk: disk.as_raw_fd(),
    };
    // Routers have short timers and need a higher priority.
    let mut command = match guests.accelerator {
        Accelerator::Kvm => Command::new(QEMU),
        Accelerator::Tcg => {
            let mut command = Command::new("nice");
            command.args(["-n", "5", QEMU]);
            command
        }
    };
    command.args(qemu_args(&options)).current_dir(&folder).stdin(Stdio::null()).stdout(io::stderr());
    keep_open_on_exec(&disk)?;
    let mut qemu = command.spawn()?;
    let start = Instant::now();
    while QemuMonitor::open(&folder.join(MONITOR)).is_err() {
        if let Some(status) = qemu.try_wait()? {
            return Err(io::Error::other(format!("{QEMU} ended: {status}")));
        }
        if start.elapsed() > QEMU_TIMEOUT {
            return Err(io::Error::other(format!(
                "{QEMU} did not listen within {} s",
                QEMU_TIMEOUT.as_secs()
            )));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Keeps a file open in child processes.
fn keep_open_on_exec(file: &File) -> io::Result<()> {
    fcntl(file.as_fd(), FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(())
}

/// MAC address of each port of a VM, and its switch port if connected.
fn ports(topology: &LabTopology, nth: usize) -> Vec<(String, Option<String>)> {
    let machine: &LabMachine = &topology.machines[nth];
    let plugged = |port: usize| {
        let own = CableEnd { machine: nth, port };
        let mut ends = switch::ends(topology).into_iter();
        ends.find(|(cable, end)| topology.cables[*cable].ends[*end] == own)
    };
    let mac = |port: usize| match machine.ports[port].mac {
        Some(mac) => mac.to_string(),
        // Any unused address.
        None => format!("52:54:01:{:02x}:{:02x}:{port:02x}", nth >> 8, nth & 0xff),
    };
    let count = 0..machine.ports.len();
    count.map(|port| (mac(port), plugged(port).map(|(cable, end)| switch::port(cable, end)))).collect()
}

/// Escapes a path for the value of a qemu option.
fn escape_path(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// The qemu arguments.
fn qemu_args(options: &GuestOptions<'_>) -> Vec<String> {
    let GuestOptions { guest, guests, .. } = options;
    let mut args: Vec<String> = ["-nodefaults", "-no-user-config"].map(str::to_owned).into();
    args.extend(guests.accelerator.qemu_args().map(str::to_owned));
    let mut add = |key: &str, value: String| args.extend([key.to_owned(), value]);
    add("-machine", "q35".to_owned());
    add("-smp", guest.cores.to_string());
    add("-m", guest.memory.to_string());
    add("-display", "none".to_owned());
    add("-chardev", format!("file,id=console,append=on,path={}", escape_path(options.log)));
    add("-serial", "chardev:console".to_owned());
    add("-qmp", format!("unix:{MONITOR},server=on,wait=off"));
    if guest.uefi {
        add("-drive", format!("if=pflash,format=raw,unit=0,readonly=on,file={OVMF}"));
    }
    // An installed disk boots first; an empty one falls through to the CD.
    let file = format!("/proc/self/fd/{}", options.disk);
    add("-drive", format!("if=none,id=disk,format=raw,cache=unsafe,discard=unmap,file={file}"));
    let disk = match guest.bus {
        DiskBus::Sata => "ide-hd,bus=ide.2",
        DiskBus::Virtio => "virtio-blk-pci",
        DiskBus::Nvme => "nvme,serial=lab",
    };
    add("-device", format!("{disk},drive=disk,bootindex=0"));
    let cd = "media=cdrom,readonly=on,format=raw";
    add("-drive", format!("if=none,id=talos,{cd},file={}", escape_path(&guests.image)));
    add("-device", "ide-cd,bus=ide.0,drive=talos,bootindex=1".to_owned());
    if let Some(carrier) = &guest.carrier {
        add("-drive", format!("if=none,id=carrier,{cd},file={}", escape_path(&options.folder.join(carrier))));
        add("-device", "ide-cd,bus=ide.1,drive=carrier".to_owned());
    }
    for (nth, (mac, port)) in options.ports.iter().enumerate() {
        let netdev = match port {
            Some(port) => {
                add("-netdev", format!("tap,id=port{nth},ifname={port},script=no,downscript=no"));
                format!(",netdev=port{nth}")
            }
            None => String::new(),
        };
        add("-device", format!("virtio-net-pci,id=nic{nth},mac={mac},romfile={netdev}"));
    }
    args
}

/// Errors of the state of a VM.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuestStateError {
    #[error("the virtual machine is {0}")]
    Status(String),
    #[error("qemu does not answer: {0}")]
    Silent(io::Error),
}

/// Fails unless the VM is running.
pub(crate) fn check_running(lab: &Lab, nth: usize) -> Result<(), GuestStateError> {
    let status = || {
        let mut monitor = QemuMonitor::open(&lab.dir.guest(nth).join(MONITOR))?;
        let status = monitor.execute("query-status", &json!({}))?;
        io::Result::Ok(status["status"].as_str().unwrap_or_default().to_owned())
    };
    match status() {
        Ok(status) if status == "running" => Ok(()),
        Ok(status) => Err(GuestStateError::Status(status)),
        Err(error) => Err(GuestStateError::Silent(error)),
    }
}

/// Sets the carrier of a VM's port up or down.
pub(crate) fn set_carrier(lab: &Lab, plug: CableEnd, up: bool) -> io::Result<()> {
    let mut monitor = QemuMonitor::open(&lab.dir.guest(plug.machine).join(MONITOR))?;
    monitor.execute("set_link", &json!({"name": format!("nic{}", plug.port), "up": up}))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest() -> LabVm {
        LabVm {
            cores: 2,
            memory: 2048,
            disk: 10,
            bus: DiskBus::Sata,
            uefi: false,
            carrier: Some("cidata.iso".to_owned()),
            sources: Vec::new(),
        }
    }

    fn args_text(guest: &LabVm) -> String {
        let guests = GuestSettings {
            image: "/srv/a,b.iso".into(),
            talos: "v1.13.9".to_owned(),
            accelerator: Accelerator::Tcg,
        };
        let ports = vec![
            ("52:54:00:00:00:01".to_owned(), Some("c0e1".to_owned())),
            ("52:54:00:00:00:02".to_owned(), None),
        ];
        let (folder, log) = (Path::new("/run/x/guests/1"), Path::new("/run/x/log/n1.log"));
        qemu_args(&GuestOptions { guest, guests: &guests, ports, folder, log, disk: 7 }).join(" ")
    }

    #[test]
    fn a_vm_has_its_isos_disk_and_all_ports() {
        let args = args_text(&guest());

        for part in [
            "media=cdrom,readonly=on,format=raw,file=/srv/a,,b.iso ",
            "file=/run/x/guests/1/cidata.iso ",
            "file=/proc/self/fd/7 ",
            "ide-hd,bus=ide.2,drive=disk,bootindex=0",
            "tap,id=port0,ifname=c0e1,script=no,downscript=no",
            "virtio-net-pci,id=nic0,mac=52:54:00:00:00:01,romfile=,netdev=port0",
            "path=/run/x/log/n1.log",
        ] {
            assert!(args.contains(part), "{part}: {args}");
        }
        assert!(args.ends_with("virtio-net-pci,id=nic1,mac=52:54:00:00:00:02,romfile="), "{args}");
        assert!(!args.contains("pflash"), "{args}");
    }

    #[test]
    fn a_vm_follows_the_cluster_file() {
        let args = args_text(&LabVm { bus: DiskBus::Virtio, uefi: true, carrier: None, ..guest() });

        assert!(args.contains("virtio-blk-pci,drive=disk") && args.contains(OVMF), "{args}");
        assert!(!args.contains("carrier"), "{args}");
    }
}
