//! The log: one line for each thing that happened, on standard error.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

use ichor_bgp::setting::LogLevel;

static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Info as u8);

/// Writes only lines of at least this level from now on.
pub fn set_level(level: LogLevel) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Logs a failure.
pub fn error(line: impl fmt::Display) {
    write(LogLevel::Error, line);
}

/// Logs what may become a failure.
pub fn warn(line: impl fmt::Display) {
    write(LogLevel::Warn, line);
}

/// Logs a change.
pub fn info(line: impl fmt::Display) {
    write(LogLevel::Info, line);
}

/// Logs a reason.
pub fn debug(line: impl fmt::Display) {
    write(LogLevel::Debug, line);
}

fn write(level: LogLevel, line: impl fmt::Display) {
    if level as u8 <= LEVEL.load(Ordering::Relaxed) {
        // In one piece: others write to the same log. Nobody can be told that it is full or closed.
        let _ = std::io::stderr().write_all(format!("{level}: {line}\n").as_bytes());
    }
}
