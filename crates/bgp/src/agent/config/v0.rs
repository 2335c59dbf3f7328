//! Version 0 of `agent.json`: what builds wrote before the format had a version. It is only read.
//!
//! These types are frozen; [`AgentConfig::upgrade`] turns them into those of version 1.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;

use ipnet::IpNet;
use serde::Deserialize;

use super::{Hidden, v1};
use ichor_values::format::Version;
use ichor_values::{Asn, Community, LinkName, Mac, NodeName, SoftwareVersion};

/// The version of files without one.
pub(super) const VERSION: Version = Version::new(0, 0);

#[derive(Deserialize)]
pub(super) struct AgentConfig {
    backend: v1::Backend,
    speech: Speech,
    mtu: Option<u32>,
    #[serde(default)]
    carried: Vec<Carried>,
    health: Option<Health>,
    #[serde(default)]
    drain: bool,
    #[serde(default)]
    log: v1::LogLevel,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Speech {
    Model(Box<Meant>),
    Ready(Box<Ready>),
}

#[derive(Deserialize)]
struct Meant {
    model: Model,
    #[serde(default)]
    passwords: Vec<Option<Hidden>>,
    discover: Option<Discover>,
    #[serde(default)]
    announce: Vec<Announce>,
    version: Option<SoftwareVersion>,
    #[serde(default)]
    options: BTreeMap<String, Vec<String>>,
    template: Option<v1::Template>,
}

#[derive(Deserialize)]
struct Ready {
    configuration: Hidden,
    daemons: Option<String>,
    lead: Option<Lead>,
}

#[derive(Deserialize)]
struct Lead {
    domain: Domain,
    ours: (String, IpNet),
    theirs: (String, IpNet),
}

#[derive(Deserialize)]
struct Announce {
    link: LinkName,
    kind: v1::AddressKind,
}

#[derive(Deserialize)]
struct Carried {
    link: String,
    addresses: Vec<IpNet>,
}

#[derive(Deserialize)]
struct Discover {
    ports: Ports,
    like: Neighbor,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ports {
    Advertised,
    All,
}

#[derive(Deserialize)]
struct Health {
    probe: v1::Probe,
    interval: Option<u32>,
    timeout: Option<u32>,
    rise: Option<u8>,
    fall: Option<u8>,
}

#[derive(Deserialize)]
struct Status {
    listen: IpAddr,
    port: u16,
    ca: String,
    certificate: String,
    key: Hidden,
}

#[derive(Deserialize)]
struct Model {
    name: NodeName,
    #[serde(rename = "nth")]
    _nth: usize,
    asn: Asn,
    router_id: Ipv4Addr,
    sources: Vec<IpAddr>,
    #[serde(rename = "transit")]
    _transit: bool,
    fabric: Fabric,
    workload: Option<Workload>,
}

#[derive(Deserialize)]
struct Fabric {
    neighbors: Vec<Neighbor>,
    announced: Vec<Announced>,
    aggregates: Vec<IpNet>,
    inward: Inward,
    outward: Outward,
    graceful_restart: Option<u16>,
}

#[derive(Deserialize)]
struct Neighbor {
    found: Found,
    asn: Option<Asn>,
    families: Vec<Family>,
    bfd: Option<Bfd>,
    timers: (u16, u16),
    passive: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Found {
    Port { name: LinkName, mac: Option<Mac> },
    Address { address: IpAddr, source: Option<IpAddr> },
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Family {
    V4,
    V6,
}

#[derive(Deserialize)]
struct Bfd {
    interval: u32,
    multiplier: u8,
}

#[derive(Deserialize)]
struct Announced {
    kind: v1::AddressKind,
    link: LinkName,
    net: IpNet,
}

#[derive(Deserialize)]
struct Inward {
    filter: Vec<Term>,
    max_prefixes: Option<u32>,
    local_preference: Option<u32>,
}

#[derive(Deserialize)]
struct Outward {
    communities: Vec<Community>,
    prepend: u8,
}

#[derive(Deserialize)]
struct Term {
    permit: bool,
    net: IpNet,
    least: u8,
    most: u8,
}

#[derive(Deserialize)]
struct Workload {
    speaker: Speaker,
    domain: Domain,
    ours: End,
    theirs: End,
    prefix: u8,
    families: Vec<Family>,
    bfd: Option<Bfd>,
    timers: (u16, u16),
    filter: Vec<Term>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Speaker {
    Metallb,
    Cilium,
    None,
}

#[derive(Deserialize)]
struct End {
    link: String,
    address: IpAddr,
    asn: Asn,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Domain {
    Vrf { name: String, table: u32 },
    Namespace { name: String },
    Shared,
}

impl AgentConfig {
    /// The same in version 1.
    pub(super) fn upgrade(self) -> v1::AgentConfig {
        let (bgp, files) = match self.speech {
            Speech::Model(meant) => (Some(meant.upgrade()), None),
            Speech::Ready(ready) => (None, Some(ready.upgrade())),
        };
        let extra =
            |carried: Carried| v1::ExtraAddresses { interface: carried.link, addresses: carried.addresses };
        v1::AgentConfig {
            backend: self.backend,
            log_level: self.log,
            drain: self.drain,
            bgp,
            files,
            veth_mtu: self.mtu,
            extra_addresses: self.carried.into_iter().map(extra).collect(),
            anycast_health_check: self.health.map(Health::upgrade),
            status_listener: self.status.map(Status::upgrade),
        }
    }
}

impl Meant {
    fn upgrade(self) -> v1::Bgp {
        let Model { name, asn, router_id, sources, fabric, workload, .. } = self.model;
        let passwords = self.passwords.into_iter().chain(std::iter::repeat(None));
        let neighbors = fabric.neighbors.into_iter().zip(passwords);
        let announced = |announced: Announced| v1::AnnouncedAddress {
            kind: announced.kind,
            interface: announced.link,
            prefix: announced.net,
        };
        let interface =
            |announce: Announce| v1::AnnouncedInterface { kind: announce.kind, interface: announce.link };
        v1::Bgp {
            node_name: name,
            asn: number(asn),
            router_id,
            source_addresses: sources,
            neighbors: neighbors.map(|(neighbor, password)| neighbor.upgrade(password)).collect(),
            discover_neighbors: self.discover.map(Discover::upgrade),
            announced_addresses: fabric.announced.into_iter().map(announced).collect(),
            announced_interfaces: self.announce.into_iter().map(interface).collect(),
            aggregates: fabric.aggregates,
            import_policy: v1::ImportPolicy {
                prefixes: rules(fabric.inward.filter),
                max_prefixes: fabric.inward.max_prefixes,
                local_preference: fabric.inward.local_preference,
            },
            export_policy: v1::ExportPolicy {
                communities: fabric.outward.communities,
                prepend: fabric.outward.prepend,
            },
            graceful_restart_seconds: fabric.graceful_restart,
            load_balancer: workload.map(Workload::upgrade),
            daemon_version: self.version,
            daemon_options: self.options,
            template: self.template,
        }
    }
}

impl Ready {
    fn upgrade(self) -> v1::Files {
        let end = |(interface, address)| v1::VethEnd { interface, address };
        let veth = |lead: Lead| v1::VethPair {
            isolation: lead.domain.upgrade(),
            local: end(lead.ours),
            remote: end(lead.theirs),
        };
        v1::Files { config: self.configuration, frr_daemons: self.daemons, veth: self.lead.map(veth) }
    }
}

impl Neighbor {
    fn upgrade(self, password: Option<Hidden>) -> v1::Neighbor {
        let peer = match self.found {
            Found::Port { name, mac } => v1::Peer::Interface { name, mac },
            Found::Address { address, source } => v1::Peer::Ip { address, source_address: source },
        };
        let session = v1::Session {
            remote_asn: self.asn.map(number),
            address_families: families(self.families),
            bfd: self.bfd.map(Bfd::upgrade),
            timers: timers(self.timers),
            passive: self.passive,
        };
        v1::Neighbor { peer, session, password }
    }
}

impl Discover {
    fn upgrade(self) -> v1::DiscoverNeighbors {
        let interfaces = match self.ports {
            Ports::Advertised => v1::DiscoveredInterfaces::WithRouterAdvertisements,
            Ports::All => v1::DiscoveredInterfaces::All,
        };
        v1::DiscoverNeighbors { interfaces, session: self.like.upgrade(None).session }
    }
}

impl Workload {
    fn upgrade(self) -> v1::LoadBalancer {
        let software = match self.speaker {
            Speaker::Metallb => Some(v1::LoadBalancerSoftware::Metallb),
            Speaker::Cilium => Some(v1::LoadBalancerSoftware::Cilium),
            Speaker::None => None,
        };
        let end =
            |end: End| v1::SessionEnd { interface: end.link, address: end.address, asn: number(end.asn) };
        v1::LoadBalancer {
            software,
            isolation: self.domain.upgrade(),
            local: end(self.ours),
            remote: end(self.theirs),
            prefix_length: self.prefix,
            address_families: families(self.families),
            bfd: self.bfd.map(Bfd::upgrade),
            timers: timers(self.timers),
            import_prefixes: rules(self.filter),
        }
    }
}

impl Domain {
    fn upgrade(self) -> v1::Isolation {
        match self {
            Self::Vrf { name, table } => v1::Isolation::Vrf { name, table },
            Self::Namespace { name } => v1::Isolation::Namespace { name },
            Self::Shared => v1::Isolation::None,
        }
    }
}

impl Bfd {
    fn upgrade(self) -> v1::Bfd {
        v1::Bfd { interval_ms: self.interval, multiplier: self.multiplier }
    }
}

impl Health {
    fn upgrade(self) -> v1::HealthCheck {
        v1::HealthCheck {
            probe: self.probe,
            interval_ms: self.interval.unwrap_or(1000),
            timeout_ms: self.timeout.unwrap_or(1000),
            rise: self.rise.unwrap_or(2),
            fall: self.fall.unwrap_or(3),
        }
    }
}

impl Status {
    fn upgrade(self) -> v1::StatusListener {
        v1::StatusListener {
            address: self.listen,
            port: self.port,
            client_ca: self.ca,
            certificate: self.certificate,
            private_key: self.key,
        }
    }
}

fn number(asn: Asn) -> NonZeroU32 {
    NonZeroU32::new(asn.0).expect("0 is not read as an AS number")
}

fn timers((keepalive_seconds, hold_seconds): (u16, u16)) -> v1::Timers {
    v1::Timers { keepalive_seconds, hold_seconds }
}

fn families(families: Vec<Family>) -> Vec<v1::AddressFamily> {
    let family = |family: Family| match family {
        Family::V4 => v1::AddressFamily::Ipv4,
        Family::V6 => v1::AddressFamily::Ipv6,
    };
    families.into_iter().map(family).collect()
}

fn rules(terms: Vec<Term>) -> Vec<v1::PrefixRule> {
    let rule = |term: Term| v1::PrefixRule {
        action: if term.permit { v1::Action::Permit } else { v1::Action::Deny },
        prefix: term.net,
        min_length: term.least,
        max_length: term.most,
    };
    terms.into_iter().map(rule).collect()
}
