//! Programs that read images, and folders for their output.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "these tests run programs on files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::media::volumes::Case;

/// An image in a temporary folder.
pub struct Bench {
    folder: TempDir,
    pub image: PathBuf,
}

/// Writes an image to a file for programs.
pub fn bench(image: &[u8]) -> Bench {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("image");
    fs::write(&path, image).unwrap();
    Bench { folder, image: path }
}

impl Bench {
    /// A new folder for extracted files.
    pub fn out(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    }

    pub fn image(&self) -> &str {
        self.image.to_str().unwrap()
    }
}

/// Runs a program that must succeed; returns stdout as bytes and stderr.
pub fn run(program: &str, arguments: &[&str]) -> (Vec<u8>, String) {
    let output = Command::new(program).args(arguments).env("LC_ALL", "C").output();
    let output =
        output.unwrap_or_else(|error| panic!("{program}: {error}; install it with scripts/tools iso fat"));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{text}\n{errors}", output.status);
    (output.stdout, errors)
}

/// The text output of a program.
pub fn run_text(program: &str, arguments: &[&str]) -> String {
    String::from_utf8(run(program, arguments).0).unwrap()
}

/// The files of a folder must be exactly those of the case.
pub fn assert_same(case: &Case, folder: &Path, who: &str) {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let found: BTreeMap<String, Vec<u8>> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    let expected: BTreeMap<String, Vec<u8>> = case.files.iter().cloned().collect();
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>(),
        "{who}: {}",
        case.label
    );
    assert!(found == expected, "{who} read other bytes from {}", case.label);
}
