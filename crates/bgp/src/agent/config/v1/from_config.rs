//! Conversion of the agent's configuration to the format.

use std::num::NonZeroU32;

use ipnet::IpNet;

use super::{
    ActionV1, AddressFamilyV1, AddressKindV1, AgentConfigV1, AnnouncedAddressV1, AnnouncedInterfaceV1,
    BackendV1, BfdV1, BgpV1, DiscoverNeighborsV1, DiscoveredInterfacesV1, ExportPolicyV1, ExtraAddressesV1,
    FilesV1, HealthCheckV1, ImportPolicyV1, IsolationV1, LoadBalancerSoftwareV1, LoadBalancerV1, LogLevelV1,
    NeighborV1, PeerV1, PrefixRuleV1, ProbeV1, SessionEndV1, SessionV1, StatusListenerV1, TemplateV1,
    TimersV1, VethEndV1, VethPairV1,
};
use crate::agent::config as internal;
use crate::agent::wiring::ExtraAddresses;
use crate::model;
use crate::model::workload::{SessionEndpoint, Workload};
use crate::model::{Family, PrefixFilter, RoutingDomain, fabric};
use crate::setting;
use ichor_values::Asn;

impl From<&internal::AgentConfig> for AgentConfigV1 {
    fn from(config: &internal::AgentConfig) -> Self {
        let (bgp, files) = match &config.source {
            internal::ConfigSource::Model(bgp) => (Some(BgpV1::from(&**bgp)), None),
            internal::ConfigSource::Files(files) => (None, Some(FilesV1::from(&**files))),
        };
        Self {
            backend: config.backend.into(),
            log_level: config.log.into(),
            drain: config.drain,
            bgp,
            files,
            veth_mtu: config.mtu,
            extra_addresses: config.extra_addresses.iter().map(Into::into).collect(),
            anycast_health_check: config.health.as_ref().map(Into::into),
            status_listener: config.status.as_ref().map(Into::into),
        }
    }
}

impl From<ichor_values::Backend> for BackendV1 {
    fn from(backend: ichor_values::Backend) -> Self {
        match backend {
            ichor_values::Backend::Frr => Self::Frr,
            ichor_values::Backend::Bird => Self::Bird,
            ichor_values::Backend::Gobgp => Self::Gobgp,
            ichor_values::Backend::Native => Self::Native,
        }
    }
}

impl From<setting::LogLevel> for LogLevelV1 {
    fn from(level: setting::LogLevel) -> Self {
        match level {
            setting::LogLevel::Error => Self::Error,
            setting::LogLevel::Warn => Self::Warn,
            setting::LogLevel::Info => Self::Info,
            setting::LogLevel::Debug => Self::Debug,
        }
    }
}

impl From<&internal::BgpConfig> for BgpV1 {
    fn from(bgp: &internal::BgpConfig) -> Self {
        let model = &bgp.model;
        let fabric = &model.fabric;
        let password = |nth: usize| bgp.passwords.get(nth).cloned().flatten();
        let neighbors = fabric.neighbors.iter().enumerate();
        Self {
            node: model.name.clone(),
            asn: number(model.asn),
            router_id: model.router_id,
            source_addresses: model.sources.clone(),
            neighbors: neighbors
                .map(|(nth, neighbor)| NeighborV1 {
                    peer: (&neighbor.found).into(),
                    session: neighbor.into(),
                    password: password(nth),
                })
                .collect(),
            discover_neighbors: bgp.discover.as_ref().map(Into::into),
            announced_addresses: fabric.announced.iter().map(Into::into).collect(),
            announced_interfaces: bgp.announce.iter().map(Into::into).collect(),
            aggregates: fabric.aggregates.clone(),
            import_policy: (&fabric.inward).into(),
            export_policy: (&fabric.outward).into(),
            graceful_restart_seconds: fabric.graceful_restart,
            load_balancer: model.workload.as_ref().map(Into::into),
            daemon_version: bgp.version.clone(),
            daemon_options: bgp.options.clone(),
            template: bgp.template.as_ref().map(Into::into),
        }
    }
}

/// An AS number is never 0, but its type guarantees that only for parsed numbers.
fn number(asn: Asn) -> NonZeroU32 {
    NonZeroU32::new(asn.0).expect("0 is not an AS number")
}

impl From<&fabric::PeerAddress> for PeerV1 {
    fn from(found: &fabric::PeerAddress) -> Self {
        match found {
            fabric::PeerAddress::Port { name, mac } => Self::Interface { name: name.clone(), mac: *mac },
            fabric::PeerAddress::Address { address, source } => {
                Self::Ip { address: *address, source_address: *source }
            }
        }
    }
}

impl From<&fabric::Neighbor> for SessionV1 {
    fn from(neighbor: &fabric::Neighbor) -> Self {
        Self {
            remote_asn: neighbor.asn.map(number),
            address_families: families(&neighbor.families),
            bfd: neighbor.bfd.map(Into::into),
            timers: neighbor.timers.into(),
            passive: neighbor.passive,
        }
    }
}

fn families(families: &[Family]) -> Vec<AddressFamilyV1> {
    let family = |family: &Family| match family {
        Family::V4 => AddressFamilyV1::Ipv4,
        Family::V6 => AddressFamilyV1::Ipv6,
    };
    families.iter().map(family).collect()
}

impl From<model::Bfd> for BfdV1 {
    fn from(bfd: model::Bfd) -> Self {
        Self { interval_ms: bfd.interval, multiplier: bfd.multiplier }
    }
}

impl From<(u16, u16)> for TimersV1 {
    fn from((keepalive_seconds, hold_seconds): (u16, u16)) -> Self {
        Self { keepalive_seconds, hold_seconds }
    }
}

impl From<&internal::NeighborDiscovery> for DiscoverNeighborsV1 {
    fn from(discover: &internal::NeighborDiscovery) -> Self {
        let interfaces = match discover.ports {
            internal::DiscoveryPorts::Advertised => DiscoveredInterfacesV1::WithRouterAdvertisements,
            internal::DiscoveryPorts::All => DiscoveredInterfacesV1::All,
        };
        Self { interfaces, session: (&discover.like).into() }
    }
}

impl From<setting::Advertise> for AddressKindV1 {
    fn from(kind: setting::Advertise) -> Self {
        match kind {
            setting::Advertise::Loopback => Self::Loopback,
            setting::Advertise::Dummy => Self::Dummy,
            setting::Advertise::Anycast => Self::Anycast,
        }
    }
}

impl From<&fabric::AnnouncedAddress> for AnnouncedAddressV1 {
    fn from(announced: &fabric::AnnouncedAddress) -> Self {
        Self { kind: announced.kind.into(), interface: announced.link.clone(), prefix: announced.net }
    }
}

impl From<&internal::AnnouncedInterface> for AnnouncedInterfaceV1 {
    fn from(announce: &internal::AnnouncedInterface) -> Self {
        Self { kind: announce.kind.into(), interface: announce.link.clone() }
    }
}

impl From<&fabric::ImportPolicy> for ImportPolicyV1 {
    fn from(inward: &fabric::ImportPolicy) -> Self {
        Self {
            prefixes: rules(&inward.filter),
            max_prefixes: inward.max_prefixes,
            local_preference: inward.local_preference,
        }
    }
}

impl From<&fabric::ExportPolicy> for ExportPolicyV1 {
    fn from(outward: &fabric::ExportPolicy) -> Self {
        Self { communities: outward.communities.clone(), prepend: outward.prepend }
    }
}

fn rules(filter: &PrefixFilter) -> Vec<PrefixRuleV1> {
    let rule = |term: &model::PrefixRule| PrefixRuleV1 {
        action: if term.permit { ActionV1::Permit } else { ActionV1::Deny },
        prefix: term.net,
        min_length: term.least,
        max_length: term.most,
    };
    filter.0.iter().map(rule).collect()
}

impl From<&Workload> for LoadBalancerV1 {
    fn from(workload: &Workload) -> Self {
        let software = match workload.speaker {
            setting::Speaker::Metallb => Some(LoadBalancerSoftwareV1::Metallb),
            setting::Speaker::Cilium => Some(LoadBalancerSoftwareV1::Cilium),
            setting::Speaker::None => None,
        };
        Self {
            software,
            isolation: (&workload.domain).into(),
            local: (&workload.ours).into(),
            remote: (&workload.theirs).into(),
            prefix_length: workload.prefix,
            address_families: families(&workload.families),
            bfd: workload.bfd.map(Into::into),
            timers: workload.timers.into(),
            import_prefixes: rules(&workload.filter),
        }
    }
}

impl From<&RoutingDomain> for IsolationV1 {
    fn from(domain: &RoutingDomain) -> Self {
        match domain {
            RoutingDomain::Vrf { name, table } => Self::Vrf { name: name.clone(), table: *table },
            RoutingDomain::Namespace { name } => Self::Namespace { name: name.clone() },
            RoutingDomain::Shared => Self::None,
        }
    }
}

impl From<&SessionEndpoint> for SessionEndV1 {
    fn from(end: &SessionEndpoint) -> Self {
        Self { interface: end.link.clone(), address: end.address, asn: number(end.asn) }
    }
}

impl From<&internal::UserTemplate> for TemplateV1 {
    fn from(template: &internal::UserTemplate) -> Self {
        Self { path: template.path.clone(), text: template.text.clone() }
    }
}

impl From<&internal::DaemonFiles> for FilesV1 {
    fn from(files: &internal::DaemonFiles) -> Self {
        Self {
            config: files.configuration.clone(),
            frr_daemons: files.daemons.clone(),
            veth: files.veth.as_ref().map(Into::into),
        }
    }
}

impl From<&internal::VethPair> for VethPairV1 {
    fn from(pair: &internal::VethPair) -> Self {
        let end = |(interface, address): &(String, IpNet)| VethEndV1 {
            interface: interface.clone(),
            address: *address,
        };
        Self { isolation: (&pair.domain).into(), local: end(&pair.ours), remote: end(&pair.theirs) }
    }
}

impl From<&ExtraAddresses> for ExtraAddressesV1 {
    fn from(extra: &ExtraAddresses) -> Self {
        Self { interface: extra.link.clone(), addresses: extra.addresses.clone() }
    }
}

impl From<&internal::HealthCheck> for HealthCheckV1 {
    fn from(health: &internal::HealthCheck) -> Self {
        let probe = match &health.probe {
            internal::HealthProbe::Url(url) => ProbeV1::Url(url.clone()),
            internal::HealthProbe::Tcp(address) => ProbeV1::Tcp(address.clone()),
            internal::HealthProbe::Command(words) => ProbeV1::Command(words.clone()),
        };
        Self {
            probe,
            interval_ms: health.interval,
            timeout_ms: health.timeout,
            rise: health.rise,
            fall: health.fall,
        }
    }
}

impl From<&internal::StatusListener> for StatusListenerV1 {
    fn from(status: &internal::StatusListener) -> Self {
        Self {
            address: status.listen,
            port: status.port,
            client_ca: status.ca.clone(),
            certificate: status.certificate.clone(),
            private_key: status.key.clone(),
        }
    }
}
