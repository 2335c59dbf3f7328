//! The log: one line for each event, on standard error.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

use ichor_bgp::setting::LogLevel;

static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Info as u8);

/// Sets the log level.
pub fn set_level(level: LogLevel) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Logs a failure.
pub fn error(line: impl fmt::Display) {
    write(LogLevel::Error, line);
}

/// Logs a warning.
pub fn warn(line: impl fmt::Display) {
    write(LogLevel::Warn, line);
}

/// Logs an event.
pub fn info(line: impl fmt::Display) {
    write(LogLevel::Info, line);
}

/// Logs a detail for debugging.
pub fn debug(line: impl fmt::Display) {
    write(LogLevel::Debug, line);
}

fn write(level: LogLevel, line: impl fmt::Display) {
    if level as u8 <= LEVEL.load(Ordering::Relaxed) {
        // A single write, because other processes write to the same log. A failure cannot be reported anywhere.
        let _ = std::io::stderr().write_all(format!("{level}: {line}\n").as_bytes());
    }
}
