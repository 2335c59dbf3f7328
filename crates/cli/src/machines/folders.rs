//! Media as `ichor build` and `ichor image build` wrote them.

use std::path::PathBuf;

use ichor_core::cluster::load::beside;
use ichor_core::render::hypervisor::medium::{Medium, Source};

use super::{Shelf, Supply, SupplyError};

/// The folders that media are in.
#[derive(Debug)]
pub(crate) struct Folders {
    /// What `ichor build` wrote of this cluster.
    pub build: PathBuf,
    /// What `ichor image build` wrote.
    pub images: PathBuf,
    /// The cluster file, beside which are those that it names.
    pub file: String,
}

impl Shelf for Folders {
    fn supply(&self, medium: &Medium) -> Result<Supply, SupplyError> {
        match &medium.source {
            Source::Url(url) => Ok(Supply::Url(url.clone())),
            Source::Built(path) => file(medium, self.build.join(path), "`ichor build`"),
            Source::Made(name) => file(medium, self.images.join(name), "`ichor image build`"),
            Source::There(name) => file(medium, beside(&self.file, name).into(), "somebody else"),
        }
    }
}

fn file(medium: &Medium, path: PathBuf, maker: &'static str) -> Result<Supply, SupplyError> {
    if path.is_file() {
        return Ok(Supply::File(path));
    }
    let source = NotThere { path: path.display().to_string(), maker };
    Err(SupplyError { medium: medium.name.clone(), source: Box::new(source) })
}

/// A file that has to be made first.
#[derive(Debug, thiserror::Error)]
#[error("{path} is not there: {maker} makes it")]
struct NotThere {
    path: String,
    maker: &'static str,
}
