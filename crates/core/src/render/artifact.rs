//! A file of a build.

/// A file of a build, for a machine, for people or for what is around the nodes.
#[derive(Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Where it goes, from the folder of the cluster.
    pub path: String,
    /// What it holds.
    pub contents: Vec<u8>,
    /// Whether it is of the kind that holds passwords.
    pub private: bool,
}

impl Artifact {
    /// A file for everybody.
    pub(super) fn public(path: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), contents: contents.into(), private: false }
    }

    /// A file that may hold passwords.
    pub(super) fn private(path: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), contents: contents.into(), private: true }
    }

    /// What it holds, as text: most files are.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.contents).into_owned()
    }
}

impl std::fmt::Debug for Artifact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Artifact").field("path", &self.path).finish_non_exhaustive()
    }
}
