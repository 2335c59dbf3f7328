//! Computes a digest of the sources, which distinguishes builds of different ichor versions, and links the program
//! at a fixed address, which saves a third of the page faults at start: most commands take no longer than their start.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

const SOURCES: [&str; 3] = ["src", "../core/src", "../../Cargo.lock"];

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut sum = Sha256::new();
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
        add(&mut sum, &here, Path::new(source))?;
    }
    if env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    println!("cargo:rustc-env=ICHOR_SOURCES={:x}", sum.finalize());
    Ok(())
}

/// Adds a file, or all files below a folder, by name and contents.
fn add(sum: &mut Sha256, here: &Path, path: &Path) -> io::Result<()> {
    let place = here.join(path);
    if !place.is_dir() {
        let bytes = fs::read(&place)?;
        sum.update(format!("{} {}\n", path.display(), bytes.len()));
        sum.update(bytes);
        return Ok(());
    }
    let mut names =
        fs::read_dir(&place)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    names.iter().try_for_each(|name| add(sum, here, &path.join(name)))
}
