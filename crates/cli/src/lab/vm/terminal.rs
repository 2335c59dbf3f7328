//! The terminal that somebody sits in front of, and the one that a command inside has in its place.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;

use rustix::process::getpgrp;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    OptionalActions, OutputModes, Termios, Winsize, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
    tcsetwinsize,
};

/// Whether standard input is a terminal that this program may read from. In the background it may not: it would be stopped.
pub(super) fn is_foreground() -> bool {
    let input = io::stdin();
    input.is_terminal() && tcgetpgrp(&input).is_ok_and(|front| front == getpgrp())
}

/// Whether standard input can be read: it is no terminal of others.
pub(super) fn is_readable() -> bool {
    !io::stdin().is_terminal() || is_foreground()
}

/// Lines and columns.
pub(super) fn size() -> Option<(u16, u16)> {
    let sizes = [tcgetwinsize(io::stdout()), tcgetwinsize(io::stdin()), tcgetwinsize(io::stderr())];
    sizes.into_iter().find_map(Result::ok).map(|size| (size.ws_row, size.ws_col))
}

/// A terminal that gives every key as it is, until this is dropped.
pub(super) struct RawTerminal(Option<Termios>);

impl RawTerminal {
    /// Takes over standard input, where it is a terminal.
    pub(super) fn enter_netns(terminal: [bool; 3]) -> Self {
        let old = terminal[0].then(|| tcgetattr(io::stdin()).ok()).flatten();
        if let Some(old) = &old {
            let mut raw = old.clone();
            raw.make_raw();
            if !terminal[1] {
                // Whoever reads our output writes lines to the same terminal.
                raw.output_modes |= old.output_modes & OutputModes::all();
            }
            let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &raw);
        }
        Self(old)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        if let Some(old) = &self.0 {
            let _ = tcsetattr(io::stdin(), OptionalActions::Drain, old);
        }
    }
}

/// A terminal for a command.
pub(super) struct PtyPair {
    /// The end that stands for whoever sits in front of it.
    pub ours: File,
    /// The end that the command has.
    pub theirs: File,
}

impl PtyPair {
    pub(super) fn open(size: Option<(u16, u16)>) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        unlockpt(&ours)?;
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        let pair = Self { ours: ours.into(), theirs: theirs.into() };
        if let Some(size) = size {
            resize(&pair.ours, size)?;
        }
        Ok(pair)
    }
}

/// Gives a terminal another size; whoever runs in it is told by the kernel.
pub(super) fn resize(terminal: &File, (ws_row, ws_col): (u16, u16)) -> io::Result<()> {
    Ok(tcsetwinsize(terminal.as_fd(), Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 })?)
}
