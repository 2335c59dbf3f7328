//! Boot media in the output folders of `ichor build` and `ichor image build`.

use std::path::PathBuf;

use ichor_core::cluster::load::resolve_path;
use ichor_core::render::hypervisor::medium::{Medium, MediumSource};

use super::{MediaSource, MediumContent, MediumError};

/// Folders that contain boot media.
#[derive(Debug)]
pub(crate) struct MediaFolders {
    /// Output folder of `ichor build`.
    pub build: PathBuf,
    /// Output folder of `ichor image build`.
    pub images: PathBuf,
    /// Cluster file; media it names are relative to its folder.
    pub file: String,
}

impl MediaSource for MediaFolders {
    fn content(&self, medium: &Medium) -> Result<MediumContent, MediumError> {
        match &medium.source {
            MediumSource::Url(url) => Ok(MediumContent::Url(url.clone())),
            MediumSource::Built(path) => file(medium, self.build.join(path), Some("`ichor build`")),
            MediumSource::Made(name) => file(medium, self.images.join(name), Some("`ichor image build`")),
            MediumSource::Existing(name) => file(medium, resolve_path(&self.file, name).into(), None),
        }
    }
}

fn file(medium: &Medium, path: PathBuf, command: Option<&'static str>) -> Result<MediumContent, MediumError> {
    if path.is_file() {
        return Ok(MediumContent::File(path));
    }
    let hint = command.map(|command| format!("; create it with {command}")).unwrap_or_default();
    let source = MissingMediaFile { path: path.display().to_string(), hint };
    Err(MediumError { medium: medium.name.clone(), source: Box::new(source) })
}

/// A media file that does not exist yet.
#[derive(Debug, thiserror::Error)]
#[error("{path} not found{hint}")]
struct MissingMediaFile {
    path: String,
    hint: String,
}
