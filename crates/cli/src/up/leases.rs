//! Addresses of machines from lease files of DHCP servers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::leases::{self, DhcpLease, LeaseFormatError};
use ichor_core::bringup::{AddressOrigin, AddressStage, MachineIdentity, NodeAddress};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time;

use super::engine::EngineEvent;
use super::observer::NodeTarget;
use crate::style;

/// Errors of reading lease files.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeasesError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}", path.display())]
    Contents { path: PathBuf, source: LeaseFormatError },
}

/// Interval between reads of the lease files.
const READ_INTERVAL: Duration = Duration::from_secs(2);

/// Valid leases of all files; prints a warning for each invalid line.
pub(crate) fn read(files: &[PathBuf]) -> Result<Vec<DhcpLease>, LeasesError> {
    let mut all = Vec::new();
    for path in files {
        let parsed = read_file(path)?;
        for wrong in &parsed.wrong {
            let warning = style::WARNING;
            style::say(&format!("{warning}warning:{warning:#} {}: {wrong}", path.display()));
        }
        all.extend(parsed.leases);
    }
    Ok(all)
}

fn read_file(path: &Path) -> Result<leases::LeaseFile, LeasesError> {
    let bytes = fs::read(path).map_err(|source| LeasesError::Read { path: path.to_owned(), source })?;
    // Host names may be in any encoding.
    leases::parse_leases(&String::from_utf8_lossy(&bytes), ichor_system::now())
        .map_err(|source| LeasesError::Contents { path: path.to_owned(), source })
}

/// Addresses of a machine in leases.
pub(super) fn contacts(
    leases: &[DhcpLease],
    identity: &MachineIdentity,
) -> impl Iterator<Item = NodeAddress> {
    let own = leases.iter().filter(|lease| identity.macs.contains(&lease.mac));
    own.map(|lease| NodeAddress {
        address: lease.address,
        stage: AddressStage::Dhcp,
        source: AddressOrigin::Leases,
    })
}

/// Reads the lease files periodically until the receiver is dropped: machines that boot later get leases later.
pub(super) async fn watch_leases(
    files: Vec<PathBuf>,
    targets: Vec<Arc<NodeTarget>>,
    events: mpsc::UnboundedSender<EngineEvent>,
) {
    while !events.is_closed() {
        time::sleep(READ_INTERVAL).await;
        let asked = files.clone();
        // The server may be writing the file; its problems were reported by the first read.
        let read =
            spawn_blocking(move || asked.iter().filter_map(|path| read_file(path).ok()).collect::<Vec<_>>());
        let found: Vec<DhcpLease> =
            read.await.unwrap_or_default().into_iter().flat_map(|parsed| parsed.leases).collect();
        for (nth, target) in targets.iter().enumerate() {
            for contact in contacts(&found, &target.identity) {
                let _ = events.send(EngineEvent::AddressFound(nth, contact));
            }
        }
    }
}
