//! Version 0 of `agent.json`: the format of builds from before it had a version. It is only read.
//!
//! These types are frozen; [`AgentConfigV0::upgrade`] turns them into those of version 1.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;

use ipnet::IpNet;
use serde::Deserialize;

use super::{SecretText, v1};
use ichor_values::format::Version;
use ichor_values::{Asn, Community, LinkName, Mac, NodeName, SoftwareVersion};

/// The version of files without one.
pub(super) const VERSION: Version = Version::new(0, 0);

#[derive(Deserialize)]
pub(super) struct AgentConfigV0 {
    backend: v1::BackendV1,
    speech: ConfigSourceV0,
    mtu: Option<u32>,
    #[serde(default)]
    carried: Vec<ExtraAddressesV0>,
    health: Option<HealthCheckV0>,
    #[serde(default)]
    drain: bool,
    #[serde(default)]
    log: v1::LogLevelV1,
    status: Option<StatusListenerV0>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ConfigSourceV0 {
    Model(Box<BgpV0>),
    Ready(Box<FilesV0>),
}

#[derive(Deserialize)]
struct BgpV0 {
    model: ModelV0,
    #[serde(default)]
    passwords: Vec<Option<SecretText>>,
    discover: Option<DiscoverNeighborsV0>,
    #[serde(default)]
    announce: Vec<AnnouncedInterfaceV0>,
    version: Option<SoftwareVersion>,
    #[serde(default)]
    options: BTreeMap<String, Vec<String>>,
    template: Option<v1::TemplateV1>,
}

#[derive(Deserialize)]
struct FilesV0 {
    configuration: SecretText,
    daemons: Option<String>,
    lead: Option<VethPairV0>,
}

#[derive(Deserialize)]
struct VethPairV0 {
    domain: IsolationV0,
    ours: (String, IpNet),
    theirs: (String, IpNet),
}

#[derive(Deserialize)]
struct AnnouncedInterfaceV0 {
    link: LinkName,
    kind: v1::AddressKindV1,
}

#[derive(Deserialize)]
struct ExtraAddressesV0 {
    link: String,
    addresses: Vec<IpNet>,
}

#[derive(Deserialize)]
struct DiscoverNeighborsV0 {
    ports: DiscoveredInterfacesV0,
    like: NeighborV0,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum DiscoveredInterfacesV0 {
    Advertised,
    All,
}

#[derive(Deserialize)]
struct HealthCheckV0 {
    probe: v1::ProbeV1,
    interval: Option<u32>,
    timeout: Option<u32>,
    rise: Option<u8>,
    fall: Option<u8>,
}

#[derive(Deserialize)]
struct StatusListenerV0 {
    listen: IpAddr,
    port: u16,
    ca: String,
    certificate: String,
    key: SecretText,
}

#[derive(Deserialize)]
struct ModelV0 {
    name: NodeName,
    #[serde(rename = "nth")]
    _nth: usize,
    asn: Asn,
    router_id: Ipv4Addr,
    sources: Vec<IpAddr>,
    #[serde(rename = "transit")]
    _transit: bool,
    fabric: FabricV0,
    workload: Option<LoadBalancerV0>,
}

#[derive(Deserialize)]
struct FabricV0 {
    neighbors: Vec<NeighborV0>,
    announced: Vec<AnnouncedAddressV0>,
    aggregates: Vec<IpNet>,
    inward: ImportPolicyV0,
    outward: ExportPolicyV0,
    graceful_restart: Option<u16>,
}

#[derive(Deserialize)]
struct NeighborV0 {
    found: PeerV0,
    asn: Option<Asn>,
    families: Vec<AddressFamilyV0>,
    bfd: Option<BfdV0>,
    timers: (u16, u16),
    passive: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PeerV0 {
    Port { name: LinkName, mac: Option<Mac> },
    Address { address: IpAddr, source: Option<IpAddr> },
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum AddressFamilyV0 {
    V4,
    V6,
}

#[derive(Deserialize)]
struct BfdV0 {
    interval: u32,
    multiplier: u8,
}

#[derive(Deserialize)]
struct AnnouncedAddressV0 {
    kind: v1::AddressKindV1,
    link: LinkName,
    net: IpNet,
}

#[derive(Deserialize)]
struct ImportPolicyV0 {
    filter: Vec<PrefixRuleV0>,
    max_prefixes: Option<u32>,
    local_preference: Option<u32>,
}

#[derive(Deserialize)]
struct ExportPolicyV0 {
    communities: Vec<Community>,
    prepend: u8,
}

#[derive(Deserialize)]
struct PrefixRuleV0 {
    permit: bool,
    net: IpNet,
    least: u8,
    most: u8,
}

#[derive(Deserialize)]
struct LoadBalancerV0 {
    speaker: LoadBalancerSoftwareV0,
    domain: IsolationV0,
    ours: SessionEndV0,
    theirs: SessionEndV0,
    prefix: u8,
    families: Vec<AddressFamilyV0>,
    bfd: Option<BfdV0>,
    timers: (u16, u16),
    filter: Vec<PrefixRuleV0>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum LoadBalancerSoftwareV0 {
    Metallb,
    Cilium,
    None,
}

#[derive(Deserialize)]
struct SessionEndV0 {
    link: String,
    address: IpAddr,
    asn: Asn,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum IsolationV0 {
    Vrf { name: String, table: u32 },
    Namespace { name: String },
    Shared,
}

impl AgentConfigV0 {
    /// Converts it to version 1.
    pub(super) fn upgrade(self) -> v1::AgentConfigV1 {
        let (bgp, files) = match self.speech {
            ConfigSourceV0::Model(bgp) => (Some(bgp.upgrade()), None),
            ConfigSourceV0::Ready(files) => (None, Some(files.upgrade())),
        };
        let extra_addresses = |extra: ExtraAddressesV0| v1::ExtraAddressesV1 {
            interface: extra.link,
            addresses: extra.addresses,
        };
        v1::AgentConfigV1 {
            backend: self.backend,
            log_level: self.log,
            drain: self.drain,
            bgp,
            files,
            veth_mtu: self.mtu,
            extra_addresses: self.carried.into_iter().map(extra_addresses).collect(),
            anycast_health_check: self.health.map(HealthCheckV0::upgrade),
            status_listener: self.status.map(StatusListenerV0::upgrade),
        }
    }
}

impl BgpV0 {
    fn upgrade(self) -> v1::BgpV1 {
        let ModelV0 { name, asn, router_id, sources, fabric, workload, .. } = self.model;
        let passwords = self.passwords.into_iter().chain(std::iter::repeat(None));
        let neighbors = fabric.neighbors.into_iter().zip(passwords);
        let announced = |announced: AnnouncedAddressV0| v1::AnnouncedAddressV1 {
            kind: announced.kind,
            interface: announced.link,
            prefix: announced.net,
        };
        let interface = |announce: AnnouncedInterfaceV0| v1::AnnouncedInterfaceV1 {
            kind: announce.kind,
            interface: announce.link,
        };
        v1::BgpV1 {
            node: name,
            asn: number(asn),
            router_id,
            source_addresses: sources,
            neighbors: neighbors.map(|(neighbor, password)| neighbor.upgrade(password)).collect(),
            discover_neighbors: self.discover.map(DiscoverNeighborsV0::upgrade),
            announced_addresses: fabric.announced.into_iter().map(announced).collect(),
            announced_interfaces: self.announce.into_iter().map(interface).collect(),
            aggregates: fabric.aggregates,
            import_policy: v1::ImportPolicyV1 {
                prefixes: rules(fabric.inward.filter),
                max_prefixes: fabric.inward.max_prefixes,
                local_preference: fabric.inward.local_preference,
            },
            export_policy: v1::ExportPolicyV1 {
                communities: fabric.outward.communities,
                prepend: fabric.outward.prepend,
            },
            graceful_restart_seconds: fabric.graceful_restart,
            load_balancer: workload.map(LoadBalancerV0::upgrade),
            daemon_version: self.version,
            daemon_options: self.options,
            template: self.template,
        }
    }
}

impl FilesV0 {
    fn upgrade(self) -> v1::FilesV1 {
        let end = |(interface, address)| v1::VethEndV1 { interface, address };
        let veth = |lead: VethPairV0| v1::VethPairV1 {
            isolation: lead.domain.upgrade(),
            local: end(lead.ours),
            remote: end(lead.theirs),
        };
        v1::FilesV1 { config: self.configuration, frr_daemons: self.daemons, veth: self.lead.map(veth) }
    }
}

impl NeighborV0 {
    fn upgrade(self, password: Option<SecretText>) -> v1::NeighborV1 {
        let peer = match self.found {
            PeerV0::Port { name, mac } => v1::PeerV1::Interface { name, mac },
            PeerV0::Address { address, source } => v1::PeerV1::Ip { address, source_address: source },
        };
        let session = v1::SessionV1 {
            remote_asn: self.asn.map(number),
            address_families: families(self.families),
            bfd: self.bfd.map(BfdV0::upgrade),
            timers: timers(self.timers),
            passive: self.passive,
        };
        v1::NeighborV1 { peer, session, password }
    }
}

impl DiscoverNeighborsV0 {
    fn upgrade(self) -> v1::DiscoverNeighborsV1 {
        let interfaces = match self.ports {
            DiscoveredInterfacesV0::Advertised => v1::DiscoveredInterfacesV1::WithRouterAdvertisements,
            DiscoveredInterfacesV0::All => v1::DiscoveredInterfacesV1::All,
        };
        v1::DiscoverNeighborsV1 { interfaces, session: self.like.upgrade(None).session }
    }
}

impl LoadBalancerV0 {
    fn upgrade(self) -> v1::LoadBalancerV1 {
        let software = match self.speaker {
            LoadBalancerSoftwareV0::Metallb => Some(v1::LoadBalancerSoftwareV1::Metallb),
            LoadBalancerSoftwareV0::Cilium => Some(v1::LoadBalancerSoftwareV1::Cilium),
            LoadBalancerSoftwareV0::None => None,
        };
        let end = |end: SessionEndV0| v1::SessionEndV1 {
            interface: end.link,
            address: end.address,
            asn: number(end.asn),
        };
        v1::LoadBalancerV1 {
            software,
            isolation: self.domain.upgrade(),
            local: end(self.ours),
            remote: end(self.theirs),
            prefix_length: self.prefix,
            address_families: families(self.families),
            bfd: self.bfd.map(BfdV0::upgrade),
            timers: timers(self.timers),
            import_prefixes: rules(self.filter),
        }
    }
}

impl IsolationV0 {
    fn upgrade(self) -> v1::IsolationV1 {
        match self {
            Self::Vrf { name, table } => v1::IsolationV1::Vrf { name, table },
            Self::Namespace { name } => v1::IsolationV1::Namespace { name },
            Self::Shared => v1::IsolationV1::None,
        }
    }
}

impl BfdV0 {
    fn upgrade(self) -> v1::BfdV1 {
        v1::BfdV1 { interval_ms: self.interval, multiplier: self.multiplier }
    }
}

impl HealthCheckV0 {
    fn upgrade(self) -> v1::HealthCheckV1 {
        v1::HealthCheckV1 {
            probe: self.probe,
            interval_ms: self.interval.unwrap_or(1000),
            timeout_ms: self.timeout.unwrap_or(1000),
            rise: self.rise.unwrap_or(2),
            fall: self.fall.unwrap_or(3),
        }
    }
}

impl StatusListenerV0 {
    fn upgrade(self) -> v1::StatusListenerV1 {
        v1::StatusListenerV1 {
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

fn timers((keepalive_seconds, hold_seconds): (u16, u16)) -> v1::TimersV1 {
    v1::TimersV1 { keepalive_seconds, hold_seconds }
}

fn families(families: Vec<AddressFamilyV0>) -> Vec<v1::AddressFamilyV1> {
    let family = |family: AddressFamilyV0| match family {
        AddressFamilyV0::V4 => v1::AddressFamilyV1::Ipv4,
        AddressFamilyV0::V6 => v1::AddressFamilyV1::Ipv6,
    };
    families.into_iter().map(family).collect()
}

fn rules(terms: Vec<PrefixRuleV0>) -> Vec<v1::PrefixRuleV1> {
    let rule = |term: PrefixRuleV0| v1::PrefixRuleV1 {
        action: if term.permit { v1::ActionV1::Permit } else { v1::ActionV1::Deny },
        prefix: term.net,
        min_length: term.least,
        max_length: term.most,
    };
    terms.into_iter().map(rule).collect()
}
