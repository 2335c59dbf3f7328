//! Colours. They reach terminals only: `anstream` takes them off everywhere else.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use ichor_core::rules::Severity;

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// Says something to the person in front of the terminal. Nobody listening is no error.
pub(crate) fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Says that something is wrong.
pub(crate) fn say_error(text: &str) {
    say(&format!("{ERROR}error:{ERROR:#} {text}"));
}

/// The colour of a finding.
pub(crate) fn severity(severity: Severity) -> Style {
    match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Note => NOTE,
    }
}
