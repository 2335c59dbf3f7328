//! A machine that stands for a node of Talos.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A machine that stands for a node: this one, or one in namespaces of its own.
pub trait NodeHost {
    /// The start of a command there: what follows is the program and its arguments.
    fn enter(&self) -> Command;

    /// Where this process sees one of its paths.
    fn path(&self, path: &str) -> PathBuf;

    /// Where its `/system` is.
    fn system(&self) -> &str;

    /// What a shell there says on stdout, when all goes well.
    fn ask(&self, script: &str) -> String {
        let output = self.enter().args(["sh", "-c", script]).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{script}: {}", output_text(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// What a command said on both ways.
pub fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}
