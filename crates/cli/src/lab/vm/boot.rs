//! From nothing to a virtual machine that waits for commands.

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

/// Why a lab has no virtual machine.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VmBootError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Kit(#[from] BootFilesError),
    #[error("cannot tell where this program is")]
    Program(#[source] io::Error),
    #[error("there is nothing to run a virtual machine with")]
    NoAccelerator,
    #[error(transparent)]
    Qemu(#[from] QemuError),
    #[error("cannot write the lab's lock")]
    Lock(#[source] io::Error),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("the lab's virtual machine did not come up in {seconds} seconds{last_words}")]
    Late { seconds: u64, last_words: String },
    #[error("the lab's virtual machine ended while it booted{last_words}")]
    Ended { last_words: String },
    #[error("cannot write down what the virtual machine is")]
    Record(#[source] io::Error),
}

/// How long a machine may take until it listens: one that runs on the processor is there in seconds, or never.
const BOOT_TIMEOUT: Duration = Duration::from_secs(20);
const EMULATED_BOOT_TIMEOUT: Duration = Duration::from_mins(4);

/// Memory: of the system, and for each machine of the lab; MiB.
const MEMORY: usize = 512;
const MEMORY_EACH: usize = 48;

/// The version of the format of [`RECORD`].
const VERSION: Version = Version::new(2, 0);

/// What is written down of a virtual machine.
#[derive(Debug, Deserialize, Serialize)]
struct VmRecord {
    accelerator: Accelerator,
    /// MiB.
    #[serde(rename = "memory_mib")]
    memory: usize,
    content: Option<LabSummary>,
}

/// What is written down of the lab in a virtual machine; none where another release wrote it that this one cannot read.
pub(super) fn lab_summary(place: &LabDir) -> Option<LabSummary> {
    let text = fs::read_to_string(place.path().join(RECORD)).ok()?;
    let (record, _) = Document::parse(&text, VERSION).ok()?.read::<VmRecord>().ok()?;
    record.content
}

/// Everything a virtual machine needs, for a lab that has none.
pub(super) struct VmBoot {
    taken: LockedLabDir,
    kit: VmBootFiles,
    program: PathBuf,
    accelerators: Vec<Accelerator>,
    memory: usize,
    content: Option<LabSummary>,
}

/// One that waits for its first command.
pub(super) struct BootedVm {
    pub port: CommandPort,
    pub stream: UnixStream,
}

impl VmBoot {
    /// Gets everything; nothing where there is one already, or where somebody else boots it.
    pub(super) fn prepare(place: &LabDir, wanted: VmRequest) -> Result<Option<Self>, VmBootError> {
        if place.is_alive() {
            if place.record().exists() {
                // It is not in a virtual machine.
                return Err(LabError::AlreadyRuns(place.name().to_owned()).into());
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
        let taken = place.clone().acquire()?;
        let content = wanted.content;
        Ok(taken.map(|taken| Self { taken, kit, program, accelerators, memory, content }))
    }

    /// Boots it, until it waits for a command. What fails leaves nothing.
    pub(super) fn run(mut self, relay: &SignalRelay) -> Result<BootedVm, VmBootError> {
        let booted = self.attempt(relay);
        if booted.is_err() {
            let _ = self.taken.place.remove();
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
                            "the lab runs on an emulated processor: all is slow, and times say nothing",
                        );
                    }
                    return Ok(booted);
                }
                Err(error) if nth + 1 == accelerators.len() => return Err(error),
                Err(_) => print_note("KVM gets no virtual machine going here; going on without it"),
            }
        }
        Err(VmBootError::NoAccelerator)
    }

    fn start(&mut self, accelerator: Accelerator, relay: &SignalRelay) -> Result<BootedVm, VmBootError> {
        let folder = self.taken.place.path();
        let _progress = Progress::start("booting the lab's virtual machine");
        let options = QemuOptions {
            folder,
            kit: &self.kit,
            accelerator,
            memory: self.memory,
            program: &self.program,
            lock: &self.taken.lock,
        };
        let qemu = relay.start_qemu(|| QemuProcess::start(&options))?;
        let started = self.wait_until_ready(&qemu, accelerator);
        if started.is_err() {
            relay.release();
            qemu.end();
        }
        started
    }

    /// Waits until it listens, and writes down what it is.
    fn wait_until_ready(
        &mut self,
        qemu: &QemuProcess,
        accelerator: Accelerator,
    ) -> Result<BootedVm, VmBootError> {
        // Whoever ends a lab reads there whom to end.
        self.taken.lock.write_holder(qemu.pid).map_err(VmBootError::Lock)?;
        let folder = self.taken.place.path();
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
