//! The sizes of an extension's components.

use super::container::{AGENT, Container};
use crate::oci::{EntryKind, FileTree};

/// A part of an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// ichor-agent.
    Agent,
    /// The programs of the daemon.
    Daemons,
    /// Libraries and their loader.
    Libraries,
    /// Other data of the daemon.
    Data,
    /// Manifest, service definition, licences and the list of parts.
    Documents,
}

impl Component {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Daemons => "daemons",
            Self::Libraries => "libraries",
            Self::Data => "data",
            Self::Documents => "documents",
        }
    }
}

/// The size of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComponentSize {
    /// Which part.
    pub share: Component,
    /// The number of its files.
    pub files: usize,
    /// Their total length.
    pub bytes: u64,
}

/// The components of a tree, whose container is in `folder`.
pub(super) fn component_sizes(tree: &FileTree, folder: &str, container: &Container) -> Vec<ComponentSize> {
    let all =
        [Component::Agent, Component::Daemons, Component::Libraries, Component::Data, Component::Documents];
    let mut parts = all.map(|share| ComponentSize { share, files: 0, bytes: 0 });
    for (path, entry) in tree.iter() {
        let EntryKind::File(bytes) = &entry.kind else { continue };
        let inside = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        let share = match inside {
            None => Component::Documents,
            Some(AGENT) => Component::Agent,
            Some(path) if container.programs.iter().any(|it| it == path) => Component::Daemons,
            Some(path) if container.libraries.iter().any(|it| it == path) => Component::Libraries,
            Some(_) => Component::Data,
        };
        for part in parts.iter_mut().filter(|part| part.share == share) {
            part.files += 1;
            part.bytes += bytes.len();
        }
    }
    parts.to_vec()
}
