//! Boots the virtual machine of a lab, until it accepts commands.

use std::env;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use ichor_values::format::{Document, Version, Versioned};
use serde::{Deserialize, Serialize};

use super::boot_files::{BootFilesError, VmBootFiles};
use super::port::{CommandPort, PortError};
use super::qemu::{QemuError, QemuOptions, QemuProcess};
use super::signal_relay::SignalRelay;
use super::{LabSummary, RECORD, VmRequest};
use crate::lab::accelerator::Accelerator;
use crate::lab::registry::LockedLabDir;
use crate::lab::{LabDir, LabError};
use crate::progress::Progress;
use crate::style;

/// Errors of booting the virtual machine of a lab.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VmBootError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Kit(#[from] BootFilesError),
    #[error("cannot find the path of this program")]
    Program(#[source] io::Error),
    #[error("no accelerator can run the virtual machine")]
    NoAccelerator,
    #[error(transparent)]
    Qemu(#[from] QemuError),
    #[error("cannot write the lab's lock")]
    Lock(#[source] io::Error),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("the lab's virtual machine did not boot within {seconds} s{last_words}")]
    Late { seconds: u64, last_words: String },
    #[error("the lab's virtual machine exited while booting{last_words}")]
    Ended { last_words: String },
    #[error("cannot write the record of the virtual machine")]
    Record(#[source] io::Error),
}

/// Time limit until the VM listens: with KVM it takes seconds.
const BOOT_TIMEOUT: Duration = Duration::from_secs(20);
const EMULATED_BOOT_TIMEOUT: Duration = Duration::from_mins(4);

/// Memory of the system, and per machine of the lab, in MiB.
const MEMORY: usize = 512;
const MEMORY_EACH: usize = 48;

/// Format version of [`RECORD`].
const VERSION: Version = Version::new(2, 0);

/// The record of a virtual machine.
#[derive(Debug, Deserialize, Serialize)]
struct VmRecord {
    accelerator: Accelerator,
    /// Memory in MiB.
    #[serde(rename = "memory_mib")]
    memory: usize,
    content: Option<LabSummary>,
}

/// The lab in a virtual machine, from its record; none if the format is not supported.
pub(super) fn lab_summary(dir: &LabDir) -> Option<LabSummary> {
    let text = fs::read_to_string(dir.path().join(RECORD)).ok()?;
    let (record, _) = Document::parse(&text, VERSION).ok()?.read::<VmRecord>().ok()?;
    record.content
}

/// A prepared boot of a virtual machine.
pub(super) struct VmBoot {
    lab: LockedLabDir,
    kit: VmBootFiles,
    program: PathBuf,
    accelerators: Vec<Accelerator>,
    memory: usize,
    content: Option<LabSummary>,
}

/// A virtual machine that waits for its first command.
pub(super) struct BootedVm {
    pub port: CommandPort,
    pub stream: UnixStream,
}

impl VmBoot {
    /// Prepares the boot; none if the VM exists already or another process is booting it.
    pub(super) fn prepare(dir: &LabDir, wanted: VmRequest) -> Result<Option<Self>, VmBootError> {
        if dir.is_alive() {
            if dir.record().exists() {
                // The lab runs without a virtual machine.
                return Err(LabError::AlreadyRuns(dir.name().to_owned()).into());
            }
            return Ok(None);
        }
        let kit = VmBootFiles::ensure()?;
        let program = env::current_exe().map_err(VmBootError::Program)?;
        let accelerators = match wanted.accelerator {
            Some(accelerator) => vec![accelerator],
            None if Accelerator::has_kvm() => vec![Accelerator::Kvm, Accelerator::Tcg],
            None => vec![Accelerator::Tcg],
        };
        let memory = MEMORY + MEMORY_EACH * wanted.machines;
        let lab = dir.clone().acquire()?;
        let content = wanted.content;
        Ok(lab.map(|lab| Self { lab, kit, program, accelerators, memory, content }))
    }

    /// Boots the VM until it waits for a command. A failed boot leaves no files.
    pub(super) fn run(mut self, relay: &SignalRelay) -> Result<BootedVm, VmBootError> {
        let booted = self.attempt(relay);
        if booted.is_err() {
            let _ = self.lab.dir.remove();
        }
        booted
    }

    fn attempt(&mut self, relay: &SignalRelay) -> Result<BootedVm, VmBootError> {
        let accelerators = std::mem::take(&mut self.accelerators);
        for (nth, accelerator) in accelerators.iter().enumerate() {
            match self.start(*accelerator, relay) {
                Ok(booted) => {
                    if *accelerator == Accelerator::Tcg {
                        print_note(
                            "the lab runs on an emulated processor: it is slow, and measured times are meaningless",
                        );
                    }
                    return Ok(booted);
                }
                Err(error) if nth + 1 == accelerators.len() => return Err(error),
                Err(_) => print_note("KVM does not work on this machine; using emulation"),
            }
        }
        Err(VmBootError::NoAccelerator)
    }

    fn start(&mut self, accelerator: Accelerator, relay: &SignalRelay) -> Result<BootedVm, VmBootError> {
        let folder = self.lab.dir.path();
        let _progress = Progress::start("booting the lab's virtual machine");
        let options = QemuOptions {
            folder,
            kit: &self.kit,
            accelerator,
            memory: self.memory,
            program: &self.program,
            lock: &self.lab.lock,
        };
        let qemu = relay.start_qemu(|| QemuProcess::start(&options))?;
        let started = self.wait_until_ready(&qemu, accelerator);
        if started.is_err() {
            relay.release();
            qemu.end();
        }
        started
    }

    /// Waits until the VM listens, and writes its record.
    fn wait_until_ready(
        &mut self,
        qemu: &QemuProcess,
        accelerator: Accelerator,
    ) -> Result<BootedVm, VmBootError> {
        // Ending a lab kills the process in its lock file.
        self.lab.lock.write_holder(qemu.pid).map_err(VmBootError::Lock)?;
        let folder = self.lab.dir.path();
        let timeout = if accelerator == Accelerator::Kvm { BOOT_TIMEOUT } else { EMULATED_BOOT_TIMEOUT };
        let port = CommandPort::acquire(folder)?;
        let last_words = || QemuProcess::last_words(folder);
        let stream = match port.connect_within(timeout) {
            Ok(Some(stream)) => stream,
            Ok(None) => {
                let seconds = timeout.as_secs();
                return Err(VmBootError::Late { seconds, last_words: last_words() });
            }
            Err(PortError::Gone(_)) => return Err(VmBootError::Ended { last_words: last_words() }),
            Err(error) => return Err(error.into()),
        };
        let record = VmRecord { accelerator, memory: self.memory, content: self.content.clone() };
        let record = serde_json::to_vec(&Versioned::new(VERSION, record)).expect("a record is JSON");
        fs::write(folder.join(RECORD), record).map_err(VmBootError::Record)?;
        Ok(BootedVm { port, stream })
    }
}

fn print_note(text: &str) {
    style::say(&format!("{}note:{} {text}", style::NOTE, style::NOTE.render_reset()));
}
