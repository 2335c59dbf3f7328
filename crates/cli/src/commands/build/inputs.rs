//! What a build is made from, summed up: the same sum gives the same files.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use ichor_talos::digest::hex;
use sha2::{Digest as _, Sha256};

use crate::project::Project;
use crate::tree::Inputs;
use crate::vault::{Vault, place};

/// The sources that this program was made from.
const SOURCES: &str = env!("ICHOR_SOURCES");

/// What files are made from, if the secrets at the keys `secrets` of the cluster file are the ones they need, and `lock` is
/// what Cilium's lock holds.
///
/// Files are named as seen from the cluster file, so that the sum is the same wherever the command runs. It can be shown to
/// everybody: nobody guesses what goes into it, because the keys of the cluster do.
pub(super) fn inputs(
    project: &Project,
    vault: &Vault<'_>,
    secrets: Vec<String>,
    lock: Option<&str>,
) -> anyhow::Result<Inputs> {
    let mut sum = Sum(Sha256::new());
    let folder = Path::new(project.name()).parent().unwrap_or(Path::new(""));
    let seen = |path: &str| {
        let path = Path::new(path);
        path.strip_prefix(folder).unwrap_or(path).display().to_string()
    };
    sum.add("ichor", SOURCES);
    for source in &project.sources.0 {
        sum.add(&seen(&source.name), &source.text);
    }
    let attachments = project.attachments();
    for (path, text) in &attachments.texts {
        // One that cannot be read gives no file.
        sum.add(&seen(path), text.as_deref().unwrap_or_default());
    }
    for (pattern, found) in &attachments.matches {
        let found = found.iter().flatten().map(|path| seen(path)).collect::<Vec<_>>();
        sum.add(pattern, found.join("\n"));
    }
    sum.add("lock", lock.unwrap_or_default());
    let bundle = place::bundle_of(project);
    for path in [&bundle, &place::admin_file(&bundle)] {
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
    Ok(Inputs { sha256: hex(&sum.0.finalize()), secrets })
}

/// The keys of the cluster file whose secrets were fetched.
pub(super) fn fetched(project: &Project, vault: &Vault<'_>) -> Vec<String> {
    let references = project.cluster.secrets();
    references.into_iter().filter(|one| vault.has(one.secret)).map(|one| one.path).collect()
}

struct Sum(Sha256);

impl Sum {
    /// Adds something under a name; the lengths keep neighbours apart.
    fn add(&mut self, name: &str, contents: impl AsRef<[u8]>) {
        let contents = contents.as_ref();
        self.0.update(format!("{} {} {name}", name.len(), contents.len()));
        self.0.update(contents);
    }
}
