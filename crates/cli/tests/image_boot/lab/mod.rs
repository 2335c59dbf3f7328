//! Images and boot media of ichor, from which real Talos boots in qemu.
//!
//! [`ReleaseFiles`](release::ReleaseFiles) are the files of a release. [`imager`] builds images from them with the programs of
//! Talos' imager. A [`TalosVm`](vm::TalosVm) is on a segment of the test. A [`Rack`](rack::Rack) is the leaf with real FRR that a
//! machine is connected to, and the volume with its configuration; a [`Site`](site::Site) has no routing, but servers for each way to
//! hand over the first configuration.

mod answers;
mod boot;
pub mod built;
mod carrier;
mod fabric;
mod foreign;
mod imager;
mod node_routing;
mod pair;
pub mod rack;
pub mod release;
mod route_log;
mod routing;
mod site;
pub mod vm;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ichor_image::oci::Digest;

/// Runs a program in a folder, which must succeed, and returns its output.
fn done(folder: &Path, program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).current_dir(folder).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; scripts/tools installs it"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program} {words:?}: {}\n{text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// A build artifact cached by its input in cargo's temporary folder.
fn kept(name: &str, of: &[&[u8]], make: impl FnOnce(&Path)) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path =
        folder.join(format!("{name}-{}", Digest::of_bytes(&of.concat()).to_string().replace(':', "-")));
    if !path.exists() {
        // Concurrent tests wait for the first one to build it.
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
