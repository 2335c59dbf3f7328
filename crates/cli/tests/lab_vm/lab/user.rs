//! An unprivileged user with a folder and a lab.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::common::{Run, agent, folder};

/// The user `nobody` of Debian.
const NOBODY: u32 = 65534;

/// Name of the cluster and of the lab.
const LAB: &str = "rack";

/// A user whose lab is removed on drop.
pub struct User {
    pub desk: TempDir,
    runtime: TempDir,
}

impl User {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let user = Self { desk: folder(files), runtime: tempfile::tempdir().unwrap() };
        fs::create_dir_all(cache()).unwrap();
        for path in [user.desk.path(), user.runtime.path(), &cache()] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        user
    }

    /// Folder of the lab.
    pub fn state(&self) -> PathBuf {
        self.runtime.path().join("ichor/lab").join(LAB)
    }

    /// Runs `ichor` as that user. A no-break space is a space within an argument.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new("setpriv");
        let id = NOBODY.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups", env!("CARGO_BIN_EXE_ichor")]);
        command.args(words.split(' ').map(|word| word.replace('\u{a0}', " ")));
        command.current_dir(self.desk.path()).stdin(Stdio::null());
        command.env("XDG_RUNTIME_DIR", self.runtime.path()).env("XDG_CACHE_HOME", cache());
        command
    }

    pub fn ichor(&self, words: &str) -> Run {
        run(&mut self.command(words))
    }

    pub fn up(&self) -> Run {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lab/trixie");
        assert!(root.exists(), "{}: not there; make it with `scripts/lab-root`", root.display());
        let root = root.canonicalize().unwrap();
        let words = format!("lab up --accel tcg --root {} --agent {}", root.display(), agent().display());
        self.ichor(&words)
    }

    /// Runs a command in the virtual machine, next to the lab.
    pub fn inside(&self, words: &[&str]) -> Command {
        let mut command = self.command(&format!("lab inside --lab {LAB} --"));
        command.args(words);
        command
    }

    /// Starts a command in the virtual machine.
    pub fn start(&self, words: &[&str]) -> Running {
        let child = self.inside(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Running(child)
    }

    /// Waits until a command runs in the virtual machine.
    pub fn wait_for_command(&self, line: &str) {
        let start = Instant::now();
        while self.count(line) == 0 {
            assert!(start.elapsed() < Duration::from_secs(30), "{line}: never seen inside");
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Number of processes in the virtual machine with this command line.
    pub fn count(&self, line: &str) -> usize {
        let list = run(&mut self.inside(&["ps", "-eo", "args"]));
        list.stdout.lines().filter(|args| args.trim() == line).count()
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let _ = self.command("lab down --all").output();
    }
}

/// Cache folder of boot files, shared by all runs.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-vm")
}

/// A running command.
pub struct Running(pub Child);

impl Running {
    pub fn end(self) -> Run {
        to_run(&self.0.wait_with_output().unwrap())
    }
}

pub fn run(command: &mut Command) -> Run {
    to_run(&command.output().unwrap())
}

fn to_run(output: &std::process::Output) -> Run {
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
