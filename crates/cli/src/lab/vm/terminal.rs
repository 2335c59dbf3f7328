//! The user's terminal, and the pseudo-terminal of a command in the virtual machine.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;

use rustix::process::getpgrp;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    OptionalActions, OutputModes, Termios, Winsize, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
    tcsetwinsize,
};

/// Whether standard input is a terminal and this process is in the foreground. Reading in the background would stop it.
pub(super) fn is_foreground() -> bool {
    let input = io::stdin();
    input.is_terminal() && tcgetpgrp(&input).is_ok_and(|front| front == getpgrp())
}

/// Whether standard input can be read: not a terminal, or in the foreground.
pub(super) fn is_readable() -> bool {
    !io::stdin().is_terminal() || is_foreground()
}

/// Lines and columns of the terminal.
pub(super) fn size() -> Option<(u16, u16)> {
    let sizes = [tcgetwinsize(io::stdout()), tcgetwinsize(io::stdin()), tcgetwinsize(io::stderr())];
    sizes.into_iter().find_map(Result::ok).map(|size| (size.ws_row, size.ws_col))
}

/// A terminal in raw mode, restored on drop.
pub(super) struct RawTerminal(Option<Termios>);

impl RawTerminal {
    /// Switches standard input to raw mode, if it is a terminal.
    pub(super) fn enter(terminal: [bool; 3]) -> Self {
        let old = terminal[0].then(|| tcgetattr(io::stdin()).ok()).flatten();
        if let Some(old) = &old {
            let mut raw = old.clone();
            raw.make_raw();
            if !terminal[1] {
                // Our output goes to a pipe, whose reader writes lines to the same terminal.
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

/// A pseudo-terminal for a command.
pub(super) struct PtyPair {
    /// The controlling side.
    pub controller: File,
    /// The side of the command.
    pub terminal: File,
}

impl PtyPair {
    pub(super) fn open(size: Option<(u16, u16)>) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let controller = openpt(flags)?;
        unlockpt(&controller)?;
        let terminal = ioctl_tiocgptpeer(&controller, flags)?;
        let pair = Self { controller: controller.into(), terminal: terminal.into() };
        if let Some(size) = size {
            resize(&pair.controller, size)?;
        }
        Ok(pair)
    }
}

/// Resizes a terminal; the kernel notifies the processes in it.
pub(super) fn resize(terminal: &File, (ws_row, ws_col): (u16, u16)) -> io::Result<()> {
    Ok(tcsetwinsize(terminal.as_fd(), Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 })?)
}
