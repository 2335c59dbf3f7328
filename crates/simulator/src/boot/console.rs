//! What the simulator says, among the kernel's messages, as Talos does: each line is whole and has its time.

use std::fs;

/// Says a line.
pub(crate) fn print(line: &str) {
    let told = fs::write("/dev/kmsg", format!("<4>simulator: {line}\n"));
    if told.is_err() {
        println!("simulator: {line}");
    }
}
