//! Forwards signals of this process to the command in the virtual machine.

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

/// Forwarded signals. SIGWINCH is sent as the new size.
const SIGNALS: [Signal; 7] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
];

/// Signals that end the command, and this process when repeated.
const TERMINATING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// Maximum number of such signals for a command that does not exit; the next one ends this process.
const MAX_SIGNALS: u32 = 3;

/// Target of signals.
enum RelayState {
    Idle,
    /// A virtual machine without a record yet.
    Booting(QemuProcess),
    /// A command, and the virtual machine if it was booted for it.
    Attached {
        port: UnixStream,
        _raw: RawTerminal,
        sent: u32,
        fresh: Option<QemuProcess>,
    },
}

/// Handles the signals of this process until it exits.
#[derive(Clone)]
pub(super) struct SignalRelay(Arc<Mutex<RelayState>>);

impl SignalRelay {
    /// Starts the relay. Must be called before other threads start.
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

    fn state(&self) -> MutexGuard<'_, RelayState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a virtual machine, which signals end from now on.
    pub(super) fn start_qemu<E>(
        &self,
        start: impl FnOnce() -> Result<QemuProcess, E>,
    ) -> Result<QemuProcess, E> {
        let mut state = self.state();
        let qemu = start()?;
        *state = RelayState::Booting(qemu.clone());
        Ok(qemu)
    }

    /// Stops forwarding: signals only end this process from now on.
    pub(super) fn release(&self) {
        *self.state() = RelayState::Idle;
    }

    /// Forwards signals and the terminal to a command from now on.
    pub(super) fn attach(&self, port: UnixStream, raw: RawTerminal) {
        let mut state = self.state();
        let fresh = if let RelayState::Booting(qemu) = &*state { Some(qemu.clone()) } else { None };
        *state = RelayState::Attached { port, _raw: raw, sent: 0, fresh };
    }

    /// Sends a frame to the command.
    pub(super) fn send(&self, kind: FrameKind, bytes: &[u8]) -> io::Result<()> {
        match &mut *self.state() {
            RelayState::Attached { port, .. } => frame::send(port, kind, bytes),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn forward_signal(&self, signal: Signal) {
        let mut state = self.state();
        let ends_command = TERMINATING.contains(&signal);
        match &mut *state {
            RelayState::Attached { port, sent, .. } if !ends_command || *sent < MAX_SIGNALS => {
                *sent += u32::from(ends_command);
                // The reader of the port detects a broken connection.
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
        // Dropping the state restores the terminal.
        *state = RelayState::Idle;
        process::exit(128 + signal as i32);
    }
}
