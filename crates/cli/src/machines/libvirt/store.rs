//! Disks and CDs in the pools of a libvirt host.

use std::io::Read;
use std::path::PathBuf;

use ichor_core::machines::libvirt::answer::names;
use ichor_core::machines::libvirt::wanted::Drive;
use ichor_core::machines::libvirt::{Store, Wanted};
use ichor_talos::asset::Asset;

use super::LibvirtError;
use super::virsh::Virsh;
use crate::cache::{self, Fetch};
use crate::http::Client;
use crate::machines::program::ToolError;
use crate::machines::{Onlooker, Shelf, Supply};

/// The pool of a store, where it runs. One of somebody else with its path is as good.
fn running(virsh: &Virsh, store: &Store) -> Result<Option<String>, ToolError> {
    let pools = names(&virsh.say(&["pool-list", "--name"])?);
    let Some(path) = store.path() else { return Ok(pools.into_iter().find(|name| *name == store.pool())) };
    let target = format!("<path>{path}</path>");
    for name in pools {
        if virsh.say(&["pool-dumpxml", &name])?.contains(&target) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The pool of a store, made of its path where there is none.
fn pool(virsh: &Virsh, store: &Store) -> Result<String, ToolError> {
    match (running(virsh, store)?, store.document()) {
        (Some(pool), _) => return Ok(pool),
        (None, Some(document)) => virsh.give(&["pool-create", "/dev/stdin"], &document)?,
        (None, None) => virsh.say(&["pool-start", &store.pool()])?,
    };
    Ok(store.pool())
}

/// The pool of a store, made where there is none, which has seen what others brought there.
fn fresh(virsh: &Virsh, store: &Store) -> Result<String, ToolError> {
    let pool = pool(virsh, store)?;
    virsh.say(&["pool-refresh", &pool])?;
    Ok(pool)
}

/// Lets the pool of a store, where it runs, see what others brought there.
pub(super) fn refresh(virsh: &Virsh, store: &Store) -> Result<(), ToolError> {
    if let Some(pool) = running(virsh, store)? {
        // Refused while somebody fills a volume there: then it tells what it knew before.
        virsh.has(&["pool-refresh", &pool])?;
    }
    Ok(())
}

/// Whether a machine's disk is seen, without a change: a place without a pool shows nothing.
pub(super) fn shows_disk(virsh: &Virsh, wanted: &Wanted) -> Result<bool, ToolError> {
    match running(virsh, &wanted.store)? {
        Some(pool) => has(virsh, &pool, &wanted.disk),
        None => Ok(false),
    }
}

/// Whether a machine's disk is there. A place without a pool gets one.
pub(super) fn has_disk(virsh: &Virsh, wanted: &Wanted) -> Result<bool, ToolError> {
    let pool = fresh(virsh, &wanted.store)?;
    has(virsh, &pool, &wanted.disk)
}

fn has(virsh: &Virsh, pool: &str, volume: &str) -> Result<bool, ToolError> {
    virsh.has(&["vol-info", "--pool", pool, volume])
}

/// Makes a machine's disk, where it is not there.
pub(super) fn disk(virsh: &Virsh, wanted: &Wanted) -> Result<(), ToolError> {
    let pool = fresh(virsh, &wanted.store)?;
    if !has(virsh, &pool, &wanted.disk)? {
        virsh.give(&["vol-create", &pool, "/dev/stdin"], &wanted.disk_document)?;
    }
    Ok(())
}

/// Makes sure that a drive's CD is in its pool. One that was made for this machine is sent each time, for it may be another now;
/// one that all share is not sent twice. It is sent under another name and then copied by the host, so that it is there whole or not at all.
pub(super) fn bring(
    virsh: &Virsh,
    drive: &Drive,
    shelf: &dyn Shelf,
    onlooker: &dyn Onlooker,
) -> Result<(), LibvirtError> {
    let (pool, name) = (fresh(virsh, &drive.store)?, drive.medium.name.as_str());
    let is_there = has(virsh, &pool, name)?;
    if is_there && !drive.medium.own {
        return Ok(());
    }
    let local = Local::of(shelf.supply(&drive.medium)?, name)?;
    let (path, length) = (local.path.display().to_string(), local.length.to_string());
    let part = format!("{name}.part");
    discard(virsh, &pool, &part)?;
    onlooker.bytes(name, 0, local.length);
    virsh.say(&["vol-create-as", &pool, &part, &length, "--format", "raw"])?;
    virsh.say_long(&["vol-upload", "--pool", &pool, &part, &path])?;
    if is_there {
        discard(virsh, &pool, name)?;
    }
    virsh.say_long(&["vol-clone", "--pool", &pool, &part, name])?;
    discard(virsh, &pool, &part)?;
    onlooker.bytes(name, local.length, local.length);
    Ok(())
}

/// A file of this machine, which virsh can read.
struct Local {
    path: PathBuf,
    length: u64,
    /// What it is in, where it was written for virsh alone: it goes with it.
    _written: Option<tempfile::NamedTempFile>,
}

impl Local {
    fn of(supply: Supply, name: &str) -> Result<Self, LibvirtError> {
        let local = |source| LibvirtError::Local { what: name.to_owned(), source };
        let (path, written) = match supply {
            Supply::File(path) => (path, None),
            Supply::Url(url) => {
                let path = cache::user()?.join("media").join(name);
                let fetch = Fetch { client: &Client::new(), url: &url, asset: &Asset::Iso, path };
                (fetch.run()?.path, None)
            }
            Supply::Bytes(bytes) => {
                // Nobody else can read it: it may hold secrets.
                let mut file = tempfile::NamedTempFile::new().map_err(local)?;
                std::io::copy(&mut (&*bytes).take(u64::MAX), &mut file).map_err(local)?;
                (file.path().to_owned(), Some(file))
            }
        };
        let length = std::fs::metadata(&path).map_err(local)?.len();
        Ok(Self { path, length, _written: written })
    }
}

fn discard(virsh: &Virsh, pool: &str, volume: &str) -> Result<(), ToolError> {
    if has(virsh, pool, volume)? {
        virsh.say(&["vol-delete", "--pool", pool, volume])?;
    }
    Ok(())
}

/// Takes away the CDs that were made for one machine: they hold the machine's secrets.
pub(super) fn discard_own(virsh: &Virsh, wanted: &Wanted) -> Result<(), ToolError> {
    for drive in wanted.drives.iter().filter(|drive| drive.medium.own) {
        let pool = pool(virsh, &drive.store)?;
        discard(virsh, &pool, &drive.medium.name)?;
        discard(virsh, &pool, &format!("{}.part", drive.medium.name))?;
    }
    Ok(())
}

/// Takes away a machine's disk too, also one that was made by hand.
pub(super) fn discard_all(virsh: &Virsh, wanted: &Wanted) -> Result<(), ToolError> {
    discard_own(virsh, wanted)?;
    let pool = pool(virsh, &wanted.store)?;
    if !has(virsh, &pool, &wanted.disk)? {
        virsh.say(&["pool-refresh", &pool])?;
    }
    discard(virsh, &pool, &wanted.disk)
}
