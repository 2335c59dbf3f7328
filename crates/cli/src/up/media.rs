//! Boot media of a run: media of one node are in memory, shared media are files.

use std::sync::Arc;

use ichor_core::render::hypervisor::medium::{Medium, MediumSource};

use crate::configuration::BootMediaFiles;
use crate::machines::{MediaFolders, MediaSource, MediumContent, MediumError};

/// Boot media of this run.
pub(crate) struct RunMedia {
    /// Media that `ichor build` would write, by path in the build folder.
    pub built: BootMediaFiles,
    /// All other media.
    pub others: MediaFolders,
}

impl MediaSource for RunMedia {
    fn content(&self, medium: &Medium) -> Result<MediumContent, MediumError> {
        match &medium.source {
            MediumSource::Built(path) if self.built.contains_key(path) => {
                Ok(MediumContent::Bytes(Arc::clone(&self.built[path])))
            }
            _ => self.others.content(medium),
        }
    }
}
