//! A BGP session as a daemon tells it, whichever daemon that is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Session {
    /// The neighbour: a port for one that is found by its advertisements, else an address.
    pub peer: String,
    /// The VRF or namespace; none for the node's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The address it was found at, where that is not `peer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The neighbour's AS number, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asn: Option<u32>,
    /// How far it is.
    pub state: State,
    /// Seconds since it was established.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uptime: Option<u64>,
    /// How often it was established.
    #[serde(default)]
    pub established: u32,
    /// Prefixes that came in, of both families.
    #[serde(default)]
    pub received: u32,
    /// Prefixes that went out, of both families.
    #[serde(default)]
    pub sent: u32,
    /// Whether BFD says the path works; none without BFD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bfd: Option<bool>,
    /// What the daemon last said was wrong, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

/// How far a session is (RFC 4271, section 8.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nothing is tried.
    Idle,
    /// Waiting for a connection.
    Connect,
    /// Waiting to try again, or for the other side to connect.
    Active,
    /// Connected, and the other side has not answered.
    OpenSent,
    /// Both sides said who they are.
    OpenConfirm,
    /// Routes are told.
    Established,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 6] =
        [Self::Idle, Self::Connect, Self::Active, Self::OpenSent, Self::OpenConfirm, Self::Established];

    /// The state of this name, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.to_string().eq_ignore_ascii_case(text))
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Idle => "Idle",
            Self::Connect => "Connect",
            Self::Active => "Active",
            Self::OpenSent => "OpenSent",
            Self::OpenConfirm => "OpenConfirm",
            Self::Established => "Established",
        })
    }
}
