//! The inputs of a build and their digest: the same digest gives the same files.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use ichor_talos::digest::hex;
use sha2::{Digest as _, Sha256};

use crate::cluster_secrets::{SecretCache, bundle_file};
use crate::project::Project;
use crate::tree::BuildInputs;

/// The digest of ichor's own sources.
const SOURCES: &str = env!("ICHOR_SOURCES");

/// The inputs of a build that uses the secrets at the keys `secrets` of the cluster file; `lock` is the text of Cilium's lock file.
///
/// Paths are relative to the cluster file, so that the digest does not depend on the working folder. The digest is not secret: the
/// cluster's keys are part of it, so its input cannot be guessed.
pub(super) fn inputs(
    project: &Project,
    vault: &SecretCache<'_>,
    secrets: Vec<String>,
    lock: Option<&str>,
) -> anyhow::Result<BuildInputs> {
    let mut sum = InputsDigest(Sha256::new());
    let folder = Path::new(project.name()).parent().unwrap_or(Path::new(""));
    let relative = |path: &str| {
        let path = Path::new(path);
        path.strip_prefix(folder).unwrap_or(path).display().to_string()
    };
    sum.add("ichor", SOURCES);
    for source in &project.sources.0 {
        sum.add(&relative(&source.name), &source.text);
    }
    let attachments = project.attachments();
    for (path, text) in &attachments.texts {
        // A file that cannot be read counts as empty.
        sum.add(&relative(path), text.as_deref().unwrap_or_default());
    }
    for (pattern, found) in &attachments.matches {
        let found = found.iter().flatten().map(|path| relative(path)).collect::<Vec<_>>();
        sum.add(pattern, found.join("\n"));
    }
    sum.add("lock", lock.unwrap_or_default());
    let bundle = bundle_file::bundle_path(project);
    for path in [&bundle, &bundle_file::admin_file(&bundle)] {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        sum.add("secrets", bytes);
    }
    let wanted: HashSet<&str> = secrets.iter().map(String::as_str).collect();
    for reference in project.cluster.secrets() {
        if !wanted.contains(reference.path.as_str()) {
            continue;
        }
        let secret = vault.open(reference.secret);
        sum.add(&reference.path, secret.unwrap_or_else(|error| error.to_string()));
    }
    Ok(BuildInputs { sha256: hex(&sum.0.finalize()), secrets })
}

/// The keys of the cluster file whose secrets were fetched.
pub(super) fn fetched_secrets(project: &Project, vault: &SecretCache<'_>) -> Vec<String> {
    let references = project.cluster.secrets();
    references.into_iter().filter(|one| vault.has(one.secret)).map(|one| one.path).collect()
}

struct InputsDigest(Sha256);

impl InputsDigest {
    /// Adds a named value; the lengths keep adjacent values apart.
    fn add(&mut self, name: &str, contents: impl AsRef<[u8]>) {
        let contents = contents.as_ref();
        self.0.update(format!("{} {} {name}", name.len(), contents.len()));
        self.0.update(contents);
    }
}
