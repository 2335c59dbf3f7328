//! A file of a build.

/// A file for people and for other machines than the nodes.
#[derive(Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Where it goes, from the folder of the cluster.
    pub path: String,
    /// What it holds.
    pub text: String,
    /// Whether it is of the kind that holds passwords.
    pub private: bool,
}

impl Artifact {
    /// A file for everybody.
    pub(super) fn public(path: impl Into<String>, text: String) -> Self {
        Self { path: path.into(), text, private: false }
    }

    /// A file that may hold passwords.
    pub(super) fn private(path: impl Into<String>, text: String) -> Self {
        Self { path: path.into(), text, private: true }
    }
}

impl std::fmt::Debug for Artifact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Artifact").field("path", &self.path).finish_non_exhaustive()
    }
}
