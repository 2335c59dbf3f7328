//! The configuration of the agent on a node.
//!
//! An [`AgentConfig`] is written to `agent.json` by a build ([`AgentConfig::text`]) and read on the node
//! ([`AgentConfig::parse`]). The file is a format with a [version](VERSION) and types of its own: changing a type here does
//! not change the format. `v1` is the current format, `v0` the one before it had a version.
//!
//! Not here: the configuration that environment variables describe ([`environment`](super::environment)).

mod parse;
mod v0;
mod v1;

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::wiring::ExtraAddresses;
use crate::model::fabric::Neighbor;
use crate::model::{BgpModel, RoutingDomain};
use crate::render::DaemonOptions;
use crate::setting::{Advertise, LogLevel};
use ichor_values::Backend;
use ichor_values::{LinkName, SoftwareVersion};
pub use parse::{ConfigError, ParsedConfig};
pub use v1::VERSION;

/// The name of the file.
pub const FILE: &str = "agent.json";

/// The complete configuration of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentConfig {
    /// The daemon that speaks BGP.
    pub backend: Backend,
    /// Where the daemon's configuration comes from.
    pub source: ConfigSource,
    /// MTU of the veth pair to the load balancer; unset, that of the first fabric port.
    pub mtu: Option<u32>,
    /// Addresses that the agent adds to the node; no other program configures them.
    pub extra_addresses: Vec<ExtraAddresses>,
    /// The health check on which anycast addresses depend; unset, they are always announced.
    pub health: Option<HealthCheck>,
    /// Whether everything is withdrawn, because the node is about to leave.
    pub drain: bool,
    /// The log level of the agent.
    pub log: LogLevel,
    /// Where the status is served over mutual TLS.
    pub status: Option<StatusListener>,
}

/// Where the daemon's configuration comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigSource {
    /// It is rendered on the node, from the BGP model.
    Model(Box<BgpConfig>),
    /// It is used as it is, without rendering.
    Files(Box<DaemonFiles>),
}

/// The BGP of a node, and how it is rendered.
#[derive(Clone, Debug, PartialEq)]
pub struct BgpConfig {
    /// The BGP model. Its ports have the names of the plan until the kernel's are known.
    pub model: BgpModel,
    /// Passwords of the sessions with the fabric, in the order of the model's neighbours; empty when no session has one.
    pub passwords: Vec<Option<SecretText>>,
    /// Neighbours discovered on ports that are not configured.
    pub discover: Option<NeighborDiscovery>,
    /// Interfaces of which every address is announced.
    pub announce: Vec<AnnouncedInterface>,
    /// The release of the daemon; unset, the one in the extension.
    pub version: Option<SoftwareVersion>,
    /// Further options, by daemon.
    pub options: DaemonOptions,
    /// The user's template.
    pub template: Option<UserTemplate>,
}

/// A daemon's configuration that is used as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonFiles {
    /// The daemon's configuration.
    pub configuration: SecretText,
    /// Which daemons run and how, in the form of FRR's `daemons`; unset, the default daemons.
    pub daemons: Option<String>,
    /// The veth pair to the load balancer.
    pub veth: Option<VethPair>,
}

/// The veth pair between the routing daemon and the load balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VethPair {
    /// Where the daemon's end is.
    pub domain: RoutingDomain,
    /// The daemon's end: its name and address.
    pub ours: (String, IpNet),
    /// The load balancer's end.
    pub theirs: (String, IpNet),
}

/// An interface of which every address is announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnouncedInterface {
    /// The interface.
    pub link: LinkName,
    /// The kind of its addresses.
    pub kind: Advertise,
}

/// The user's template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserTemplate {
    /// Its path in the cluster file, for errors.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Text that contains secrets, printed as `***`.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct SecretText(pub String);

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Neighbours on ports that are not configured.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighborDiscovery {
    /// The ports.
    pub ports: DiscoveryPorts,
    /// The settings of every such neighbour; its port is replaced.
    pub like: Neighbor,
}

/// Which physical ports have a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscoveryPorts {
    /// Those on which a router advertises itself.
    Advertised,
    /// All.
    All,
}

/// A check on which the announcement of anycast addresses depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// The probe.
    pub probe: HealthProbe,
    /// Milliseconds between two probes.
    pub interval: u32,
    /// Milliseconds until a probe times out.
    pub timeout: u32,
    /// Consecutive successes after which addresses are announced.
    pub rise: u8,
    /// Consecutive failures after which they are withdrawn.
    pub fall: u8,
}

impl HealthCheck {
    /// A probe with the default interval, timeout and thresholds.
    pub fn new(probe: HealthProbe) -> Self {
        Self { probe, interval: 1000, timeout: 1000, rise: 2, fall: 3 }
    }
}

/// A health probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthProbe {
    /// GET of a URL, `https` or `http`: a 2xx response is a success. The certificate is not verified: it is the node's
    /// own API.
    Url(String),
    /// A connection to `HOST:PORT`.
    Tcp(String),
    /// A command that exits with 0.
    Command(Vec<String>),
}

/// Where the status is served over mutual TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusListener {
    /// The address.
    pub listen: IpAddr,
    /// The port.
    pub port: u16,
    /// Certificates of the authorities whose clients may connect, as PEM.
    pub ca: String,
    /// The agent's own certificate, as PEM.
    pub certificate: String,
    /// Its key, as PEM.
    pub key: SecretText,
}
