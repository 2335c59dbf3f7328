//! Signals, while something is done with the virtual machine: they are for what runs in it.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use nix::sys::signal::{SigSet, Signal};

use super::frame::{self, Kind};
use super::qemu::Qemu;
use super::terminal::{self, Raw};

/// Signals that are meant for the command. The window's is told as a size.
const SIGNALS: [Signal; 7] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
];

/// Those that end the command, and end this program when they come once more.
const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// So many are told to a command that does not hear; then nobody waits for it any more.
const PATIENCE: u32 = 3;

/// What a signal is for.
enum Stage {
    Nothing,
    /// A virtual machine that nobody knows of yet.
    Booting(Qemu),
    /// A command, and the virtual machine that was booted for it.
    Talking {
        port: UnixStream,
        _raw: Raw,
        told: u32,
        fresh: Option<Qemu>,
    },
}

/// Takes the signals of this program for the rest of its life.
#[derive(Clone)]
pub(super) struct Relay(Arc<Mutex<Stage>>);

impl Relay {
    /// To be called before there are other threads.
    pub(super) fn start() -> io::Result<Self> {
        let relay = Self(Arc::new(Mutex::new(Stage::Nothing)));
        let mut signals = SigSet::empty();
        signals.extend(SIGNALS);
        signals.thread_block()?;
        let heard = relay.clone();
        thread::spawn(move || {
            while let Ok(signal) = signals.wait() {
                heard.pass(signal);
            }
        });
        Ok(relay)
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a virtual machine. From now on a signal ends it.
    pub(super) fn boots<E>(&self, start: impl FnOnce() -> Result<Qemu, E>) -> Result<Qemu, E> {
        let mut stage = self.stage();
        let qemu = start()?;
        *stage = Stage::Booting(qemu.clone());
        Ok(qemu)
    }

    /// From now on signals are for nothing but this program.
    pub(super) fn rests(&self) {
        *self.stage() = Stage::Nothing;
    }

    /// From now on signals and the terminal are for a command.
    pub(super) fn talks(&self, port: UnixStream, raw: Raw) {
        let mut stage = self.stage();
        let fresh = if let Stage::Booting(qemu) = &*stage { Some(qemu.clone()) } else { None };
        *stage = Stage::Talking { port, _raw: raw, told: 0, fresh };
    }

    /// Sends a frame to the command.
    pub(super) fn send(&self, kind: Kind, bytes: &[u8]) -> io::Result<()> {
        match &mut *self.stage() {
            Stage::Talking { port, .. } => frame::send(port, kind, bytes),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn pass(&self, signal: Signal) {
        let mut stage = self.stage();
        let is_ending = ENDING.contains(&signal);
        match &mut *stage {
            Stage::Talking { port, told, .. } if !is_ending || *told < PATIENCE => {
                *told += u32::from(is_ending);
                // A port that is gone is noticed by whoever listens to it.
                let _ = match (signal, terminal::size()) {
                    (Signal::SIGWINCH, Some((lines, columns))) => {
                        frame::send(port, Kind::Size, &[lines.to_be_bytes(), columns.to_be_bytes()].concat())
                    }
                    (Signal::SIGWINCH, None) => Ok(()),
                    _ => frame::send(port, Kind::Signal, &[signal as u8]),
                };
                return;
            }
            Stage::Talking { port, fresh, .. } => {
                let _ = port.shutdown(Shutdown::Both);
                if let Some(qemu) = fresh {
                    qemu.vanish();
                }
            }
            Stage::Booting(qemu) if is_ending => qemu.vanish(),
            _ if !is_ending => return,
            _ => {}
        }
        // The terminal as it was.
        *stage = Stage::Nothing;
        process::exit(128 + signal as i32);
    }
}
