//! Signals, while something is done with the virtual machine: they are for what runs in it.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use nix::sys::signal::{SigSet, Signal};

use super::frame::{self, FrameKind};
use super::qemu::QemuProcess;
use super::terminal::{self, RawTerminal};

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
const TERMINATING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// So many are told to a command that does not hear; then nobody waits for it any more.
const MAX_SIGNALS: u32 = 3;

/// What a signal is for.
enum RelayState {
    Idle,
    /// A virtual machine that nobody knows of yet.
    Booting(QemuProcess),
    /// A command, and the virtual machine that was booted for it.
    Attached {
        port: UnixStream,
        _raw: RawTerminal,
        sent: u32,
        fresh: Option<QemuProcess>,
    },
}

/// Takes the signals of this program for the rest of its life.
#[derive(Clone)]
pub(super) struct SignalRelay(Arc<Mutex<RelayState>>);

impl SignalRelay {
    /// To be called before there are other threads.
    pub(super) fn start() -> io::Result<Self> {
        let relay = Self(Arc::new(Mutex::new(RelayState::Idle)));
        let mut signals = SigSet::empty();
        signals.extend(SIGNALS);
        signals.thread_block()?;
        let forwarder = relay.clone();
        thread::spawn(move || {
            while let Ok(signal) = signals.wait() {
                forwarder.forward_signal(signal);
            }
        });
        Ok(relay)
    }

    fn stage(&self) -> MutexGuard<'_, RelayState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a virtual machine. From now on a signal ends it.
    pub(super) fn start_qemu<E>(
        &self,
        start: impl FnOnce() -> Result<QemuProcess, E>,
    ) -> Result<QemuProcess, E> {
        let mut stage = self.stage();
        let qemu = start()?;
        *stage = RelayState::Booting(qemu.clone());
        Ok(qemu)
    }

    /// From now on signals are for nothing but this program.
    pub(super) fn release(&self) {
        *self.stage() = RelayState::Idle;
    }

    /// From now on signals and the terminal are for a command.
    pub(super) fn attach(&self, port: UnixStream, raw: RawTerminal) {
        let mut stage = self.stage();
        let fresh = if let RelayState::Booting(qemu) = &*stage { Some(qemu.clone()) } else { None };
        *stage = RelayState::Attached { port, _raw: raw, sent: 0, fresh };
    }

    /// Sends a frame to the command.
    pub(super) fn send(&self, kind: FrameKind, bytes: &[u8]) -> io::Result<()> {
        match &mut *self.stage() {
            RelayState::Attached { port, .. } => frame::send(port, kind, bytes),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn forward_signal(&self, signal: Signal) {
        let mut stage = self.stage();
        let ends_command = TERMINATING.contains(&signal);
        match &mut *stage {
            RelayState::Attached { port, sent, .. } if !ends_command || *sent < MAX_SIGNALS => {
                *sent += u32::from(ends_command);
                // A port that is gone is noticed by whoever listens to it.
                let _ = match (signal, terminal::size()) {
                    (Signal::SIGWINCH, Some((lines, columns))) => frame::send(
                        port,
                        FrameKind::Size,
                        &[lines.to_be_bytes(), columns.to_be_bytes()].concat(),
                    ),
                    (Signal::SIGWINCH, None) => Ok(()),
                    _ => frame::send(port, FrameKind::Signal, &[signal as u8]),
                };
                return;
            }
            RelayState::Attached { port, fresh, .. } => {
                let _ = port.shutdown(Shutdown::Both);
                if let Some(qemu) = fresh {
                    qemu.destroy();
                }
            }
            RelayState::Booting(qemu) if ends_command => qemu.destroy(),
            _ if !ends_command => return,
            _ => {}
        }
        // The terminal as it was.
        *stage = RelayState::Idle;
        process::exit(128 + signal as i32);
    }
}
