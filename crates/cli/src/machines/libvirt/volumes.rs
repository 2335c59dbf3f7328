//! Disks and ISO images in the storage pools of a libvirt host.

use std::io::Read;
use std::path::PathBuf;

use ichor_core::machines::libvirt::desired_domain::CdromDrive;
use ichor_core::machines::libvirt::virsh_output::parse_names;
use ichor_core::machines::libvirt::{DesiredDomain, VolumeStore};
use ichor_talos::asset::Asset;

use super::LibvirtError;
use super::virsh::Virsh;
use crate::cache::{self, AssetFetch};
use crate::http::HttpClient;
use crate::machines::program::ToolError;
use crate::machines::{MediaSource, MediumContent, ProgressSink};

/// The running pool of a store; any pool with the same path counts.
fn find_pool(virsh: &Virsh, store: &VolumeStore) -> Result<Option<String>, ToolError> {
    let pools = parse_names(&virsh.run(&["pool-list", "--name"])?);
    let Some(path) = store.path() else {
        return Ok(pools.into_iter().find(|name| *name == store.pool_name()));
    };
    let target = format!("<path>{path}</path>");
    for name in pools {
        if virsh.run(&["pool-dumpxml", &name])?.contains(&target) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The pool of a store, created from its path if missing.
fn ensure_pool(virsh: &Virsh, store: &VolumeStore) -> Result<String, ToolError> {
    match (find_pool(virsh, store)?, store.document()) {
        (Some(pool), _) => return Ok(pool),
        (None, Some(document)) => virsh.run_with_input(&["pool-create", "/dev/stdin"], &document)?,
        (None, None) => virsh.run(&["pool-start", &store.pool_name()])?,
    };
    Ok(store.pool_name())
}

/// The pool of a store, created if missing, with a refreshed volume list.
fn refresh_pool(virsh: &Virsh, store: &VolumeStore) -> Result<String, ToolError> {
    let pool = ensure_pool(virsh, store)?;
    virsh.run(&["pool-refresh", &pool])?;
    Ok(pool)
}

/// Refreshes the volume list of the pool of a store, if it runs.
pub(super) fn refresh_if_running(virsh: &Virsh, store: &VolumeStore) -> Result<(), ToolError> {
    if let Some(pool) = find_pool(virsh, store)? {
        // libvirt refuses a refresh while a volume is being written; the previous list is used then.
        virsh.succeeds(&["pool-refresh", &pool])?;
    }
    Ok(())
}

/// Whether the disk of a VM is listed, without changing anything. Without a pool nothing is listed.
pub(super) fn disk_visible(virsh: &Virsh, wanted: &DesiredDomain) -> Result<bool, ToolError> {
    match find_pool(virsh, &wanted.store)? {
        Some(pool) => volume_exists(virsh, &pool, &wanted.disk),
        None => Ok(false),
    }
}

/// Whether the disk of a VM exists. Creates a missing pool.
pub(super) fn has_disk(virsh: &Virsh, wanted: &DesiredDomain) -> Result<bool, ToolError> {
    let pool = refresh_pool(virsh, &wanted.store)?;
    volume_exists(virsh, &pool, &wanted.disk)
}

fn volume_exists(virsh: &Virsh, pool: &str, volume: &str) -> Result<bool, ToolError> {
    virsh.succeeds(&["vol-info", "--pool", pool, volume])
}

/// Creates the disk of a VM if it is missing.
pub(super) fn create_disk(virsh: &Virsh, wanted: &DesiredDomain) -> Result<(), ToolError> {
    let pool = refresh_pool(virsh, &wanted.store)?;
    if !volume_exists(virsh, &pool, &wanted.disk)? {
        virsh.run_with_input(&["vol-create", &pool, "/dev/stdin"], &wanted.disk_document)?;
    }
    Ok(())
}

/// Uploads the ISO of a drive to its pool. An ISO made for this node is uploaded each time because it may have changed;
/// a shared one only once. It is uploaded under a temporary name and then cloned by the host, so it is complete or missing.
pub(super) fn upload_medium(
    virsh: &Virsh,
    drive: &CdromDrive,
    source: &dyn MediaSource,
    progress: &dyn ProgressSink,
) -> Result<(), LibvirtError> {
    let (pool, name) = (refresh_pool(virsh, &drive.store)?, drive.medium.name.as_str());
    let exists = volume_exists(virsh, &pool, name)?;
    if exists && !drive.medium.own {
        return Ok(());
    }
    let local = LocalFile::from_content(source.content(&drive.medium)?, name)?;
    let (path, length) = (local.path.display().to_string(), local.length.to_string());
    let part = format!("{name}.part");
    delete_volume(virsh, &pool, &part)?;
    progress.transferred(name, 0, local.length);
    virsh.run(&["vol-create-as", &pool, &part, &length, "--format", "raw"])?;
    virsh.run_long(&["vol-upload", "--pool", &pool, &part, &path])?;
    if exists {
        delete_volume(virsh, &pool, name)?;
    }
    virsh.run_long(&["vol-clone", "--pool", &pool, &part, name])?;
    delete_volume(virsh, &pool, &part)?;
    progress.transferred(name, local.length, local.length);
    Ok(())
}

/// A local file that virsh can read.
struct LocalFile {
    path: PathBuf,
    length: u64,
    /// The temporary file, if the contents were written for virsh only; deleted on drop.
    _written: Option<tempfile::NamedTempFile>,
}

impl LocalFile {
    fn from_content(content: MediumContent, name: &str) -> Result<Self, LibvirtError> {
        let local = |source| LibvirtError::Local { what: name.to_owned(), source };
        let (path, written) = match content {
            MediumContent::File(path) => (path, None),
            MediumContent::Url(url) => {
                let path = cache::user_cache()?.join("media").join(name);
                let fetch = AssetFetch { client: &HttpClient::new(), url: &url, asset: &Asset::Iso, path };
                (fetch.run()?.path, None)
            }
            MediumContent::Bytes(bytes) => {
                // Readable by the owner only: it may contain secrets.
                let mut file = tempfile::NamedTempFile::new().map_err(local)?;
                std::io::copy(&mut (&*bytes).take(u64::MAX), &mut file).map_err(local)?;
                (file.path().to_owned(), Some(file))
            }
        };
        let length = std::fs::metadata(&path).map_err(local)?.len();
        Ok(Self { path, length, _written: written })
    }
}

fn delete_volume(virsh: &Virsh, pool: &str, volume: &str) -> Result<(), ToolError> {
    if volume_exists(virsh, pool, volume)? {
        virsh.run(&["vol-delete", "--pool", pool, volume])?;
    }
    Ok(())
}

/// Deletes the ISOs made for one node: they contain its secrets.
pub(super) fn delete_own_media(virsh: &Virsh, wanted: &DesiredDomain) -> Result<(), ToolError> {
    for drive in wanted.drives.iter().filter(|drive| drive.medium.own) {
        let pool = ensure_pool(virsh, &drive.store)?;
        delete_volume(virsh, &pool, &drive.medium.name)?;
        delete_volume(virsh, &pool, &format!("{}.part", drive.medium.name))?;
    }
    Ok(())
}

/// Deletes the ISOs and the disk of a VM, including a disk created manually.
pub(super) fn delete_volumes(virsh: &Virsh, wanted: &DesiredDomain) -> Result<(), ToolError> {
    delete_own_media(virsh, wanted)?;
    let pool = ensure_pool(virsh, &wanted.store)?;
    if !volume_exists(virsh, &pool, &wanted.disk)? {
        virsh.run(&["pool-refresh", &pool])?;
    }
    delete_volume(virsh, &pool, &wanted.disk)
}
