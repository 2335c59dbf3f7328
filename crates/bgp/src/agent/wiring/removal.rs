//! The way back: what the agent made, and nothing else.

use std::fmt;

use ipnet::IpNet;

use super::{Fence, Inside, Observed, Switches, Wiring};
use crate::agent::Link;

/// One thing that is taken away. What is gone already is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// An address of the node's own namespace.
    Address {
        /// The link.
        link: String,
        /// The address.
        net: IpNet,
    },
    /// A link; with one end of a pair goes the other.
    Link {
        /// Its name.
        name: String,
    },
    /// The last route of a VRF's table.
    Fence(Fence),
    /// A namespace, or what is there of one.
    Namespace {
        /// Its name.
        name: String,
    },
    /// A switch that goes back to what it said before the agent turned it.
    Switch {
        /// Its path below `/proc/sys`.
        path: String,
        /// What it said.
        value: String,
    },
}

/// What is to be taken away: all that is marked, also from an earlier wiring; a VRF after the links in it. `before` is what is
/// remembered of switches. One that says something else than the agent told it is somebody else's by now.
pub fn removals(wiring: &Wiring, observed: &Observed, before: &Switches) -> Vec<Removal> {
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
    let fences = observed.fences.iter().filter(|fence| fence.made).map(|fence| Removal::Fence(*fence));
    let namespace = wiring.namespace().filter(|_| match observed.inside {
        Inside::Missing => false,
        Inside::Half => true,
        Inside::There { made, .. } => made,
    });
    let namespace = namespace.map(|name| Removal::Namespace { name: name.to_owned() });
    let switches = wiring.turned().into_iter().filter_map(|switch| {
        let value = before.get(&switch.path).filter(|value| *value != switch.value)?;
        let ours = observed.switches.get(&switch.path).is_some_and(|now| now == switch.value);
        ours.then(|| Removal::Switch { path: switch.path, value: value.clone() })
    });
    given.chain(links).chain(fences).chain(namespace).chain(switches).collect()
}

/// What is done, to be read after "cannot".
impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { link, net } => write!(f, "take {net} from {link}"),
            Self::Link { name } => write!(f, "remove link {name}"),
            Self::Fence(fence) => {
                write!(f, "remove unreachable {} from table {}", fence.family.everything(), fence.table)
            }
            Self::Namespace { name } => write!(f, "remove namespace {name}"),
            Self::Switch { path, value } => write!(f, "set {path} to {value}"),
        }
    }
}
