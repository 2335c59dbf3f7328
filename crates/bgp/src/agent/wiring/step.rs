//! One thing that is done to the kernel.

use std::fmt;

use ipnet::IpNet;

use super::Switch;
use crate::model::Family;

/// A link, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// Its name.
    pub link: String,
    /// Its namespace; the node's own when there is none.
    pub namespace: Option<String>,
}

impl At {
    /// A link of the node's own namespace.
    pub fn here(link: &str) -> Self {
        Self { link: link.to_owned(), namespace: None }
    }
}

/// One step of the way to a wiring. Each can be done again without harm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Turns a switch.
    Switch(Switch),
    /// Takes back an address that is not meant any more, or in the way.
    Withdraw {
        /// From where.
        at: At,
        /// The address.
        net: IpNet,
    },
    /// Makes a dummy link.
    Dummy {
        /// Its name.
        name: String,
    },
    /// Makes a VRF. The kernel may have none.
    Vrf {
        /// Its name.
        name: String,
        /// Its table.
        table: u32,
    },
    /// Ends the table of a VRF.
    Fence {
        /// The table.
        table: u32,
        /// The family.
        family: Family,
    },
    /// Makes a network namespace.
    Namespace {
        /// Its name.
        name: String,
    },
    /// Makes both ends of the link to the speaker, each in its namespace.
    Pair {
        /// Our end.
        ours: At,
        /// The speaker's, in the node's own namespace.
        theirs: String,
        /// The largest packet of both.
        mtu: u32,
    },
    /// Moves a link from the node's own namespace to another: somebody made it there.
    Move {
        /// The link.
        link: String,
        /// The namespace.
        namespace: String,
    },
    /// Puts a link of the node's own namespace into a VRF.
    Join {
        /// The link.
        link: String,
        /// The VRF.
        vrf: String,
    },
    /// Takes a link out of the VRF, bridge or bond it is in.
    Leave {
        /// The link.
        link: String,
    },
    /// Sets the longest packet.
    Mtu {
        /// Where.
        at: At,
        /// The length.
        mtu: u32,
    },
    /// Gives an address.
    Address {
        /// Where.
        at: At,
        /// The address.
        net: IpNet,
    },
    /// Switches a link on.
    Up {
        /// Where.
        at: At,
    },
}

impl Step {
    /// The namespace in which it is done, where that is not the node's own.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Withdraw { at, .. } | Self::Mtu { at, .. } | Self::Address { at, .. } | Self::Up { at } => {
                at.namespace.as_deref()
            }
            _ => None,
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.link)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

/// What is done, to be read after "cannot".
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(switch) => write!(f, "set {switch}"),
            Self::Withdraw { at, net } => write!(f, "take {net} from {at}"),
            Self::Dummy { name } => write!(f, "make dummy link {name}"),
            Self::Vrf { name, table } => write!(f, "make VRF {name} with table {table}"),
            Self::Fence { table, family } => {
                write!(f, "end table {table} with unreachable {}", family.everything())
            }
            Self::Namespace { name } => write!(f, "make namespace {name}"),
            Self::Pair { ours, theirs, mtu } => {
                write!(f, "make veth pair {ours} and {theirs} with MTU {mtu}")
            }
            Self::Move { link, namespace } => write!(f, "move {link} to namespace {namespace}"),
            Self::Join { link, vrf } => write!(f, "put {link} into VRF {vrf}"),
            Self::Leave { link } => write!(f, "take {link} out of what it is in"),
            Self::Mtu { at, mtu } => write!(f, "set MTU {mtu} on {at}"),
            Self::Address { at, net } => write!(f, "give {net} to {at}"),
            Self::Up { at } => write!(f, "switch {at} on"),
        }
    }
}
