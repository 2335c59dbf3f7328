//! What is there already.

use ipnet::IpNet;

use super::{LinkRef, Sysctls};
use crate::agent::Link;
use crate::model::Family;

/// The kernel's side of a wiring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelState {
    /// Links of the node's own network namespace.
    pub links: Vec<Link>,
    /// The namespace of our end.
    pub inside: NamespaceState,
    /// Routes that end the table of a VRF.
    pub fences: Vec<UnreachableDefault>,
    /// Switches by their path, as far as the kernel has them.
    pub switches: Sysctls,
}

/// What is there of the namespace of our end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NamespaceState {
    /// Nothing.
    #[default]
    Missing,
    /// A file where it should be mounted: somebody was killed while making it.
    Half,
    /// The namespace.
    There {
        /// Whether the agent made it.
        made: bool,
        /// Its links.
        links: Vec<Link>,
    },
}

/// The last route of a VRF's table: without it, lookups go on in the node's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnreachableDefault {
    /// The table.
    pub table: u32,
    /// The family.
    pub family: Family,
    /// Whether the agent made it.
    pub made: bool,
}

impl KernelState {
    /// A link of the node's own namespace.
    pub fn link(&self, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.name == name)
    }

    /// The links of a namespace; the node's own when none is named.
    pub(crate) fn links_in(&self, namespace: Option<&str>) -> &[Link] {
        match (namespace, &self.inside) {
            (None, _) => &self.links,
            (Some(_), NamespaceState::There { links, .. }) => links,
            (Some(_), NamespaceState::Missing | NamespaceState::Half) => &[],
        }
    }

    /// The link in its place.
    pub fn at(&self, at: &LinkRef) -> Option<&Link> {
        self.links_in(at.namespace.as_deref()).iter().find(|link| link.name == at.link)
    }

    /// Links beside the one in its place that have its address, and that link itself when it has it with another length.
    pub(super) fn rivals<'o>(
        &'o self,
        at: &'o LinkRef,
        net: &'o IpNet,
    ) -> impl Iterator<Item = (&'o Link, IpNet)> {
        self.links_in(at.namespace.as_deref()).iter().flat_map(move |link| {
            let same =
                move |found: &&IpNet| found.addr() == net.addr() && (link.name != at.link || *found != net);
            link.addresses.iter().filter(same).map(move |found| (link, *found))
        })
    }
}
