//! From nothing to a virtual machine that waits for commands.

use std::env;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use ichor_values::format::{Document, Version, Versioned};
use serde::{Deserialize, Serialize};

use super::kit::{Kit, KitError};
use super::port::{Port, PortError};
use super::qemu::{Order, Qemu, QemuError};
use super::relay::Relay;
use super::{Content, RECORD, Wanted};
use crate::lab::accelerator::Accelerator;
use crate::lab::place::Taken;
use crate::lab::{LabError, Place};
use crate::progress::Progress;
use crate::style;

/// Why a lab has no virtual machine.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BootError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Kit(#[from] KitError),
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
const PATIENCE: Duration = Duration::from_secs(20);
const EMULATED_PATIENCE: Duration = Duration::from_mins(4);

/// Memory: of the system, and for each machine of the lab; MiB.
const MEMORY: usize = 512;
const MEMORY_EACH: usize = 48;

/// The version of the format of [`RECORD`].
const VERSION: Version = Version::new(1, 0);

/// What is written down of a virtual machine.
#[derive(Debug, Deserialize, Serialize)]
struct Record {
    accelerator: Accelerator,
    /// MiB.
    memory: usize,
    content: Option<Content>,
}

/// What is written down of the lab in a virtual machine; none where another release wrote it that this one cannot read.
pub(super) fn content(place: &Place) -> Option<Content> {
    let text = fs::read_to_string(place.path().join(RECORD)).ok()?;
    let (record, _) = Document::parse(&text, VERSION).ok()?.read::<Record>().ok()?;
    record.content
}

/// Everything a virtual machine needs, for a lab that has none.
pub(super) struct Boot {
    taken: Taken,
    kit: Kit,
    program: PathBuf,
    accelerators: Vec<Accelerator>,
    memory: usize,
    content: Option<Content>,
}

/// One that waits for its first command.
pub(super) struct Booted {
    pub port: Port,
    pub stream: UnixStream,
}

impl Boot {
    /// Gets everything; nothing where there is one already, or where somebody else boots it.
    pub(super) fn prepare(place: &Place, wanted: Wanted) -> Result<Option<Self>, BootError> {
        if place.is_alive() {
            if place.record().exists() {
                // It is not in a virtual machine.
                return Err(LabError::Runs(place.name().to_owned()).into());
            }
            return Ok(None);
        }
        let kit = Kit::ready()?;
        let program = env::current_exe().map_err(BootError::Program)?;
        let accelerators = match wanted.accelerator {
            Some(accelerator) => vec![accelerator],
            None if Accelerator::has_kvm() => vec![Accelerator::Kvm, Accelerator::Tcg],
            None => vec![Accelerator::Tcg],
        };
        let memory = MEMORY + MEMORY_EACH * wanted.machines;
        let taken = place.clone().take()?;
        let content = wanted.content;
        Ok(taken.map(|taken| Self { taken, kit, program, accelerators, memory, content }))
    }

    /// Boots it, until it waits for a command. What fails leaves nothing.
    pub(super) fn run(mut self, relay: &Relay) -> Result<Booted, BootError> {
        let booted = self.attempt(relay);
        if booted.is_err() {
            let _ = self.taken.place.remove();
        }
        booted
    }

    fn attempt(&mut self, relay: &Relay) -> Result<Booted, BootError> {
        let accelerators = std::mem::take(&mut self.accelerators);
        for (nth, accelerator) in accelerators.iter().enumerate() {
            match self.start(*accelerator, relay) {
                Ok(booted) => {
                    if *accelerator == Accelerator::Tcg {
                        note("the lab runs on an emulated processor: all is slow, and times say nothing");
                    }
                    return Ok(booted);
                }
                Err(error) if nth + 1 == accelerators.len() => return Err(error),
                Err(_) => note("KVM gets no virtual machine going here; going on without it"),
            }
        }
        Err(BootError::NoAccelerator)
    }

    fn start(&mut self, accelerator: Accelerator, relay: &Relay) -> Result<Booted, BootError> {
        let folder = self.taken.place.path();
        let _progress = Progress::start("booting the lab's virtual machine");
        let order = Order {
            folder,
            kit: &self.kit,
            accelerator,
            memory: self.memory,
            program: &self.program,
            lock: &self.taken.lock,
        };
        let qemu = relay.boots(|| Qemu::start(&order))?;
        let started = self.introduce(&qemu, accelerator);
        if started.is_err() {
            relay.rests();
            qemu.end();
        }
        started
    }

    /// Waits until it listens, and writes down what it is.
    fn introduce(&mut self, qemu: &Qemu, accelerator: Accelerator) -> Result<Booted, BootError> {
        // Whoever ends a lab reads there whom to end.
        self.taken.lock.write_holder(qemu.pid).map_err(BootError::Lock)?;
        let folder = self.taken.place.path();
        let patience = if accelerator == Accelerator::Kvm { PATIENCE } else { EMULATED_PATIENCE };
        let port = Port::take(folder)?;
        let last_words = || Qemu::last_words(folder);
        let stream = match port.answered(patience) {
            Ok(Some(stream)) => stream,
            Ok(None) => {
                let seconds = patience.as_secs();
                return Err(BootError::Late { seconds, last_words: last_words() });
            }
            Err(PortError::Gone(_)) => return Err(BootError::Ended { last_words: last_words() }),
            Err(error) => return Err(error.into()),
        };
        let record = Record { accelerator, memory: self.memory, content: self.content.clone() };
        let record = serde_json::to_vec(&Versioned::new(VERSION, record)).expect("a record is JSON");
        fs::write(folder.join(RECORD), record).map_err(BootError::Record)?;
        Ok(Booted { port, stream })
    }
}

fn note(text: &str) {
    style::say(&format!("{}note:{} {text}", style::NOTE, style::NOTE.render_reset()));
}
