//! Version 1 of `agent.json`: the types of the format.
//!
//! A key that readers may ignore is added as optional and raises [`VERSION`]'s minor number. Any other change needs
//! types of a new major version; these types then stay unchanged, to read files of version 1.

mod from_config;
mod to_config;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::SecretText;
use ichor_values::format::Version;
use ichor_values::{Community, LinkName, Mac, NodeName, SoftwareVersion};

/// The version of the format that is written.
pub const VERSION: Version = Version::new(1, 0);

/// The file, without its version.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct AgentConfigV1 {
    pub backend: BackendV1,
    #[serde(default)]
    pub(crate) log_level: LogLevelV1,
    #[serde(default)]
    pub drain: bool,
    /// The BGP of the node, from which the agent renders the daemon's configuration; this or `files`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bgp: Option<BgpV1>,
    /// The daemon's own configuration; this or `bgp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesV1>,
    /// MTU of the veth pair to the load balancer; that of the first fabric port when it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) veth_mtu: Option<u32>,
    /// Addresses that the agent adds to loopback and dummy interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_addresses: Vec<ExtraAddressesV1>,
    /// Anycast addresses are announced only while this check succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) anycast_health_check: Option<HealthCheckV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status_listener: Option<StatusListenerV1>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BackendV1 {
    Frr,
    Bird,
    Gobgp,
    /// Talos itself: there is no daemon to run.
    Native,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LogLevelV1 {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct BgpV1 {
    pub(crate) node: NodeName,
    pub asn: NonZeroU32,
    pub router_id: Ipv4Addr,
    /// Source addresses of the node's own packets over learnt routes, at most one of each family.
    #[serde(default)]
    pub(crate) source_addresses: Vec<IpAddr>,
    pub neighbors: Vec<NeighborV1>,
    /// Neighbors on interfaces that `neighbors` does not list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) discover_neighbors: Option<DiscoverNeighborsV1>,
    /// Addresses of the node that are announced to the fabric while their interface has them.
    #[serde(default)]
    pub(crate) announced_addresses: Vec<AnnouncedAddressV1>,
    /// Interfaces of which every address is announced to the fabric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) announced_interfaces: Vec<AnnouncedInterfaceV1>,
    #[serde(default)]
    pub aggregates: Vec<IpNet>,
    pub(crate) import_policy: ImportPolicyV1,
    pub(crate) export_policy: ExportPolicyV1,
    /// How long neighbors keep routes through a planned restart; missing without graceful restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) graceful_restart_seconds: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) load_balancer: Option<LoadBalancerV1>,
    /// The release that the daemon's configuration is written for; the installed one when it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) daemon_version: Option<SoftwareVersion>,
    /// Further command-line options of each daemon.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) daemon_options: BTreeMap<String, Vec<String>>,
    /// The user's template of the daemon's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateV1>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct NeighborV1 {
    pub peer: PeerV1,
    pub session: SessionV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretText>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PeerV1 {
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
pub(super) struct SessionV1 {
    /// Any external AS number is accepted when it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) remote_asn: Option<NonZeroU32>,
    pub(crate) address_families: Vec<AddressFamilyV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bfd: Option<BfdV1>,
    pub timers: TimersV1,
    /// Whether the node waits for the neighbor's connection.
    #[serde(default)]
    pub passive: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AddressFamilyV1 {
    Ipv4,
    Ipv6,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct BfdV1 {
    pub(crate) interval_ms: u32,
    pub multiplier: u8,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct TimersV1 {
    pub(crate) keepalive_seconds: u16,
    pub(crate) hold_seconds: u16,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct DiscoverNeighborsV1 {
    pub(crate) interfaces: DiscoveredInterfacesV1,
    pub session: SessionV1,
}

/// The physical interfaces that get a neighbor.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DiscoveredInterfacesV1 {
    /// Those on which a router advertises itself.
    WithRouterAdvertisements,
    All,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AddressKindV1 {
    Loopback,
    Dummy,
    Anycast,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct AnnouncedAddressV1 {
    pub kind: AddressKindV1,
    pub(crate) interface: LinkName,
    pub prefix: IpNet,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct AnnouncedInterfaceV1 {
    pub kind: AddressKindV1,
    pub(crate) interface: LinkName,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ImportPolicyV1 {
    /// The first rule that matches decides; a route that matches no rule is denied.
    pub prefixes: Vec<PrefixRuleV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_prefixes: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_preference: Option<u32>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct PrefixRuleV1 {
    pub action: ActionV1,
    pub prefix: IpNet,
    pub(crate) min_length: u8,
    pub(crate) max_length: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ActionV1 {
    Permit,
    Deny,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ExportPolicyV1 {
    #[serde(default)]
    pub communities: Vec<Community>,
    /// How often the node's AS number is prepended.
    #[serde(default)]
    pub prepend: u8,
}

/// The BGP session with the load balancer, which connects to the node and announces service addresses.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct LoadBalancerV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<LoadBalancerSoftwareV1>,
    /// How its routes are kept apart from the node's.
    pub isolation: IsolationV1,
    /// The daemon's end of the veth pair.
    pub(crate) local: SessionEndV1,
    /// The load balancer's end.
    pub(crate) remote: SessionEndV1,
    pub(crate) prefix_length: u8,
    pub(crate) address_families: Vec<AddressFamilyV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bfd: Option<BfdV1>,
    pub timers: TimersV1,
    /// Which of its routes are accepted: the first rule that matches decides; a route that matches no rule is denied.
    pub(crate) import_prefixes: Vec<PrefixRuleV1>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoadBalancerSoftwareV1 {
    Metallb,
    Cilium,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum IsolationV1 {
    Vrf {
        name: String,
        #[serde(rename = "routing_table")]
        table: u32,
    },
    Namespace {
        name: String,
    },
    None,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct SessionEndV1 {
    pub(crate) interface: String,
    pub address: IpAddr,
    pub asn: NonZeroU32,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct TemplateV1 {
    /// Its path in the cluster file, for errors.
    pub path: String,
    pub text: String,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct FilesV1 {
    /// The daemon's own configuration.
    pub config: SecretText,
    /// FRR's `daemons`; the usual daemons when it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frr_daemons: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub veth: Option<VethPairV1>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct VethPairV1 {
    pub isolation: IsolationV1,
    pub(crate) local: VethEndV1,
    pub(crate) remote: VethEndV1,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct VethEndV1 {
    pub(crate) interface: String,
    /// With the prefix length.
    pub address: IpNet,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ExtraAddressesV1 {
    pub(crate) interface: String,
    pub addresses: Vec<IpNet>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct HealthCheckV1 {
    pub probe: ProbeV1,
    pub(crate) interval_ms: u32,
    pub(crate) timeout_ms: u32,
    /// Successes in a row after which addresses are announced.
    pub rise: u8,
    /// Failures in a row after which they are withdrawn.
    pub fall: u8,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProbeV1 {
    Url(String),
    Tcp(String),
    Command(Vec<String>),
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StatusListenerV1 {
    pub address: IpAddr,
    pub port: u16,
    /// PEM of the authorities whose clients may connect.
    pub(crate) client_ca: String,
    pub certificate: String,
    pub(crate) private_key: SecretText,
}
