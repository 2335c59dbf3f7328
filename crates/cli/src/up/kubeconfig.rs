//! The kubeconfig of whoever sits here.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use ichor_core::bringup::kubeconfig::{MergeError, leads_to, merge, remove};
use ichor_talos::secrets::Pem;

use crate::disk::{self, WriteError};

/// Why a kubeconfig stays as it is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KubeconfigError {
    #[error("nobody says where the kubeconfig goes: give `--kubeconfig FILE`, or `--no-kubeconfig`")]
    Nowhere,
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}", path.display())]
    Contents { path: PathBuf, source: MergeError },
    #[error("cannot make {}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl KubeconfigError {
    fn contents(path: &Path) -> impl FnOnce(MergeError) -> Self {
        move |source| Self::Contents { path: path.to_owned(), source }
    }
}

/// The file that kubectl reads: the first of `KUBECONFIG`, or `~/.kube/config`.
pub(crate) fn usual() -> Result<PathBuf, KubeconfigError> {
    let named = env::var_os("KUBECONFIG")
        .and_then(|all| env::split_paths(&all).find(|path| !path.as_os_str().is_empty()));
    match (named, env::home_dir()) {
        (Some(path), _) => Ok(path),
        (None, Some(home)) => Ok(home.join(".kube/config")),
        (None, None) => Err(KubeconfigError::Nowhere),
    }
}

/// Whether the file leads to the cluster behind `server`.
pub(super) fn is_there(path: &Path, server: &str, authority: &Pem) -> Result<bool, KubeconfigError> {
    Ok(leads_to(&read(path)?, server, authority, ichor_system::now()))
}

/// Puts a cluster's kubeconfig into the file, in one step and for its owner alone.
pub(super) fn add(path: &Path, ours: &str) -> Result<(), KubeconfigError> {
    let merged = merge(&read(path)?, ours).map_err(KubeconfigError::contents(path))?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|source| KubeconfigError::Folder { folder: folder.to_owned(), source })?;
    }
    // Others keep a link here to where the file really is.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    Ok(disk::replace_private(&real, merged.as_bytes())?)
}

/// Takes every way to the cluster of this authority out of the file; whether there was one.
pub(crate) fn take_out(path: &Path, authority: &Pem) -> Result<bool, KubeconfigError> {
    let left = remove(&read(path)?, authority).map_err(KubeconfigError::contents(path))?;
    let Some(left) = left else { return Ok(false) };
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    disk::replace_private(&real, left.as_bytes())?;
    Ok(true)
}

/// Whether the file has a way to the cluster of this authority.
pub(crate) fn has(path: &Path, authority: &Pem) -> Result<bool, KubeconfigError> {
    let left = remove(&read(path)?, authority).map_err(KubeconfigError::contents(path))?;
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
    fn a_new_file_is_for_its_owner_alone_and_one_behind_a_link_stays_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kube/config");
        let link = folder.path().join("link");

        add(&path, SOL).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        add(&link, SOL).unwrap();

        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_file_that_is_something_else_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        fs::write(&path, "kind: Pod\n").unwrap();

        let told = chain(&add(&path, SOL).unwrap_err());

        assert!(told.contains("its kind is another one"), "{told}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "kind: Pod\n");
    }
}
