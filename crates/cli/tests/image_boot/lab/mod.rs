//! Images of the simulator of Talos, booted in qemu beside a real FRR.
//!
//! [`Parts`](parts::Parts) are what Talos publishes of a release, with the simulator in them. [`imager`] makes images of them
//! with the programs that Talos' own imager runs, and a [`Rack`](rack::Rack) is the leaf that a machine is plugged into, and the
//! volume with its configuration.

mod boot;
mod built;
mod fabric;
mod foreign;
mod imager;
mod parts;
mod rack;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ichor_image::oci::Digest;

/// Runs a program in a folder, which has to work, and returns what it says.
fn done(folder: &Path, program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).current_dir(folder).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; scripts/tools installs it"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program} {words:?}: {}\n{said}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

/// What is made once for some bytes and kept as long as these are the same, in the folder of cargo for such things.
fn kept(name: &str, of: &[&[u8]], make: impl FnOnce(&Path)) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path =
        folder.join(format!("{name}-{}", Digest::of_bytes(&of.concat()).to_string().replace(':', "-")));
    if !path.exists() {
        // Tests that need the same wait for the one that makes it.
        let lock = fs::File::create(folder.join(format!("{name}.lock"))).unwrap();
        lock.lock().unwrap();
        if !path.exists() {
            for old in fs::read_dir(folder).unwrap().map(|old| old.unwrap()) {
                if old.file_name().to_string_lossy().starts_with(&format!("{name}-")) {
                    fs::remove_dir_all(old.path()).unwrap();
                }
            }
            let new = tempfile::tempdir_in(folder).unwrap();
            make(new.path());
            fs::rename(new.keep(), &path).unwrap();
        }
    }
    path
}
