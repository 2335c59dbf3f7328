//! The simulator's console: lines in the kernel log, as Talos writes them, so each is complete and has its time.

use std::fs;

/// Prints a line.
pub(crate) fn print(line: &str) {
    let written = fs::write("/dev/kmsg", format!("<4>simulator: {line}\n"));
    if written.is_err() {
        println!("simulator: {line}");
    }
}
