//! Files in Proxmox storages: ISO images, and disk images that new disks are based on.

use ichor_core::machines::proxmox::desired_vm::VmDrive;
use ichor_core::machines::proxmox::inventory::parse_names;
use ichor_core::machines::proxmox::{DesiredVm, request};

use super::api::{ProxmoxApi, ProxmoxError};
use super::task;
use super::upload::{self, UploadForm};
use crate::machines::{MediaSource, MediumContent, NoProgress, ProgressSink};

/// Uploads the file of a drive to its storage. A file made for this node is uploaded each time because it may have changed;
/// a shared one only once.
pub(super) fn upload_medium(
    api: &ProxmoxApi,
    host: &str,
    drive: &VmDrive,
    source: &dyn MediaSource,
    progress: &dyn ProgressSink,
) -> Result<(), ProxmoxError> {
    if drive.is_given() {
        return Ok(());
    }
    let (storage, name) = (drive.storage(), &drive.medium.name);
    if !drive.medium.own && volume_exists(api, host, drive)? {
        return Ok(());
    }
    let content = source.content(&drive.medium)?;
    if let MediumContent::Url(url) = &content {
        return task::run_task(api, &request::download(host, storage, drive.content(), name, url), progress);
    }
    let local = |source| ProxmoxError::Local { what: name.clone(), source };
    let sum = upload::sha256(&content).map_err(local)?.unwrap_or_default();
    let Some(file) = content.open().map_err(local)? else { return Ok(()) };
    let call = request::upload(host, storage, drive.content(), &sum);
    let answer = api.upload(&call, UploadForm::new(&call, name, file, progress))?;
    task::wait_for_task(api, &call, &answer, progress)
}

/// Whether the file of a drive is in its storage.
fn volume_exists(api: &ProxmoxApi, host: &str, drive: &VmDrive) -> Result<bool, ProxmoxError> {
    let answer = api.call(&request::contents(host, drive.storage(), drive.content()))?;
    Ok(parse_names(&answer, "volid").contains(&drive.volume))
}

/// Deletes the files made for one node: they contain its secrets.
pub(super) fn delete_own_media(api: &ProxmoxApi, host: &str, wanted: &DesiredVm) -> Result<(), ProxmoxError> {
    for drive in wanted.drives.iter().filter(|drive| drive.medium.own) {
        if volume_exists(api, host, drive)? {
            task::run_task(api, &request::delete_volume(host, drive.storage(), &drive.volume), &NoProgress)?;
        }
    }
    Ok(())
}
