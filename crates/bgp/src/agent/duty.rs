//! What an agent is told to do on its node.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::wiring::Carried;
use crate::model::fabric::Neighbor;
use crate::model::{Domain, Model};
use crate::render::Options;
use crate::setting::{Advertise, LogLevel};
use ichor_values::Backend;
use ichor_values::{LinkName, SoftwareVersion};

/// The name of the file on a node.
pub const FILE: &str = "agent.json";

/// Everything the agent needs to know beforehand.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Duty {
    /// Who speaks BGP.
    pub backend: Backend,
    /// What is said.
    pub speech: Speech,
    /// The longest packet on the link to the speaker; that of the first fabric port when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Addresses that nobody else gives the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<Carried>,
    /// When anycast addresses are announced: always when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Whether nothing is announced, because the node is about to leave.
    #[serde(default)]
    pub drain: bool,
    /// How much is said.
    #[serde(default = "usual_log")]
    pub log: LogLevel,
    /// Where the state is served over mutual TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

/// What the daemon is told.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Speech {
    /// What is meant; its words follow from it.
    Model(Box<Meant>),
    /// Its own files, ready as they are.
    Ready(Box<Ready>),
}

/// What is meant, and how it is put into words.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Meant {
    /// What is meant. Its ports have the names of the plan until the kernel's are known.
    pub model: Model,
    /// Hiddens of the sessions with the fabric, in the order of the model's neighbours; empty when none has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passwords: Vec<Option<Hidden>>,
    /// More neighbours, on ports that are not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discover: Option<Discover>,
    /// Links whose addresses are announced, whatever they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub announce: Vec<Announce>,
    /// The release of the daemon; the one in the extension when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<SoftwareVersion>,
    /// Further options, by daemon.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: Options,
    /// A template of one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<OwnTemplate>,
}

/// Files that somebody else wrote.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// The daemon's configuration.
    pub configuration: Hidden,
    /// Which daemons run and how, in the form of FRR's `daemons`; the usual ones when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemons: Option<String>,
    /// The link to the speaker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<Lead>,
}

/// The link to the speaker.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lead {
    /// Where our end is.
    pub domain: Domain,
    /// Our end: its name and address.
    pub ours: (String, IpNet),
    /// The speaker's.
    pub theirs: (String, IpNet),
}

/// A link whose addresses are announced, whatever they are.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Announce {
    /// The link.
    pub link: LinkName,
    /// What kind of addresses it has.
    pub kind: Advertise,
}

/// A template of one's own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OwnTemplate {
    /// Its path in the cluster file, for errors.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Duty {
    /// Reads the file of a build. What it says is not repeated: it may hold secrets.
    pub fn parse(text: &str) -> Result<Self, DutyError> {
        serde_json::from_str(text).map_err(|error| DutyError {
            line: error.line(),
            column: error.column(),
            reason: if error.is_data() { "it says what this agent does not know" } else { "it is no JSON" },
        })
    }

    /// The file of a build.
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("all keys are texts");
        text + "\n"
    }
}

/// Why a file tells no duty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}; build it with the release of ichor that made the extension")]
pub struct DutyError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub reason: &'static str,
}

fn usual_log() -> LogLevel {
    LogLevel::Info
}

/// A text with secrets in it, which prints as `***`.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Hidden(pub String);

impl fmt::Debug for Hidden {
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
    pub key: Hidden,
}
