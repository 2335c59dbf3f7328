//! The user's kubeconfig.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use ichor_core::bringup::kubeconfig::{self, MergeError, has_access, merge};
use ichor_talos::secrets::Pem;

use crate::disk::{self, WriteError};

/// Errors of reading and changing a kubeconfig.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KubeconfigError {
    #[error(
        "no kubeconfig path: KUBECONFIG and HOME are not set; use `--kubeconfig FILE` or `--no-kubeconfig`"
    )]
    NoPath,
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}", path.display())]
    Contents { path: PathBuf, source: MergeError },
    #[error("cannot create {}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl KubeconfigError {
    fn contents(path: &Path) -> impl FnOnce(MergeError) -> Self {
        move |source| Self::Contents { path: path.to_owned(), source }
    }
}

/// The file that kubectl uses: the first of `KUBECONFIG`, or `~/.kube/config`.
pub(crate) fn default_path() -> Result<PathBuf, KubeconfigError> {
    let named = env::var_os("KUBECONFIG")
        .and_then(|all| env::split_paths(&all).find(|path| !path.as_os_str().is_empty()));
    match (named, env::home_dir()) {
        (Some(path), _) => Ok(path),
        (None, Some(home)) => Ok(home.join(".kube/config")),
        (None, None) => Err(KubeconfigError::NoPath),
    }
}

/// Whether the file has a valid context for the cluster at `server`.
pub(super) fn has_context(path: &Path, server: &str, authority: &Pem) -> Result<bool, KubeconfigError> {
    Ok(has_access(&read(path)?, server, authority, ichor_system::now()))
}

/// Merges a cluster's kubeconfig into the file atomically, readable by the owner only.
pub(super) fn merge_into(path: &Path, ours: &str) -> Result<(), KubeconfigError> {
    let merged = merge(&read(path)?, ours).map_err(KubeconfigError::contents(path))?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|source| KubeconfigError::Folder { folder: folder.to_owned(), source })?;
    }
    // The path may be a symlink; the link stays.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    Ok(disk::replace_private(&real, merged.as_bytes())?)
}

/// Removes every context of the cluster with this CA; false if there was none.
pub(crate) fn remove_cluster(path: &Path, authority: &Pem) -> Result<bool, KubeconfigError> {
    let left =
        kubeconfig::remove_cluster(&read(path)?, authority).map_err(KubeconfigError::contents(path))?;
    let Some(left) = left else { return Ok(false) };
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    disk::replace_private(&real, left.as_bytes())?;
    Ok(true)
}

/// Whether the file has a context of the cluster with this CA.
pub(crate) fn has_cluster(path: &Path, authority: &Pem) -> Result<bool, KubeconfigError> {
    let left =
        kubeconfig::remove_cluster(&read(path)?, authority).map_err(KubeconfigError::contents(path))?;
    Ok(left.is_some())
}

fn read(path: &Path) -> Result<String, KubeconfigError> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|source| KubeconfigError::Read { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::chain::chain;

    const SOL: &str = "clusters: [{name: sol, cluster: {}}]\ncontexts: [{name: sol, context: {}}]\nusers: []\ncurrent-context: sol\n";

    #[test]
    fn a_new_kubeconfig_is_private_and_a_symlink_to_it_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kube/config");
        let link = folder.path().join("link");

        merge_into(&path, SOL).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        merge_into(&link, SOL).unwrap();

        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_file_of_another_kind_is_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        fs::write(&path, "kind: Pod\n").unwrap();

        let message = chain(&merge_into(&path, SOL).unwrap_err());

        assert!(message.contains("`kind` is not `Config`"), "{message}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "kind: Pod\n");
    }
}
