//! What media are made of, and who is told how far they got.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;

use ichor_core::render::hypervisor::medium::Medium;

/// What a medium is made of.
#[derive(Clone, Debug)]
pub(crate) enum Supply {
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// A file of this machine.
    File(PathBuf),
    /// Whatever is there: a hypervisor or a controller fetches it by itself.
    Url(String),
}

/// A medium that cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot get {medium}")]
pub(crate) struct SupplyError {
    /// Its name.
    pub medium: String,
    /// Why not.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Whoever has the media.
pub(crate) trait Shelf: Sync {
    /// What a medium is made of. Never asked for one that is there already.
    fn supply(&self, medium: &Medium) -> Result<Supply, SupplyError>;
}

/// Whoever wants to know how far a long step got.
pub(crate) trait Onlooker: Sync {
    /// So many bytes of a file are there now.
    fn bytes(&self, what: &str, done: u64, total: u64);

    /// A line that the provider says while it works.
    fn line(&self, text: &str);
}

impl Supply {
    /// What it holds and how long that is; none where it is not on this machine.
    pub(crate) fn open(&self) -> io::Result<Option<(Box<dyn Read + Send>, u64)>> {
        Ok(match self {
            Self::Bytes(bytes) => {
                let length = bytes.len() as u64;
                Some((Box::new(Cursor::new(Arc::clone(bytes))), length))
            }
            Self::File(path) => {
                let file = File::open(path)?;
                let length = file.metadata()?.len();
                Some((Box::new(file), length))
            }
            Self::Url(_) => None,
        })
    }
}
