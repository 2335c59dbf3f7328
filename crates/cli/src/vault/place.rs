//! Where the secrets of a cluster are: beside its file, encrypted or in the clear.

use std::path::{Path, PathBuf};

use ichor_core::cluster::load::beside;
use ichor_talos::secrets::{Bundle, BundleErrors};

use crate::project::Project;
use crate::recipient::{RecipientError, Recipients};
use crate::sealed::{self, OpenError};

/// Why a bundle cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BundleError {
    #[error(transparent)]
    Sealed(#[from] OpenError),
    #[error("{} is not a whole bundle", path.display())]
    Incomplete { path: PathBuf, source: BundleErrors },
    #[error(transparent)]
    Recipients(#[from] RecipientError),
}

/// The usual name of a bundle that is encrypted.
pub(crate) const SEALED: &str = "secrets.sops.yaml";
/// The usual name of one that is not.
pub(crate) const PLAIN: &str = "secrets.yaml";

/// The file that holds the bundle of a cluster.
pub(crate) fn bundle_of(project: &Project) -> PathBuf {
    written(project).unwrap_or_else(|| usual(project.name()))
}

/// The file that the cluster file names for it.
pub(crate) fn written(project: &Project) -> Option<PathBuf> {
    let path = project.cluster.file.secrets.get()?;
    Some(PathBuf::from(beside(project.name(), path.as_str())))
}

/// Where a bundle is when nobody says otherwise: beside the cluster file, encrypted unless only a plain one is there.
pub(crate) fn usual(cluster: &str) -> PathBuf {
    let [sealed, plain] = [SEALED, PLAIN].map(|name| PathBuf::from(beside(cluster, name)));
    if !sealed.exists() && plain.exists() { plain } else { sealed }
}

/// Where the administrator's certificate is kept: `admin` in the place of `secrets` in the name of the bundle's file.
pub(crate) fn admin_file(bundle: &Path) -> PathBuf {
    let name = bundle.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let admin =
        if name.contains("secrets") { name.replacen("secrets", "admin", 1) } else { format!("admin-{name}") };
    bundle.with_file_name(admin)
}

/// Reads a bundle; the recipients are those of its file.
pub(crate) fn open(
    path: &Path,
    identity: Option<&Path>,
) -> Result<(Bundle, Option<Recipients>), BundleError> {
    let opened = sealed::open(path, identity)?;
    let bundle = Bundle::read(&opened.text)
        .map_err(|source| BundleError::Incomplete { path: path.to_owned(), source })?;
    let recipients = opened.recipients.map(|names| Recipients::check(&path.display().to_string(), &names));
    Ok((bundle, recipients.transpose()?))
}
