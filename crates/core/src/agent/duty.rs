//! What an agent is told to do on its node.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::wiring::Carried;
use crate::cluster::section::{Backend, LogLevel};
use crate::cluster::value::SoftwareVersion;
use crate::routing::Model;
use crate::routing::fabric::Neighbor;

/// Everything the agent needs to know beforehand.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Duty {
    /// Who speaks BGP.
    pub backend: Backend,
    /// The release its files are written for; the one in the extension when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<SoftwareVersion>,
    /// What is meant. Its ports have the names of the plan until the kernel's are known.
    pub model: Model,
    /// Passwords of the sessions with the fabric, in the order of the model's neighbours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passwords: Vec<Option<Password>>,
    /// More neighbours like this one, on ports that are not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discover: Option<Discover>,
    /// Further options, by daemon.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, Vec<String>>,
    /// What the daemon reads in the place of what would be rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<Instead>,
    /// The longest packet on the link to the speaker; that of the first fabric port when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Addresses that nobody else gives the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<Carried>,
    /// When anycast addresses are announced: always when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// How much is said.
    #[serde(default = "usual_log")]
    pub log: LogLevel,
    /// Where the state is served over mutual TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

fn usual_log() -> LogLevel {
    LogLevel::Info
}

/// A password of a session, which prints as `***`.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Neighbours on ports that are not listed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Discover {
    /// Which ports.
    pub ports: Ports,
    /// What every such neighbour is like; its port is replaced.
    pub like: Neighbor,
}

/// Which physical ports have a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ports {
    /// Those on which a router advertises itself.
    Advertised,
    /// All.
    All,
}

/// What the daemon reads in the place of what would be rendered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Instead {
    /// A template of one's own.
    Template {
        /// Its path in the cluster file, for errors.
        path: String,
        /// Its text.
        text: String,
    },
    /// The daemon's own file and its `daemons`, ready as they are.
    Ready {
        /// The daemon's configuration.
        configuration: Password,
        /// `daemons`; what would be rendered when there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        daemons: Option<String>,
    },
}

/// A check on which the announcement of anycast addresses depends.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// What is asked.
    pub probe: Probe,
    /// Milliseconds between two questions.
    #[serde(default = "Health::usual_interval")]
    pub interval: u32,
    /// Milliseconds an answer may take.
    #[serde(default = "Health::usual_timeout")]
    pub timeout: u32,
    /// Good answers in a row after which addresses are announced.
    #[serde(default = "Health::usual_rise")]
    pub rise: u8,
    /// Bad answers in a row after which they are withdrawn.
    #[serde(default = "Health::usual_fall")]
    pub fall: u8,
}

impl Health {
    /// A probe with the usual numbers.
    pub fn of(probe: Probe) -> Self {
        Self {
            probe,
            interval: Self::usual_interval(),
            timeout: Self::usual_timeout(),
            rise: Self::usual_rise(),
            fall: Self::usual_fall(),
        }
    }

    fn usual_interval() -> u32 {
        1000
    }

    fn usual_timeout() -> u32 {
        1000
    }

    fn usual_rise() -> u8 {
        2
    }

    fn usual_fall() -> u8 {
        3
    }
}

/// What is asked about health.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Probe {
    /// GET of a URL, `https` or `http`: an answer 2xx is good. The certificate is not judged: it is the node's own API.
    Url(String),
    /// A connection to `HOST:PORT`.
    Tcp(String),
    /// A command that ends with 0.
    Command(Vec<String>),
}

/// Where the state is served over mutual TLS.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The address.
    pub listen: IpAddr,
    /// The port.
    pub port: u16,
    /// Certificates of whoever may ask, as PEM.
    pub ca: String,
    /// The agent's own certificate, as PEM.
    pub certificate: String,
    /// Its key, as PEM.
    pub key: Password,
}
