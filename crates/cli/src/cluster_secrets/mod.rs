//! Secrets of a cluster: the bundle, the admin certificate, and secrets that the cluster file refers to.
//!
//! Not here: creating and renewing secrets (`commands::secrets`).

pub(crate) mod bundle_file;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ichor_bgp::render::template::redact;
use ichor_core::cluster::FileError;
use ichor_core::cluster::load::resolve_path;
use ichor_core::plan::attachment::AttachmentError;
use ichor_core::render::machine::{PatchTexts, encrypted_patches};
use ichor_talos::secrets::{Bundle, BundleErrors, Pair, admin_cautions, admin_faults, read_admin};
use ichor_values::Secret;

use self::bundle_file::BundleError;
use crate::chain::chain;
use crate::encrypted_file::{self, DecryptError};
use crate::project::Project;
use crate::secret::{self, SecretError};
use crate::style;

/// Errors of opening the secrets of a cluster.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretsError {
    #[error("no secrets bundle at {}; create it with `ichor secrets new`", .0.display())]
    NoBundle(PathBuf),
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error(
        "no admin certificate at {}; create it with `ichor secrets renew`", .0.display()
    )]
    NoAdmin(PathBuf),
    #[error(transparent)]
    SealedAdmin(#[from] DecryptError),
    #[error("{}", path.display())]
    Admin { path: PathBuf, source: BundleErrors },
    #[error(
        "the admin certificate in {} {faults}; renew it with `ichor secrets renew`", path.display()
    )]
    BadAdmin { path: PathBuf, faults: String },
}

/// Opens the bundle and the admin certificate next to the cluster file.
pub(crate) fn open_secrets(
    project: &Project,
    identity: Option<&Path>,
) -> Result<(Bundle, Pair), SecretsError> {
    let path = bundle_file::bundle_path(project);
    if !path.exists() {
        return Err(SecretsError::NoBundle(path));
    }
    let (bundle, _) = bundle_file::open(&path, identity)?;
    let path = bundle_file::admin_file(&path);
    if !path.exists() {
        return Err(SecretsError::NoAdmin(path));
    }
    let text = encrypted_file::open(&path, identity)?.text;
    let admin = read_admin(&text).map_err(|source| SecretsError::Admin { path: path.clone(), source })?;
    check_admin(&path, &admin, &bundle)?;
    Ok((bundle, admin))
}

/// Rejects an invalid admin certificate, and warns of one that expires soon.
fn check_admin(path: &Path, admin: &Pair, bundle: &Bundle) -> Result<(), SecretsError> {
    let now = ichor_system::now();
    let faults: Vec<_> = admin_faults(admin, &bundle.os, now).iter().map(ToString::to_string).collect();
    if !faults.is_empty() {
        return Err(SecretsError::BadAdmin { path: path.to_owned(), faults: faults.join(" and ") });
    }
    for caution in admin_cautions(admin, now) {
        let (colour, path) = (style::WARNING, path.display());
        style::say(&format!(
            "{colour}warning:{colour:#} the admin certificate in {path} {caution}; see `ichor secrets renew`"
        ));
    }
    Ok(())
}

/// Cache of resolved secrets.
pub(crate) struct SecretCache<'p> {
    from: &'p str,
    known: Mutex<HashMap<String, SecretResult>>,
}

/// A resolved secret or its error.
type SecretResult = Result<String, Arc<SecretError>>;

impl<'p> SecretCache<'p> {
    /// Creates a cache for references relative to `from`.
    pub(crate) fn new(from: &'p str) -> Self {
        Self { from, known: Mutex::default() }
    }

    pub(crate) fn open(&self, reference: &Secret) -> SecretResult {
        let fetch = || secret::resolve(self.from, reference).map_err(Arc::new);
        self.known().entry(cache_key(reference)).or_insert_with(fetch).clone()
    }

    /// Whether a secret was resolved.
    pub(crate) fn has(&self, reference: &Secret) -> bool {
        self.known().contains_key(&cache_key(reference))
    }

    /// Redacts all resolved secrets in a text.
    pub(crate) fn hide(&self, text: &str) -> String {
        let known = self.known();
        let secrets: Vec<&str> = known.values().flatten().map(String::as_str).collect();
        redact(text, &secrets)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, SecretResult>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cache_key(reference: &Secret) -> String {
    format!("{reference:?}")
}

/// Decrypts the encrypted patches.
pub(crate) fn patch_texts(project: &Project, identity: Option<&Path>) -> PatchTexts {
    let mut patches = PatchTexts::new();
    for path in encrypted_patches(&project.cluster) {
        let opened =
            encrypted_file::open_sealed_text(Path::new(&resolve_path(project.name(), &path)), identity);
        let opened = opened.map_err(|error| AttachmentError::Failed(FileError::new(chain(&error))));
        patches.insert(path, opened);
    }
    patches
}
