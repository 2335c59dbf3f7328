//! Contents of boot media, and progress reports while they are transferred.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;

use ichor_core::render::hypervisor::medium::Medium;

/// Contents of a medium.
#[derive(Clone, Debug)]
pub(crate) enum MediumContent {
    /// Bytes in memory.
    Bytes(Arc<[u8]>),
    /// A local file.
    File(PathBuf),
    /// A URL that the hypervisor or BMC downloads.
    Url(String),
}

/// A medium whose contents are unavailable.
#[derive(Debug, thiserror::Error)]
#[error("cannot get {medium}")]
pub(crate) struct MediumError {
    /// Name of the medium.
    pub medium: String,
    /// Cause.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// A source of boot media.
pub(crate) trait MediaSource: Sync {
    /// Returns the contents of a medium. Not called for a medium that the provider has already.
    fn content(&self, medium: &Medium) -> Result<MediumContent, MediumError>;
}

/// Receives progress reports of long operations.
pub(crate) trait ProgressSink: Sync {
    /// Reports the transferred bytes of a file.
    fn transferred(&self, what: &str, done: u64, total: u64);

    /// Reports a log line of the provider.
    fn message(&self, text: &str);
}

impl MediumContent {
    /// Opens the contents and returns them with their length; none for a URL.
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
