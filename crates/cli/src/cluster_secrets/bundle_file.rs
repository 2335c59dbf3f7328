//! Files of the secrets bundle and the admin certificate, next to the cluster file, encrypted or not.

use std::path::{Path, PathBuf};

use ichor_core::cluster::load::resolve_path;
use ichor_talos::secrets::{Bundle, BundleErrors};

use crate::encrypted_file::{self, DecryptError};
use crate::project::Project;
use crate::recipient::{RecipientError, Recipients};

/// Errors of reading a bundle.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BundleError {
    #[error(transparent)]
    Sealed(#[from] DecryptError),
    #[error("{} is not a complete secrets bundle", path.display())]
    Incomplete { path: PathBuf, source: BundleErrors },
    #[error(transparent)]
    Recipients(#[from] RecipientError),
}

/// Default name of an encrypted bundle.
pub(crate) const SEALED: &str = "secrets.sops.yaml";
/// Default name of an unencrypted bundle.
pub(crate) const PLAIN: &str = "secrets.yaml";

/// Path of the bundle of a cluster.
pub(crate) fn bundle_path(project: &Project) -> PathBuf {
    configured_path(project).unwrap_or_else(|| default_path(project.name()))
}

/// Path of the bundle set in the cluster file.
pub(crate) fn configured_path(project: &Project) -> Option<PathBuf> {
    let path = project.cluster.file.secrets.get()?;
    Some(PathBuf::from(resolve_path(project.name(), path.as_str())))
}

/// Default path of a bundle: next to the cluster file, encrypted unless only an unencrypted one exists.
pub(crate) fn default_path(cluster: &str) -> PathBuf {
    let [sealed, plain] = [SEALED, PLAIN].map(|name| PathBuf::from(resolve_path(cluster, name)));
    if !sealed.exists() && plain.exists() { plain } else { sealed }
}

/// Path of the admin certificate: the bundle's file name with `admin` instead of `secrets`.
pub(crate) fn admin_file(bundle: &Path) -> PathBuf {
    let name = bundle.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let admin =
        if name.contains("secrets") { name.replacen("secrets", "admin", 1) } else { format!("admin-{name}") };
    bundle.with_file_name(admin)
}

/// Reads a bundle, with the recipients of its file.
pub(crate) fn open(
    path: &Path,
    identity: Option<&Path>,
) -> Result<(Bundle, Option<Recipients>), BundleError> {
    let opened = encrypted_file::open(path, identity)?;
    let bundle = Bundle::read(&opened.text)
        .map_err(|source| BundleError::Incomplete { path: path.to_owned(), source })?;
    let recipients = opened.recipients.map(|names| Recipients::check(&path.display().to_string(), &names));
    Ok((bundle, recipients.transpose()?))
}
