//! Somebody who is not root, with a folder and a lab.

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

/// The cluster's name is the lab's.
const LAB: &str = "rack";

/// A user, whose lab ends with the test, however the test ends.
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

    /// The folder of the lab.
    pub fn state(&self) -> PathBuf {
        self.runtime.path().join("ichor/lab").join(LAB)
    }

    /// `ichor` as that user. A no-break space is a space within a word.
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

    /// A command in the virtual machine, beside the lab.
    pub fn inside(&self, words: &[&str]) -> Command {
        let mut command = self.command(&format!("lab inside --lab {LAB} --"));
        command.args(words);
        command
    }

    /// Starts one.
    pub fn start(&self, words: &[&str]) -> Running {
        let child = self.inside(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Running(child)
    }

    /// Waits until a command runs inside.
    pub fn wait_for_command(&self, line: &str) {
        let start = Instant::now();
        while self.count(line) == 0 {
            assert!(start.elapsed() < Duration::from_secs(30), "{line}: never seen inside");
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// How many processes inside have this command line.
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

/// Where what the virtual machine boots is kept from run to run.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-vm")
}

/// A command that runs.
pub struct Running(pub Child);

impl Running {
    pub fn end(self) -> Run {
        told(&self.0.wait_with_output().unwrap())
    }
}

pub fn run(command: &mut Command) -> Run {
    told(&command.output().unwrap())
}

fn told(output: &std::process::Output) -> Run {
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
