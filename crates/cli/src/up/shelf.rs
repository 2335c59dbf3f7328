//! The boot media of machines: what is made for a node is in memory, what is made for many is a file.

use std::sync::Arc;

use ichor_core::render::hypervisor::medium::{Medium, Source};

use crate::configuration::Carriers;
use crate::machines::{Folders, Shelf, Supply, SupplyError};

/// Media of this run.
pub(crate) struct Media {
    /// What `ichor build` would write, by its path from the folder of the cluster.
    pub built: Carriers,
    /// Whatever else there is.
    pub others: Folders,
}

impl Shelf for Media {
    fn supply(&self, medium: &Medium) -> Result<Supply, SupplyError> {
        match &medium.source {
            Source::Built(path) if self.built.contains_key(path) => {
                Ok(Supply::Bytes(Arc::clone(&self.built[path])))
            }
            _ => self.others.supply(medium),
        }
    }
}
