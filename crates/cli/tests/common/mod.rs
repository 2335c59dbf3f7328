//! Runs the `ichor` binary in a temporary folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::json;

/// FRR configuration of a leaf with an unnumbered session.
pub const LEAF: &str = "frr defaults datacenter
hostname leaf
interface eth0
 no ipv6 nd suppress-ra
 ipv6 nd ra-interval 1
exit
ip route 198.51.100.0/24 blackhole
router bgp 65100
 bgp router-id 10.0.0.100
 neighbor eth0 interface v6only remote-as external
 address-family ipv4 unicast
  redistribute static
 exit-address-family
exit
";

/// Result of a run.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// Standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }

    /// Standard output and standard error.
    pub fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// A temporary folder with files.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    folder_in(&env::temp_dir(), files)
}

/// The same below another folder.
pub fn folder_in(parent: &Path, files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir_in(parent).unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Runs `ichor` in a folder with space-separated arguments.
pub fn ichor(folder: &Path, words: &str) -> Run {
    ichor_with(folder, words, &[])
}

/// Runs `ichor` with additional environment variables.
pub fn ichor_with(folder: &Path, words: &str, env: &[(&str, &str)]) -> Run {
    let mut command = command(folder, words);
    command.envs(env.iter().copied());
    run_of(command)
}

/// Runs a command to its end.
pub fn run_of(mut command: Command) -> Run {
    let output = command.output().unwrap();
    let run = Run {
        code: output.status.code().expect("not killed"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    validate(&command, &run);
    run
}

/// Validates the JSON that `ichor` printed, also if another program started it.
fn validate(command: &Command, run: &Run) {
    let program = env!("CARGO_BIN_EXE_ichor");
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<&str> =
        words.filter_map(|word| word.to_str()).skip_while(|word| *word != program).collect();
    json::validate_run(words.get(1..).unwrap_or_default(), run);
}

/// Prepares a command that runs `ichor` in a folder.
pub fn command(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ichor"));
    command.args(words.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    command
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    // TARGET/debug/deps/this program
    env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

/// The agent for nodes, as built by `make agent`.
pub fn agent() -> PathBuf {
    let usual = || target().join("release/ichor-agent");
    let path = env::var_os("ICHOR_AGENT").map_or_else(usual, PathBuf::from);
    assert!(path.exists(), "{}: not there; make it with `make agent`", path.display());
    path
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names of the examples.
pub const EXAMPLES: [&str; 8] =
    ["metallb", "native", "cilium", "namespace", "bird", "gobgp", "homelab", "edge"];

/// A small valid cluster.
pub const GOOD: &str = "\
cluster: {name: sol, id: 101, talos: v1.13.9, services: [172.20.0.0/16]}
network: {api: {vip: 10.101.0.10}}
defaults: {install: {disk: /dev/sda}}
nodes:
  - {name: solcp01, role: controlplane, index: 11, macs: [bc:24:11:00:00:11]}
  - {name: solcp02, role: controlplane, index: 12, macs: [bc:24:11:00:00:12]}
  - {name: solcp03, role: controlplane, index: 13, macs: [bc:24:11:00:00:13]}
";
