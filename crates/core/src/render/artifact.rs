//! A file of a build.

use std::borrow::Cow;

use super::carrier::BootVolume;

/// A file that a build makes.
#[derive(Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Where it goes, from the folder of the cluster.
    pub path: String,
    /// What it holds.
    pub contents: ArtifactContents,
    /// Whether it is of the kind that holds secrets: nobody but its owner may read it.
    pub private: bool,
}

/// What a file holds.
#[derive(Clone, PartialEq, Eq)]
pub enum ArtifactContents {
    /// A text.
    Text(String),
    /// A volume, of which there are too many to have the bytes of all at once.
    Image(BootVolume),
}

impl Artifact {
    /// A file for everybody.
    pub fn public(path: impl Into<String>, contents: impl Into<ArtifactContents>) -> Self {
        Self { path: path.into(), contents: contents.into(), private: false }
    }

    /// A file that may hold secrets.
    pub fn private(path: impl Into<String>, contents: impl Into<ArtifactContents>) -> Self {
        Self { path: path.into(), contents: contents.into(), private: true }
    }

    /// Its text, where it is one.
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
