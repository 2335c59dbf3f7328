//! What `ichor image build` makes of the simulator.

use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use super::parts::{Parts, TALOS};
use super::rack::extension;
use crate::common::ichor;

/// Kernel arguments that take away what makes an emulated machine slow, and what keeps one from starting that gets its timer late.
pub const ARGUMENTS: [&str; 4] = ["-init_on_alloc", "-pti", "mitigations=off", "no_timer_check"];

/// Images with the routing extension inside.
pub struct Built {
    folder: TempDir,
    /// What the command said of them.
    pub json: Value,
}

impl Built {
    /// Makes products for a platform, out of one of the parts, or `.` for the folder of them all.
    pub fn new(parts: &Parts, base: &str, platform: &str, products: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (base, extension) = (parts.path(base), extension());
        let words = format!(
            "image build --talos {TALOS} --platform {platform} --base {} --extension {} --product {products} \
             --installer-base {} --kernel-arg {} --name node -o out --json",
            base.display(),
            extension.display(),
            parts.path("installer-base").display(),
            ARGUMENTS.join(" --kernel-arg ")
        );
        let run = ichor(folder.path(), &words);
        assert_eq!(run.code, 0, "{words}: {}", run.all());
        Self { json: run.json(), folder }
    }

    /// The file that ends so.
    pub fn path(&self, ending: &str) -> PathBuf {
        let path = self.folder().join(format!("node{ending}"));
        assert!(path.exists(), "no {}: {:#}", path.display(), self.json);
        path
    }

    /// Where the files are.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("out")
    }
}
