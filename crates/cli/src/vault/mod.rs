//! The secrets of a cluster: the bundle, the administrator's certificate, and what the cluster file refers to.
//!
//! Not here: how secrets are made and renewed (`commands::secrets`).

pub(crate) mod place;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ichor_bgp::render::template::hide;
use ichor_core::cluster::FileError;
use ichor_core::cluster::load::beside;
use ichor_core::plan::attachment::Unread;
use ichor_core::render::machine::{PatchTexts, sealed_patches};
use ichor_talos::secrets::{Bundle, BundleErrors, Pair, admin_cautions, admin_faults, read_admin};
use ichor_values::Secret;

use self::place::BundleError;
use crate::chain::chain;
use crate::project::Project;
use crate::sealed::{self, OpenError};
use crate::secret::{self, SecretError};
use crate::style;

/// Why the secrets of a cluster cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretsError {
    #[error("there are no secrets at {}: make them with `ichor secrets new`", .0.display())]
    NoBundle(PathBuf),
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error(
        "there is no administrator's certificate at {}: make one with `ichor secrets renew`", .0.display()
    )]
    NoAdmin(PathBuf),
    #[error(transparent)]
    SealedAdmin(#[from] OpenError),
    #[error("{}", path.display())]
    Admin { path: PathBuf, source: BundleErrors },
    #[error(
        "the administrator's certificate in {} {faults}; make a new one with `ichor secrets renew`", path.display()
    )]
    BadAdmin { path: PathBuf, faults: String },
}

/// The bundle and the administrator's certificate, from beside the cluster file.
pub(crate) fn secrets(project: &Project, identity: Option<&Path>) -> Result<(Bundle, Pair), SecretsError> {
    let path = place::bundle_of(project);
    if !path.exists() {
        return Err(SecretsError::NoBundle(path));
    }
    let (bundle, _) = place::open(&path, identity)?;
    let path = place::admin_file(&path);
    if !path.exists() {
        return Err(SecretsError::NoAdmin(path));
    }
    let text = sealed::open(&path, identity)?.text;
    let admin = read_admin(&text).map_err(|source| SecretsError::Admin { path: path.clone(), source })?;
    judge_admin(&path, &admin, &bundle)?;
    Ok((bundle, admin))
}

/// Refuses an administrator's certificate that would not open the cluster, and warns of one that soon will not.
fn judge_admin(path: &Path, admin: &Pair, bundle: &Bundle) -> Result<(), SecretsError> {
    let now = ichor_system::now();
    let faults: Vec<_> = admin_faults(admin, &bundle.os, now).iter().map(ToString::to_string).collect();
    if !faults.is_empty() {
        return Err(SecretsError::BadAdmin { path: path.to_owned(), faults: faults.join(" and ") });
    }
    for caution in admin_cautions(admin, now) {
        let (colour, path) = (style::WARNING, path.display());
        style::say(&format!(
            "{colour}warning:{colour:#} the administrator's certificate in {path} {caution}; see `ichor secrets renew`"
        ));
    }
    Ok(())
}

/// Secrets that the file refers to, each fetched once.
pub(crate) struct Vault<'p> {
    from: &'p str,
    known: Mutex<HashMap<String, Fetched>>,
}

/// A secret, or why it cannot be had.
type Fetched = Result<String, Arc<SecretError>>;

impl<'p> Vault<'p> {
    /// For a file whose references are relative to `from`.
    pub(crate) fn new(from: &'p str) -> Self {
        Self { from, known: Mutex::default() }
    }

    pub(crate) fn open(&self, reference: &Secret) -> Fetched {
        let fetch = || secret::resolve(self.from, reference).map_err(Arc::new);
        self.known().entry(name(reference)).or_insert_with(fetch).clone()
    }

    /// Whether a secret was fetched.
    pub(crate) fn has(&self, reference: &Secret) -> bool {
        self.known().contains_key(&name(reference))
    }

    /// A text without any of the secrets that were fetched.
    pub(crate) fn hide(&self, text: &str) -> String {
        let known = self.known();
        let secrets: Vec<&str> = known.values().flatten().map(String::as_str).collect();
        hide(text, &secrets)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Fetched>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(reference: &Secret) -> String {
    format!("{reference:?}")
}

/// The patches that are encrypted, opened.
pub(crate) fn patch_texts(project: &Project, identity: Option<&Path>) -> PatchTexts {
    let mut patches = PatchTexts::new();
    for path in sealed_patches(&project.cluster) {
        let opened = sealed::open_sealed_text(Path::new(&beside(project.name(), &path)), identity);
        let opened = opened.map_err(|error| Unread::Failed(FileError::new(chain(&error))));
        patches.insert(path, opened);
    }
    patches
}
