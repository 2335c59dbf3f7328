//! Colours and messages on stderr. `anstream` strips colours unless stderr is a terminal.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use ichor_core::rules::Severity;

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// Prints a message to stderr; a failed write is ignored.
pub(crate) fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Prints an error message.
pub(crate) fn say_error(text: &str) {
    say(&format!("{ERROR}error:{ERROR:#} {text}"));
}

/// Colour of a severity.
pub(crate) fn severity(severity: Severity) -> Style {
    match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Note => NOTE,
    }
}
