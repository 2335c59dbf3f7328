//! Signals that ask this program to end, as something to look at instead of something that happens.

use std::io;

use nix::poll::{PollFd, PollFlags};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::AsFd as _;

/// Signals that have come since [`TerminationSignals::catch`].
pub(crate) struct TerminationSignals(SignalFd);

impl TerminationSignals {
    /// From here on such signals end nothing by themselves. Threads that are started later keep to that, other programs do not.
    pub(crate) fn catch() -> io::Result<Self> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            set.add(signal);
        }
        set.thread_block()?;
        Ok(Self(SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?))
    }

    /// Whether one came.
    pub(crate) fn came(&self) -> io::Result<bool> {
        Ok(self.0.read_signal()?.is_some())
    }

    /// What poll(2) waits for.
    pub(crate) fn poll(&self) -> PollFd<'_> {
        PollFd::new(self.0.as_fd(), PollFlags::POLLIN)
    }
}
