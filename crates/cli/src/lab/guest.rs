//! Nodes that are virtual machines: a qemu each, in the network of the hub, with ports on the lab's cables.
//!
//! What such a machine reads is in a folder of its own in the lab's folder; its disk has no name, and is gone with it. Its console goes into
//! the machine's log, and [`QemuMonitor`] is the way to it while it runs.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::lab::LabTopology;
use ichor_core::lab::scene::{CableEnd, DiskBus, LabMachine, LabVm, MachineRole};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::accelerator::{Accelerator, QEMU};
use super::monitor::QemuMonitor;
use super::registry::LabDir;
use super::{Lab, switch};

/// The firmware of machines with UEFI, from Debian's package ovmf: a program, and what it remembers.
pub(crate) const OVMF: &str = "/usr/share/OVMF/OVMF_CODE_4M.fd";

/// Where disks are, which may become large.
const DISKS: &str = "/var/tmp";

/// The socket of a machine's monitor, in its folder.
const MONITOR: &str = "monitor";

/// How long qemu may take to listen.
const QEMU_TIMEOUT: Duration = Duration::from_secs(20);

/// What all virtual machines of a lab boot, and what runs their code.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct GuestSettings {
    /// The CD of Talos.
    pub image: PathBuf,
    /// Its release.
    #[serde(rename = "talos_version")]
    pub talos: String,
    pub accelerator: Accelerator,
}

/// A virtual machine that is to be started.
struct GuestOptions<'o> {
    guest: &'o LabVm,
    guests: &'o GuestSettings,
    /// Each port's address, and its name in the hub where it is plugged in.
    ports: Vec<(String, Option<String>)>,
    /// The machine's folder.
    folder: &'o Path,
    /// Where its console goes.
    log: &'o Path,
    /// The number of the file that is its disk.
    disk: i32,
}

/// Starts the machine `nth`, in the hub's network. Returns as soon as qemu listens.
pub(crate) fn start(
    place: &LabDir,
    scene: &LabTopology,
    nth: usize,
    guests: &GuestSettings,
) -> io::Result<()> {
    let machine = &scene.machines[nth];
    let MachineRole::Guest(guest) = &machine.part else { return Ok(()) };
    let folder = place.guest(nth);
    let disk = tempfile::tempfile_in(DISKS)?;
    disk.set_len(guest.disk << 30)?;
    let log = place.log(&machine.name);
    let options = GuestOptions {
        guest,
        guests,
        ports: ports(scene, nth),
        folder: &folder,
        log: &log,
        disk: disk.as_raw_fd(),
    };
    // Routers have timers that are short: they come first.
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
                "{QEMU} does not listen after {} s",
                QEMU_TIMEOUT.as_secs()
            )));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Leaves a file open in programs that are started.
fn keep_open_on_exec(file: &File) -> io::Result<()> {
    fcntl(file.as_fd(), FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(())
}

/// Every port of a machine: its address, and its name in the hub where it is plugged in.
fn ports(scene: &LabTopology, nth: usize) -> Vec<(String, Option<String>)> {
    let machine: &LabMachine = &scene.machines[nth];
    let plugged = |port: usize| {
        let own = CableEnd { machine: nth, port };
        let mut ends = switch::ends(scene).into_iter();
        ends.find(|(cable, end)| scene.cables[*cable].ends[*end] == own)
    };
    let mac = |port: usize| match machine.ports[port].mac {
        Some(mac) => mac.to_string(),
        // Any that nobody else has.
        None => format!("52:54:01:{:02x}:{:02x}:{port:02x}", nth >> 8, nth & 0xff),
    };
    let count = 0..machine.ports.len();
    count.map(|port| (mac(port), plugged(port).map(|(cable, end)| switch::port(cable, end)))).collect()
}

/// A path as qemu reads it in the value of an option.
fn quoted(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// What qemu is told.
fn qemu_args(options: &GuestOptions<'_>) -> Vec<String> {
    let GuestOptions { guest, guests, .. } = options;
    let mut args: Vec<String> = ["-nodefaults", "-no-user-config"].map(str::to_owned).into();
    args.extend(guests.accelerator.qemu_args().map(str::to_owned));
    let mut add = |key: &str, value: String| args.extend([key.to_owned(), value]);
    add("-machine", "q35".to_owned());
    add("-smp", guest.cores.to_string());
    add("-m", guest.memory.to_string());
    add("-display", "none".to_owned());
    add("-chardev", format!("file,id=console,append=on,path={}", quoted(options.log)));
    add("-serial", "chardev:console".to_owned());
    add("-qmp", format!("unix:{MONITOR},server=on,wait=off"));
    if guest.uefi {
        add("-drive", format!("if=pflash,format=raw,unit=0,readonly=on,file={OVMF}"));
    }
    // What was installed comes first, once something was.
    let file = format!("/proc/self/fd/{}", options.disk);
    add("-drive", format!("if=none,id=disk,format=raw,cache=unsafe,discard=unmap,file={file}"));
    let disk = match guest.bus {
        DiskBus::Sata => "ide-hd,bus=ide.2",
        DiskBus::Virtio => "virtio-blk-pci",
        DiskBus::Nvme => "nvme,serial=lab",
    };
    add("-device", format!("{disk},drive=disk,bootindex=0"));
    let cd = "media=cdrom,readonly=on,format=raw";
    add("-drive", format!("if=none,id=talos,{cd},file={}", quoted(&guests.image)));
    add("-device", "ide-cd,bus=ide.0,drive=talos,bootindex=1".to_owned());
    if let Some(carrier) = &guest.carrier {
        add("-drive", format!("if=none,id=carrier,{cd},file={}", quoted(&options.folder.join(carrier))));
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

/// Why a machine does not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuestStateError {
    #[error("its virtual machine is {0}")]
    Status(String),
    #[error("its qemu does not answer: {0}")]
    Silent(io::Error),
}

/// Whether a machine runs; why not.
pub(crate) fn check_running(lab: &Lab, nth: usize) -> Result<(), GuestStateError> {
    let status = || {
        let mut monitor = QemuMonitor::open(&lab.place.guest(nth).join(MONITOR))?;
        let status = monitor.execute("query-status", &json!({}))?;
        io::Result::Ok(status["status"].as_str().unwrap_or_default().to_owned())
    };
    match status() {
        Ok(status) if status == "running" => Ok(()),
        Ok(status) => Err(GuestStateError::Status(status)),
        Err(error) => Err(GuestStateError::Silent(error)),
    }
}

/// Gives a port of a machine its carrier, or takes it.
pub(crate) fn set_carrier(lab: &Lab, plug: CableEnd, up: bool) -> io::Result<()> {
    let mut monitor = QemuMonitor::open(&lab.place.guest(plug.machine).join(MONITOR))?;
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
    fn a_machine_has_its_cds_its_disk_and_all_its_ports() {
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
    fn a_machine_is_what_the_file_says() {
        let args = args_text(&LabVm { bus: DiskBus::Virtio, uefi: true, carrier: None, ..guest() });

        assert!(args.contains("virtio-blk-pci,drive=disk") && args.contains(OVMF), "{args}");
        assert!(!args.contains("carrier"), "{args}");
    }
}
