//! Switches: files below `/proc/sys`. They are those of the namespace that the calling thread is in.

use std::path::{Path, PathBuf};
use std::{fs, io};

use ichor_core::agent::wiring::Switches;

fn path(switch: &str) -> PathBuf {
    Path::new("/proc/sys").join(switch)
}

/// What switches say; those that the kernel does not have are left out.
pub(super) fn read(paths: Vec<String>) -> io::Result<Switches> {
    let mut values = Switches::new();
    for switch in paths {
        match fs::read_to_string(path(&switch)) {
            Ok(value) => drop(values.insert(switch, value.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(values)
}

/// Turns a switch.
pub(super) fn write(switch: &str, value: &str) -> io::Result<()> {
    fs::write(path(switch), value)
}
