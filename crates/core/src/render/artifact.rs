//! A file of a build.

use std::borrow::Cow;

use super::boot_media::BootVolume;

/// A file that a build writes.
#[derive(Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its path, relative to the folder of the cluster.
    pub path: String,
    /// Its contents.
    pub contents: ArtifactContents,
    /// Whether it may contain secrets, so that only its owner may read it.
    pub private: bool,
}

/// The contents of a file.
#[derive(Clone, PartialEq, Eq)]
pub enum ArtifactContents {
    /// A text.
    Text(String),
    /// A volume, written only on demand: a cluster may have thousands.
    Image(BootVolume),
}

impl Artifact {
    /// A file without secrets.
    pub fn public(path: impl Into<String>, contents: impl Into<ArtifactContents>) -> Self {
        Self { path: path.into(), contents: contents.into(), private: false }
    }

    /// A file that may contain secrets.
    pub fn private(path: impl Into<String>, contents: impl Into<ArtifactContents>) -> Self {
        Self { path: path.into(), contents: contents.into(), private: true }
    }

    /// Its text, if it is a text file.
    pub fn text(&self) -> Option<&str> {
        match &self.contents {
            ArtifactContents::Text(text) => Some(text),
            ArtifactContents::Image(_) => None,
        }
    }
}

impl std::fmt::Debug for Artifact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Artifact").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ArtifactContents {
    /// The bytes of the file.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Text(text) => Cow::Borrowed(text.as_bytes()),
            Self::Image(image) => Cow::Owned(image.bytes()),
        }
    }
}

impl From<String> for ArtifactContents {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ArtifactContents {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<BootVolume> for ArtifactContents {
    fn from(image: BootVolume) -> Self {
        Self::Image(image)
    }
}
