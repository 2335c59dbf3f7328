//! A machine in the role of a Talos node.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A machine in the role of a node: this one, or one in namespaces of its own.
pub trait NodeHost {
    /// The start of a command there; the program and its arguments follow.
    fn enter(&self) -> Command;

    /// The path of a file of the node for this process.
    fn path(&self, path: &str) -> PathBuf;

    /// The path of its `/system`.
    fn system(&self) -> &str;

    /// Runs a shell script there, which must succeed, and returns its stdout.
    fn ask(&self, script: &str) -> String {
        let output = self.enter().args(["sh", "-c", script]).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{script}: {}", output_text(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// The output of a command on stdout and stderr.
pub fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}
