//! The kubeconfig of whoever sits here.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use ichor_core::bringup::kubeconfig::{leads_to, merge, remove};
use ichor_talos::secrets::Pem;

use crate::disk;

/// The file that kubectl reads: the first of `KUBECONFIG`, or `~/.kube/config`.
pub(crate) fn usual() -> anyhow::Result<PathBuf> {
    let named = env::var_os("KUBECONFIG")
        .and_then(|all| env::split_paths(&all).find(|path| !path.as_os_str().is_empty()));
    match (named, env::home_dir()) {
        (Some(path), _) => Ok(path),
        (None, Some(home)) => Ok(home.join(".kube/config")),
        (None, None) => {
            bail!("nobody says where the kubeconfig goes: give `--kubeconfig FILE`, or `--no-kubeconfig`")
        }
    }
}

/// Whether the file leads to the cluster behind `server`.
pub(super) fn is_there(path: &Path, server: &str, authority: &Pem) -> anyhow::Result<bool> {
    Ok(leads_to(&read(path)?, server, authority, ichor_client::now()))
}

/// Puts a cluster's kubeconfig into the file, in one step and for its owner alone.
pub(super) fn add(path: &Path, ours: &str) -> anyhow::Result<()> {
    let merged = merge(&read(path)?, ours).with_context(|| path.display().to_string())?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.with_context(|| format!("cannot make {}", folder.display()))?;
    }
    // Others keep a link here to where the file really is.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    Ok(disk::replace_private(&real, merged.as_bytes())?)
}

/// Takes every way to the cluster of this authority out of the file; whether there was one.
pub(crate) fn take_out(path: &Path, authority: &Pem) -> anyhow::Result<bool> {
    let left = remove(&read(path)?, authority).with_context(|| path.display().to_string())?;
    let Some(left) = left else { return Ok(false) };
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    disk::replace_private(&real, left.as_bytes())?;
    Ok(true)
}

/// Whether the file has a way to the cluster of this authority.
pub(crate) fn has(path: &Path, authority: &Pem) -> anyhow::Result<bool> {
    let left = remove(&read(path)?, authority).with_context(|| path.display().to_string())?;
    Ok(left.is_some())
}

fn read(path: &Path) -> anyhow::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read.with_context(|| format!("cannot read {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

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

        let told = format!("{:#}", add(&path, SOL).unwrap_err());

        assert!(told.contains("its kind is another one"), "{told}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "kind: Pod\n");
    }
}
