//! The log: one line for each thing that happened, on standard error.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

use ichor_bgp::setting::LogLevel;

static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Info as u8);

/// Says from now on what is at least this important.
pub fn set_level(level: LogLevel) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// What failed.
pub fn error(line: impl fmt::Display) {
    say(LogLevel::Error, line);
}

/// What may fail.
pub fn warn(line: impl fmt::Display) {
    say(LogLevel::Warn, line);
}

/// What changed.
pub fn info(line: impl fmt::Display) {
    say(LogLevel::Info, line);
}

/// Why.
pub fn debug(line: impl fmt::Display) {
    say(LogLevel::Debug, line);
}

fn say(level: LogLevel, line: impl fmt::Display) {
    if level as u8 <= LEVEL.load(Ordering::Relaxed) {
        // In one piece: others write to the same log. Nobody can be told that it is full or closed.
        let _ = std::io::stderr().write_all(format!("{level}: {line}\n").as_bytes());
    }
}
