//! Images of Talos 1.13, built by `ichor image build`.

use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use super::rack::extension;
use super::release::{ReleaseFiles, TALOS_1_13};
use crate::common::ichor;

/// Kernel arguments that disable what slows an emulated machine, and a check that fails if its timer is late. Talos requires `pti=on`,
/// but the kernel obeys `nopti` behind it; a boot then takes a fifth less time.
pub const ARGUMENTS: [&str; 5] =
    ["-init_on_alloc", "mitigations=off", "nopti", "no_timer_check", "talos.dashboard.disabled=1"];

/// Images with the routing extension inside.
pub struct Built {
    folder: TempDir,
    /// Output of the command.
    pub json: Value,
}

impl Built {
    /// Builds products for a platform from one of the files, or from all with `.`.
    pub fn new(files: &ReleaseFiles, base: &str, platform: &str, products: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (base, extension) = (files.path(base), extension());
        let words = format!(
            "image build --talos {} --platform {platform} --base {} --extension {} --product {products} \
             --installer-base {} --kernel-arg {} --name node -o out --json",
            TALOS_1_13.version,
            base.display(),
            extension.display(),
            files.path("installer-base").display(),
            ARGUMENTS.join(" --kernel-arg ")
        );
        let run = ichor(folder.path(), &words);
        assert_eq!(run.code, 0, "{words}: {}", run.all());
        Self { json: run.json(), folder }
    }

    /// Path of the file with this suffix.
    pub fn path(&self, ending: &str) -> PathBuf {
        let path = self.folder().join(format!("node{ending}"));
        assert!(path.exists(), "no {}: {:#}", path.display(), self.json);
        path
    }

    /// Folder of the files.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("out")
    }
}
