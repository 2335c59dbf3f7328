//! Temporary files for daemons.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("ichor-gobgp-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let folder = Self(path);
        for (name, text) in files {
            fs::write(folder.0.join(name), text).unwrap();
        }
        folder
    }

    /// Runs a script of `lab/` with these programs on a file of this folder, or on the folder itself.
    pub fn run(&self, script: &str, programs: &Path, file: &str, environment: &[(&str, &str)]) -> Output {
        let mut command = Command::new(ichor_testbed::folder("lab").join(script));
        command.arg(programs).arg(self.0.join(file)).envs(environment.iter().copied());
        command.output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
