//! Version 1 of `agent.json`: its types, which are this format and nothing else.
//!
//! What a reader may ignore is added as an optional key and raises [`VERSION`]'s minor number. Any other change needs types of
//! a new major version; these then stay as they are, to read files of version 1.

mod from_config;
mod to_config;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::Hidden;
use ichor_values::format::Version;
use ichor_values::{Community, LinkName, Mac, NodeName, SoftwareVersion};

/// The version of the format that is written.
pub const VERSION: Version = Version::new(1, 0);

/// The file, without its version.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct AgentConfig {
    pub backend: Backend,
    #[serde(default)]
    pub(crate) log_level: LogLevel,
    #[serde(default)]
    pub drain: bool,
    /// The BGP of the node, from which the agent renders the daemon's configuration; this or `files`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bgp: Option<Bgp>,
    /// The daemon's configuration, ready; this or `bgp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Files>,
    /// MTU of the veth pair to the load balancer; that of the first fabric port when it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) veth_mtu: Option<u32>,
    /// Addresses that the agent adds to loopback and dummy interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_addresses: Vec<ExtraAddresses>,
    /// Anycast addresses are announced only while this check succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) anycast_health_check: Option<HealthCheck>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status_listener: Option<StatusListener>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Backend {
    Frr,
    Bird,
    Gobgp,
    /// Talos itself: there is nothing that an agent could run.
    Native,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Bgp {
    pub(crate) node_name: NodeName,
    pub asn: NonZeroU32,
    pub router_id: Ipv4Addr,
    /// Source addresses of the node's own packets over learnt routes, at most one of each family.
    #[serde(default)]
    pub(crate) source_addresses: Vec<IpAddr>,
    pub neighbors: Vec<Neighbor>,
    /// Neighbors on interfaces that `neighbors` does not list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) discover_neighbors: Option<DiscoverNeighbors>,
    /// Addresses of the node that are announced to the fabric while their interface has them.
    #[serde(default)]
    pub(crate) announced_addresses: Vec<AnnouncedAddress>,
    /// Interfaces of which every address is announced to the fabric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) announced_interfaces: Vec<AnnouncedInterface>,
    #[serde(default)]
    pub aggregates: Vec<IpNet>,
    pub(crate) import_policy: ImportPolicy,
    pub(crate) export_policy: ExportPolicy,
    /// How long neighbors keep routes through a planned restart; no graceful restart when it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) graceful_restart_seconds: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) load_balancer: Option<LoadBalancer>,
    /// The release that the daemon's configuration is written for; the installed one when it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) daemon_version: Option<SoftwareVersion>,
    /// Further command-line options of each daemon.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) daemon_options: BTreeMap<String, Vec<String>>,
    /// The user's template of the daemon's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Template>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Neighbor {
    pub peer: Peer,
    pub session: Session,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Hidden>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Peer {
    /// The router that advertises itself on an interface.
    Interface {
        /// The name in the cluster file. With a MAC address, the kernel may use another one.
        name: LinkName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mac: Option<Mac>,
    },
    /// The router at an address.
    Ip {
        address: IpAddr,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source_address: Option<IpAddr>,
    },
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Session {
    /// Any external AS number is accepted when it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) remote_asn: Option<NonZeroU32>,
    pub(crate) address_families: Vec<AddressFamily>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bfd: Option<Bfd>,
    pub timers: Timers,
    /// Whether the node waits for the neighbor's connection.
    #[serde(default)]
    pub passive: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AddressFamily {
    Ipv4,
    Ipv6,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Bfd {
    pub(crate) interval_ms: u32,
    pub multiplier: u8,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Timers {
    pub(crate) keepalive_seconds: u16,
    pub(crate) hold_seconds: u16,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct DiscoverNeighbors {
    pub(crate) interfaces: DiscoveredInterfaces,
    pub session: Session,
}

/// The physical interfaces that get a neighbor.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DiscoveredInterfaces {
    /// Those on which a router advertises itself.
    WithRouterAdvertisements,
    All,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AddressKind {
    Loopback,
    Dummy,
    Anycast,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct AnnouncedAddress {
    pub kind: AddressKind,
    pub(crate) interface: LinkName,
    pub prefix: IpNet,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct AnnouncedInterface {
    pub kind: AddressKind,
    pub(crate) interface: LinkName,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ImportPolicy {
    /// The first rule that matches decides; a route that matches no rule is denied.
    pub prefixes: Vec<PrefixRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_prefixes: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_preference: Option<u32>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct PrefixRule {
    pub action: Action,
    pub prefix: IpNet,
    pub(crate) min_length: u8,
    pub(crate) max_length: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    Permit,
    Deny,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ExportPolicy {
    #[serde(default)]
    pub communities: Vec<Community>,
    /// How often the node's AS number is prepended.
    #[serde(default)]
    pub prepend: u8,
}

/// The BGP session with the load balancer, which connects to the node and announces service addresses.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct LoadBalancer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<LoadBalancerSoftware>,
    /// How its routes are kept apart from the node's.
    pub isolation: Isolation,
    /// The daemon's end of the veth pair.
    pub(crate) local: SessionEnd,
    /// The load balancer's end.
    pub(crate) remote: SessionEnd,
    pub(crate) prefix_length: u8,
    pub(crate) address_families: Vec<AddressFamily>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bfd: Option<Bfd>,
    pub timers: Timers,
    /// Which of its routes are accepted: the first rule that matches decides; a route that matches no rule is denied.
    pub(crate) import_prefixes: Vec<PrefixRule>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoadBalancerSoftware {
    Metallb,
    Cilium,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Isolation {
    Vrf { name: String, table: u32 },
    Namespace { name: String },
    None,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct SessionEnd {
    pub(crate) interface: String,
    pub address: IpAddr,
    pub asn: NonZeroU32,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Template {
    /// Its path in the cluster file, for errors.
    pub path: String,
    pub text: String,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Files {
    /// The daemon's own configuration.
    pub config: Hidden,
    /// FRR's `daemons`; the usual daemons when it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frr_daemons: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub veth: Option<VethPair>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct VethPair {
    pub isolation: Isolation,
    pub(crate) local: VethEnd,
    pub(crate) remote: VethEnd,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct VethEnd {
    pub(crate) interface: String,
    /// With the prefix length.
    pub address: IpNet,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ExtraAddresses {
    pub(crate) interface: String,
    pub addresses: Vec<IpNet>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct HealthCheck {
    pub probe: Probe,
    pub(crate) interval_ms: u32,
    pub(crate) timeout_ms: u32,
    /// Successes in a row after which addresses are announced.
    pub rise: u8,
    /// Failures in a row after which they are withdrawn.
    pub fall: u8,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Probe {
    Url(String),
    Tcp(String),
    Command(Vec<String>),
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StatusListener {
    pub address: IpAddr,
    pub port: u16,
    /// PEM of the authorities whose clients may connect.
    pub(crate) client_ca: String,
    pub certificate: String,
    pub(crate) private_key: Hidden,
}
