//! GoBGP's messages, with the fields that are used here.
//!
//! Both releases number them alike. Where they differ, in prefixes, attributes and some enums, the bytes are kept as
//! they are, and a [`Dialect`](super::dialect::Dialect) decodes them.

/// A request without parameters, and a response without content.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Empty {}

/// The response to `GetBgp`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GetBgpResponse {
    /// The instance.
    #[prost(message, optional, tag = "1")]
    pub global: Option<Global>,
}

/// An instance.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Global {
    /// Its AS number; 0 before it has read its file.
    #[prost(uint32, tag = "1")]
    pub asn: u32,
}

/// `StopBgp`: GoBGP 4 can end without closing sessions.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct StopBgpRequest {
    /// Whether sessions with graceful restart are not closed.
    #[prost(bool, tag = "1")]
    pub allow_graceful_restart: bool,
}

/// `ResetPeer`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ResetPeerRequest {
    /// Which neighbour.
    #[prost(string, tag = "1")]
    pub address: String,
    /// Whether the session stays.
    #[prost(bool, tag = "3")]
    pub soft: bool,
    /// Whether received routes are evaluated again, or routes are sent again.
    #[prost(int32, tag = "4")]
    pub direction: i32,
}

/// `ListPeer`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListPeerRequest {
    /// Whether sent prefixes are counted.
    #[prost(bool, tag = "2")]
    pub enable_advertised: bool,
}

/// One response to `ListPeer`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListPeerResponse {
    /// The neighbour.
    #[prost(message, optional, tag = "1")]
    pub peer: Option<Peer>,
}

/// A neighbour.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Peer {
    /// Its configuration.
    #[prost(message, optional, tag = "2")]
    pub conf: Option<PeerConf>,
    /// Its state.
    #[prost(message, optional, tag = "5")]
    pub state: Option<PeerState>,
    /// Its timers.
    #[prost(message, optional, tag = "6")]
    pub timers: Option<Timers>,
    /// Its families.
    #[prost(message, repeated, tag = "10")]
    pub afi_safis: Vec<AfiSafi>,
    /// BFD, in GoBGP 4.
    #[prost(message, optional, tag = "12")]
    pub bfd: Option<BfdPeerConfig>,
}

/// The configuration of a neighbour.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PeerConf {
    /// Its address.
    #[prost(string, tag = "4")]
    pub neighbor_address: String,
    /// Its AS number.
    #[prost(uint32, tag = "5")]
    pub peer_asn: u32,
    /// Its port.
    #[prost(string, tag = "11")]
    pub neighbor_interface: String,
}

/// The state of a neighbour.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PeerState {
    /// Its address, with the port after a `%`.
    #[prost(string, tag = "5")]
    pub neighbor_address: String,
    /// Its AS number.
    #[prost(uint32, tag = "6")]
    pub peer_asn: u32,
    /// The state of the session, 1 to 6 in the order of RFC 4271.
    #[prost(int32, tag = "13")]
    pub session_state: i32,
    /// Whether it is administratively up.
    #[prost(int32, tag = "15")]
    pub admin_state: i32,
    /// How often it went down.
    #[prost(uint32, tag = "17")]
    pub flops: u32,
    /// Why it went down, in GoBGP 4.
    #[prost(int32, tag = "21")]
    pub disconnect_reason: i32,
    /// The same as a message.
    #[prost(string, tag = "22")]
    pub disconnect_message: String,
    /// BFD, in GoBGP 4.
    #[prost(message, optional, tag = "23")]
    pub bfd_state: Option<BfdPeerState>,
}

/// The configuration of BFD.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct BfdPeerConfig {
    /// Whether it is enabled.
    #[prost(bool, tag = "1")]
    pub enabled: bool,
}

/// The state of BFD.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct BfdPeerState {
    /// 1 is up.
    #[prost(int32, tag = "1")]
    pub session_state: i32,
}

/// The timers of a session.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Timers {
    /// The configured timers.
    #[prost(message, optional, tag = "1")]
    pub config: Option<TimersConfig>,
    /// The current timers.
    #[prost(message, optional, tag = "2")]
    pub state: Option<TimersState>,
}

/// Configured timers.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TimersConfig {
    /// The hold time in seconds.
    #[prost(uint64, tag = "2")]
    pub hold_time: u64,
    /// Seconds between keepalives.
    #[prost(uint64, tag = "3")]
    pub keepalive_interval: u64,
}

/// Current timers.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TimersState {
    /// When the session was established.
    #[prost(message, optional, tag = "6")]
    pub uptime: Option<Timestamp>,
}

/// A time.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Timestamp {
    /// Seconds since 1970.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
}

/// A family of a session.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct AfiSafi {
    /// Its state.
    #[prost(message, optional, tag = "3")]
    pub state: Option<AfiSafiState>,
}

/// Prefixes of a family.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct AfiSafiState {
    /// Received prefixes.
    #[prost(uint64, tag = "3")]
    pub received: u64,
    /// Sent prefixes.
    #[prost(uint64, tag = "5")]
    pub advertised: u64,
}

/// An address family: 1 or 2, and 1 for unicast.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Family {
    /// IPv4 or IPv6.
    #[prost(int32, tag = "1")]
    pub afi: i32,
    /// Unicast.
    #[prost(int32, tag = "2")]
    pub safi: i32,
}

/// `WatchEvent`: changes of the table.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct WatchEventRequest {
    /// The table.
    #[prost(message, optional, tag = "2")]
    pub table: Option<WatchTable>,
}

/// The events to watch.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct WatchTable {
    /// Filters, any of which may match.
    #[prost(message, repeated, tag = "1")]
    pub filters: Vec<WatchFilter>,
}

/// One filter.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct WatchFilter {
    /// The kind of path.
    #[prost(int32, tag = "1")]
    pub kind: i32,
    /// Whether existing paths come first.
    #[prost(bool, tag = "2")]
    pub init: bool,
}

/// `ListPath`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListPathRequest {
    /// The table.
    #[prost(int32, tag = "1")]
    pub table_type: i32,
    /// The family.
    #[prost(message, optional, tag = "3")]
    pub family: Option<Family>,
}

/// One response to `ListPath`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListPathResponse {
    /// A destination.
    #[prost(message, optional, tag = "1")]
    pub destination: Option<Destination>,
}

/// A destination and the paths to it.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Destination {
    /// The prefix.
    #[prost(string, tag = "1")]
    pub prefix: String,
    /// The paths.
    #[prost(message, repeated, tag = "2")]
    pub paths: Vec<Path>,
}

/// A path.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Path {
    /// The prefix, in a dialect.
    #[prost(bytes = "vec", tag = "1")]
    pub nlri: Vec<u8>,
    /// The attributes, each in a dialect.
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub pattrs: Vec<Vec<u8>>,
    /// Whether it is the best path or equal to it.
    #[prost(bool, tag = "4")]
    pub best: bool,
    /// Whether it is withdrawn.
    #[prost(bool, tag = "5")]
    pub is_withdraw: bool,
    /// The family.
    #[prost(message, optional, tag = "9")]
    pub family: Option<Family>,
    /// The neighbour that it was received from.
    #[prost(string, tag = "15")]
    pub neighbor_ip: String,
}

/// `AddPath`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct AddPathRequest {
    /// The table.
    #[prost(int32, tag = "1")]
    pub table_type: i32,
    /// The path.
    #[prost(message, optional, tag = "3")]
    pub path: Option<Path>,
}

/// `DeletePath`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DeletePathRequest {
    /// The table.
    #[prost(int32, tag = "1")]
    pub table_type: i32,
    /// The family.
    #[prost(message, optional, tag = "3")]
    pub family: Option<Family>,
    /// The path.
    #[prost(message, optional, tag = "4")]
    pub path: Option<Path>,
}

/// `ListDefinedSet`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListDefinedSetRequest {
    /// The kind of sets.
    #[prost(int32, tag = "1")]
    pub defined_type: i32,
}

/// One response to `ListDefinedSet`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListDefinedSetResponse {
    /// The set.
    #[prost(message, optional, tag = "1")]
    pub defined_set: Option<DefinedSet>,
}

/// A set.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DefinedSet {
    /// Its name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Its prefixes.
    #[prost(message, repeated, tag = "4")]
    pub prefixes: Vec<Prefix>,
}

/// A prefix of a set.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Prefix {
    /// The prefix.
    #[prost(string, tag = "1")]
    pub net: String,
    /// The minimum length.
    #[prost(uint32, tag = "2")]
    pub mask_length_min: u32,
    /// The maximum length.
    #[prost(uint32, tag = "3")]
    pub mask_length_max: u32,
}

/// `ListPolicy`, and one response to it.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListPolicyResponse {
    /// The policy.
    #[prost(message, optional, tag = "1")]
    pub policy: Option<Policy>,
}

/// A policy.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Policy {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its statements.
    #[prost(message, repeated, tag = "2")]
    pub statements: Vec<Statement>,
}

/// A statement of a policy.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Statement {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
}

/// A prefix of IPv4 or IPv6.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct IpAddressPrefix {
    /// Its length.
    #[prost(uint32, tag = "1")]
    pub prefix_len: u32,
    /// Its address.
    #[prost(string, tag = "2")]
    pub prefix: String,
}

/// The attribute ORIGIN.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct OriginAttribute {
    /// 0 is IGP.
    #[prost(uint32, tag = "1")]
    pub origin: u32,
}

/// The attribute NEXT_HOP.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NextHopAttribute {
    /// An address of IPv4.
    #[prost(string, tag = "1")]
    pub next_hop: String,
}

/// The attribute MP_REACH_NLRI.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct MpReachAttribute {
    /// The family.
    #[prost(message, optional, tag = "1")]
    pub family: Option<Family>,
    /// One or two addresses.
    #[prost(string, repeated, tag = "2")]
    pub next_hops: Vec<String>,
    /// The prefixes, in a dialect.
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub nlris: Vec<Vec<u8>>,
}

/// A message with the name of its type, in which GoBGP 3 wraps prefixes and attributes.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Any {
    /// The type.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The message.
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// A prefix as GoBGP 4 wraps it.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Nlri {
    /// A unicast prefix.
    #[prost(message, optional, tag = "1")]
    pub prefix: Option<IpAddressPrefix>,
}

/// An attribute as GoBGP 4 wraps it: one of these.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Attribute {
    /// ORIGIN.
    #[prost(message, optional, tag = "2")]
    pub origin: Option<OriginAttribute>,
    /// NEXT_HOP.
    #[prost(message, optional, tag = "4")]
    pub next_hop: Option<NextHopAttribute>,
    /// MP_REACH_NLRI.
    #[prost(message, optional, tag = "12")]
    pub mp_reach: Option<MpReachAttribute>,
}
