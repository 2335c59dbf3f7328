//! Sysctls: files below `/proc/sys`, in the network namespace of the calling thread.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use ichor_bgp::agent::wiring::Sysctls;

fn path(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name)
}

/// The values of sysctls, without those that the kernel does not have.
pub(super) fn read(paths: Vec<String>) -> io::Result<Sysctls> {
    let mut values = Sysctls::new();
    for name in paths {
        match read_value(&name) {
            Ok(value) => drop(values.insert(name, value)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(values)
}

/// The value of a sysctl: a number, which the kernel returns in one read. The length of the file is unknown.
fn read_value(name: &str) -> io::Result<String> {
    let mut bytes = [0; 32];
    let length = File::open(path(name))?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).trim().to_owned())
}

/// Sets a sysctl.
pub(super) fn write(name: &str, value: &str) -> io::Result<()> {
    fs::write(path(name), value)
}
