//! talosctl of a release.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichor_testbed::parts;
use ichor_values::TalosVersion;
use tempfile::TempDir;

/// The talosctl of a minor release, and the exact release that it is.
pub(super) struct Talosctl {
    path: PathBuf,
    pub(super) minor: u16,
    pub(super) release: TalosVersion,
}

/// What a run printed, if it succeeded; else its errors.
pub(super) type Answer = Result<String, String>;

impl Talosctl {
    pub(super) fn of(minor: u16) -> Self {
        let path = parts::path(&format!("talosctl-1.{minor}/talosctl"));
        let version = run(Command::new(&path).args(["version", "--client"])).expect("talosctl has a version");
        let tag = version.lines().find_map(|line| line.trim().strip_prefix("Tag:")).expect("a tag");
        let release = TalosVersion::parse(tag.trim()).expect("a release");
        assert_eq!(release.minor(), (1, minor), "{version}");
        Self { path, minor, release }
    }

    /// Runs it in a folder, without the configuration of the user.
    pub(super) fn run(&self, folder: &Workplace, args: &[&str]) -> Answer {
        let mut command = Command::new(&self.path);
        command.args(args).current_dir(folder.path()).env("HOME", folder.path()).env_remove("TALOSCONFIG");
        run(&mut command)
    }
}

fn run(command: &mut Command) -> Answer {
    let output = command.output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// The folder of a case.
pub(super) struct Workplace(TempDir);

impl Workplace {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect("a file");
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect("a file")
    }
}
