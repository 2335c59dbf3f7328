//! Removal of everything that the agent created.

use std::fmt;

use ipnet::IpNet;

use super::{KernelState, NamespaceState, Sysctls, UnreachableDefault, Wiring};
use crate::agent::Link;

/// One removal. A missing object is not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// An address in the node's own namespace.
    Address {
        /// The link.
        link: String,
        /// The address.
        net: IpNet,
    },
    /// A link; the peer of a veth link goes with it.
    Link {
        /// Its name.
        name: String,
    },
    /// The unreachable default route of a VRF.
    UnreachableDefault(UnreachableDefault),
    /// A namespace, complete or not.
    Namespace {
        /// Its name.
        name: String,
    },
    /// A sysctl that returns to its value from before the agent.
    Sysctl {
        /// Its path below `/proc/sys`.
        path: String,
        /// The value.
        value: String,
    },
}

/// Everything to remove: all objects with the agent's marks, including those of an earlier wiring; a VRF after its
/// links. `before` has the recorded values of sysctls. A sysctl that another program has changed since stays as it is.
pub fn removals(wiring: &Wiring, observed: &KernelState, before: &Sysctls) -> Vec<Removal> {
    let (made, kept): (Vec<&Link>, Vec<&Link>) = observed.links.iter().partition(|link| link.made);
    let given = kept.iter().flat_map(|link| {
        link.given.iter().map(|net| Removal::Address { link: link.name.clone(), net: *net })
    });
    let (vrfs, links): (Vec<&Link>, Vec<&Link>) =
        made.iter().partition(|link| link.kind.as_deref() == Some("vrf"));
    let links = links.iter().enumerate().filter(|&(nth, link)| {
        let earlier = |other: &&Link| {
            !link.far && link.kind.as_deref() == Some("veth") && link.peer == Some(other.index)
        };
        !links[..nth].iter().any(earlier)
    });
    let links = links.map(|(_, link)| *link).chain(vrfs.iter().copied());
    let links = links.map(|link| Removal::Link { name: link.name.clone() });
    let unreachable_defaults = observed
        .unreachable_defaults
        .iter()
        .filter(|route| route.made)
        .map(|route| Removal::UnreachableDefault(*route));
    let namespace = wiring.namespace().filter(|_| match observed.inside {
        NamespaceState::Missing => false,
        NamespaceState::Half => true,
        NamespaceState::There { made, .. } => made,
    });
    let namespace = namespace.map(|name| Removal::Namespace { name: name.to_owned() });
    let sysctls = wiring.managed_sysctls().into_iter().filter_map(|sysctl| {
        let value = before.get(&sysctl.path).filter(|value| *value != sysctl.value)?;
        let ours = observed.sysctls.get(&sysctl.path).is_some_and(|now| now == sysctl.value);
        ours.then(|| Removal::Sysctl { path: sysctl.path, value: value.clone() })
    });
    given.chain(links).chain(unreachable_defaults).chain(namespace).chain(sysctls).collect()
}

/// The action, worded to follow "cannot".
impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { link, net } => write!(f, "remove address {net} from {link}"),
            Self::Link { name } => write!(f, "remove link {name}"),
            Self::UnreachableDefault(route) => {
                write!(f, "remove unreachable route {} from table {}", route.family.everything(), route.table)
            }
            Self::Namespace { name } => write!(f, "remove namespace {name}"),
            Self::Sysctl { path, value } => write!(f, "set {path} to {value}"),
        }
    }
}
