//! Switches: files below `/proc/sys`. They are those of the namespace that the calling thread is in.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use ichor_bgp::agent::wiring::Sysctls;

fn path(switch: &str) -> PathBuf {
    Path::new("/proc/sys").join(switch)
}

/// What switches say; those that the kernel does not have are left out.
pub(super) fn read(paths: Vec<String>) -> io::Result<Sysctls> {
    let mut values = Sysctls::new();
    for switch in paths {
        match value(&switch) {
            Ok(value) => drop(values.insert(switch, value)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(values)
}

/// What a switch says: a number, which the kernel tells at once. Nobody asks how long the file is, for it does not know.
fn value(switch: &str) -> io::Result<String> {
    let mut bytes = [0; 32];
    let length = File::open(path(switch))?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).trim().to_owned())
}

/// Turns a switch.
pub(super) fn write(switch: &str, value: &str) -> io::Result<()> {
    fs::write(path(switch), value)
}
