//! Who has an address of a DHCP server: its files of leases.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::leases::{self, Lease, NoLeases};
use ichor_core::bringup::{Contact, Identity, Source, Stage};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time;

use super::engine::Told;
use super::look::Subject;
use crate::style;

/// Why it is not known who has an address.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeasesError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}", path.display())]
    Contents { path: PathBuf, source: NoLeases },
}

/// How often files are read again.
const PAUSE: Duration = Duration::from_secs(2);

/// The leases in force of all files; lines that are not understood are told.
pub(crate) fn read(files: &[PathBuf]) -> Result<Vec<Lease>, LeasesError> {
    let mut all = Vec::new();
    for path in files {
        let told = of(path)?;
        for wrong in &told.wrong {
            let warning = style::WARNING;
            style::say(&format!("{warning}warning:{warning:#} {}: {wrong}", path.display()));
        }
        all.extend(told.leases);
    }
    Ok(all)
}

fn of(path: &Path) -> Result<leases::Leases, LeasesError> {
    let bytes = fs::read(path).map_err(|source| LeasesError::Read { path: path.to_owned(), source })?;
    // Names of machines are in whatever letters they like.
    leases::read(&String::from_utf8_lossy(&bytes), ichor_system::now())
        .map_err(|source| LeasesError::Contents { path: path.to_owned(), source })
}

/// Where a machine is by its leases.
pub(super) fn contacts(leases: &[Lease], identity: &Identity) -> impl Iterator<Item = Contact> {
    let own = leases.iter().filter(|lease| identity.macs.contains(&lease.mac));
    own.map(|lease| Contact { address: lease.address, stage: Stage::Dhcp, source: Source::Leases })
}

/// Reads the files again and again, until nobody listens: machines that boot later get their leases later.
pub(super) async fn search(
    files: Vec<PathBuf>,
    subjects: Vec<Arc<Subject>>,
    tell: mpsc::UnboundedSender<Told>,
) {
    while !tell.is_closed() {
        time::sleep(PAUSE).await;
        let asked = files.clone();
        // A server may be writing; what is wrong with a file was told at first.
        let read = spawn_blocking(move || asked.iter().filter_map(|path| of(path).ok()).collect::<Vec<_>>());
        let found: Vec<Lease> =
            read.await.unwrap_or_default().into_iter().flat_map(|told| told.leases).collect();
        for (nth, subject) in subjects.iter().enumerate() {
            for contact in contacts(&found, &subject.identity) {
                let _ = tell.send(Told::Found(nth, contact));
            }
        }
    }
}
