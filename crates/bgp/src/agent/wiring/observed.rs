//! Existing state in the kernel.

use ipnet::IpNet;

use super::{LinkRef, Sysctls};
use crate::agent::Link;
use crate::model::Family;

/// The existing state that concerns a wiring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelState {
    /// Links of the node's own network namespace.
    pub links: Vec<Link>,
    /// The network namespace of our end.
    pub inside: NamespaceState,
    /// The unreachable default routes of VRFs.
    pub unreachable_defaults: Vec<UnreachableDefault>,
    /// Sysctls by their path, if the kernel has them.
    pub sysctls: Sysctls,
}

/// The network namespace of our end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NamespaceState {
    /// It is missing.
    #[default]
    Missing,
    /// A file without a mounted namespace: an earlier run was killed while creating it.
    Half,
    /// It exists.
    There {
        /// Whether the agent created it.
        made: bool,
        /// Its links.
        links: Vec<Link>,
    },
}

/// The unreachable default route in a VRF's table: without it, lookups continue in the main table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnreachableDefault {
    /// The table.
    pub table: u32,
    /// The family.
    pub family: Family,
    /// Whether the agent created it.
    pub made: bool,
}

impl KernelState {
    /// A link of the node's own namespace.
    pub fn link(&self, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.name == name)
    }

    /// The links of a namespace; those of the node's own if none is named.
    pub(crate) fn links_in(&self, namespace: Option<&str>) -> &[Link] {
        match (namespace, &self.inside) {
            (None, _) => &self.links,
            (Some(_), NamespaceState::There { links, .. }) => links,
            (Some(_), NamespaceState::Missing | NamespaceState::Half) => &[],
        }
    }

    /// The link in its namespace.
    pub fn at(&self, at: &LinkRef) -> Option<&Link> {
        self.links_in(at.namespace.as_deref()).iter().find(|link| link.name == at.link)
    }

    /// Links other than `at` that have its address, and `at` itself if it has the address with another prefix length.
    pub(super) fn conflicting_addresses<'o>(
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
