//! One change of kernel state.

use std::fmt;

use ipnet::IpNet;

use super::Sysctl;
use crate::model::Family;

/// A link and its network namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkRef {
    /// Its name.
    pub link: String,
    /// Its namespace; unset, the node's own.
    pub namespace: Option<String>,
}

impl LinkRef {
    /// A link of the node's own namespace.
    pub fn on_node(link: &str) -> Self {
        Self { link: link.to_owned(), namespace: None }
    }
}

/// One step toward a wiring. Every step is idempotent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sets a sysctl.
    Sysctl(Sysctl),
    /// Removes an address that is no longer configured or that conflicts.
    RemoveAddress {
        /// The link.
        at: LinkRef,
        /// The address.
        net: IpNet,
    },
    /// Creates a dummy link.
    Dummy {
        /// Its name.
        name: String,
    },
    /// Creates a VRF. The kernel may not support them.
    Vrf {
        /// Its name.
        name: String,
        /// Its table.
        table: u32,
    },
    /// Adds the unreachable default route of a VRF.
    UnreachableDefault {
        /// The table.
        table: u32,
        /// The family.
        family: Family,
    },
    /// Creates a network namespace.
    Namespace {
        /// Its name.
        name: String,
    },
    /// Creates both ends of the veth pair to the load balancer, each in its namespace.
    Pair {
        /// Our end.
        ours: LinkRef,
        /// The load balancer's end, in the node's own namespace.
        theirs: String,
        /// The MTU of both.
        mtu: u32,
    },
    /// Moves a link from the node's own namespace to another.
    Move {
        /// The link.
        link: String,
        /// The namespace.
        namespace: String,
    },
    /// Adds a link of the node's own namespace to a VRF.
    Join {
        /// The link.
        link: String,
        /// The VRF.
        vrf: String,
    },
    /// Removes a link from its VRF, bridge or bond.
    Leave {
        /// The link.
        link: String,
    },
    /// Sets the MTU.
    Mtu {
        /// The link.
        at: LinkRef,
        /// The MTU.
        mtu: u32,
    },
    /// Adds an address.
    Address {
        /// The link.
        at: LinkRef,
        /// The address.
        net: IpNet,
    },
    /// Sets a link up.
    Up {
        /// The link.
        at: LinkRef,
    },
}

impl Step {
    /// The namespace of the change; none for the node's own.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::RemoveAddress { at, .. }
            | Self::Mtu { at, .. }
            | Self::Address { at, .. }
            | Self::Up { at } => at.namespace.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for LinkRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.link)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

/// The action, worded to follow "cannot".
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysctl(sysctl) => write!(f, "set {sysctl}"),
            Self::RemoveAddress { at, net } => write!(f, "remove address {net} from {at}"),
            Self::Dummy { name } => write!(f, "create dummy link {name}"),
            Self::Vrf { name, table } => write!(f, "create VRF {name} with table {table}"),
            Self::UnreachableDefault { table, family } => {
                write!(f, "add unreachable route {} to table {table}", family.everything())
            }
            Self::Namespace { name } => write!(f, "create namespace {name}"),
            Self::Pair { ours, theirs, mtu } => {
                write!(f, "create veth pair {ours} and {theirs} with MTU {mtu}")
            }
            Self::Move { link, namespace } => write!(f, "move {link} to namespace {namespace}"),
            Self::Join { link, vrf } => write!(f, "add {link} to VRF {vrf}"),
            Self::Leave { link } => write!(f, "remove {link} from its VRF, bridge or bond"),
            Self::Mtu { at, mtu } => write!(f, "set MTU {mtu} on {at}"),
            Self::Address { at, net } => write!(f, "add address {net} to {at}"),
            Self::Up { at } => write!(f, "set {at} up"),
        }
    }
}
