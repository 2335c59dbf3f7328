//! Files in the storages of Proxmox: CDs, and images that disks begin as.

use ichor_core::machines::proxmox::there::names;
use ichor_core::machines::proxmox::wanted::Drive;
use ichor_core::machines::proxmox::{Wanted, request};

use super::api::{Api, ApiError};
use super::task;
use super::upload::{self, Upload};
use crate::machines::{Nobody, Onlooker, Shelf, Supply};

/// Makes sure that a drive's file is in its storage. One that was made for this machine is sent each time, for it may be another
/// now; one that all share is not sent twice.
pub(super) fn bring(
    api: &Api,
    host: &str,
    drive: &Drive,
    shelf: &dyn Shelf,
    onlooker: &dyn Onlooker,
) -> Result<(), ApiError> {
    if drive.is_given() {
        return Ok(());
    }
    let (storage, name) = (drive.storage(), &drive.medium.name);
    if !drive.medium.own && is_there(api, host, drive)? {
        return Ok(());
    }
    let supply = shelf.supply(&drive.medium)?;
    if let Supply::Url(url) = &supply {
        return task::run(api, &request::download(host, storage, drive.content(), name, url), onlooker);
    }
    let local = |source| ApiError::Local { what: name.clone(), source };
    let sum = upload::sum(&supply).map_err(local)?.unwrap_or_default();
    let Some(file) = supply.open().map_err(local)? else { return Ok(()) };
    let call = request::upload(host, storage, drive.content(), &sum);
    let answer = api.upload(&call, Upload::new(&call, name, file, onlooker))?;
    task::follow(api, &call, &answer, onlooker)
}

/// Whether a drive's file is in its storage.
fn is_there(api: &Api, host: &str, drive: &Drive) -> Result<bool, ApiError> {
    let answer = api.call(&request::contents(host, drive.storage(), drive.content()))?;
    Ok(names(&answer, "volid").contains(&drive.volume))
}

/// Takes away what was made for one machine: it holds the machine's secrets.
pub(super) fn discard_own(api: &Api, host: &str, wanted: &Wanted) -> Result<(), ApiError> {
    for drive in wanted.drives.iter().filter(|drive| drive.medium.own) {
        if is_there(api, host, drive)? {
            task::run(api, &request::discard(host, drive.storage(), &drive.volume), &Nobody)?;
        }
    }
    Ok(())
}
