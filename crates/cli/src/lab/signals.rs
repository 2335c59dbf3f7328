//! Termination signals as a file descriptor to poll.

use std::io;

use nix::poll::{PollFd, PollFlags};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::AsFd as _;

/// Signals received since [`TerminationSignals::catch`].
pub(crate) struct TerminationSignals(SignalFd);

impl TerminationSignals {
    /// Blocks the signals, so that they no longer end the program. Later threads inherit that, child processes do not.
    pub(crate) fn catch() -> io::Result<Self> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            set.add(signal);
        }
        set.thread_block()?;
        Ok(Self(SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?))
    }

    /// Whether a signal was received.
    pub(crate) fn received(&self) -> io::Result<bool> {
        Ok(self.0.read_signal()?.is_some())
    }

    /// The descriptor for poll(2).
    pub(crate) fn poll(&self) -> PollFd<'_> {
        PollFd::new(self.0.as_fd(), PollFlags::POLLIN)
    }
}
