//! From the agent's configuration to the format.

use std::num::NonZeroU32;

use ipnet::IpNet;

use super::{
    Action, AddressFamily, AddressKind, AgentConfig, AnnouncedAddress, AnnouncedInterface, Backend, Bfd, Bgp,
    DiscoverNeighbors, DiscoveredInterfaces, ExportPolicy, ExtraAddresses, Files, HealthCheck, ImportPolicy,
    Isolation, LoadBalancer, LoadBalancerSoftware, LogLevel, Neighbor, Peer, PrefixRule, Probe, Session,
    SessionEnd, StatusListener, Template, Timers, VethEnd, VethPair,
};
use crate::agent::config as internal;
use crate::agent::wiring::Carried;
use crate::model;
use crate::model::workload::{End, Workload};
use crate::model::{Domain, Family, Filter, fabric};
use crate::setting;
use ichor_values::Asn;

impl From<&internal::AgentConfig> for AgentConfig {
    fn from(config: &internal::AgentConfig) -> Self {
        let (bgp, files) = match &config.source {
            internal::ConfigSource::Model(bgp) => (Some(Bgp::from(&**bgp)), None),
            internal::ConfigSource::Files(files) => (None, Some(Files::from(&**files))),
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

impl From<ichor_values::Backend> for Backend {
    fn from(backend: ichor_values::Backend) -> Self {
        match backend {
            ichor_values::Backend::Frr => Self::Frr,
            ichor_values::Backend::Bird => Self::Bird,
            ichor_values::Backend::Gobgp => Self::Gobgp,
            ichor_values::Backend::Native => Self::Native,
        }
    }
}

impl From<setting::LogLevel> for LogLevel {
    fn from(level: setting::LogLevel) -> Self {
        match level {
            setting::LogLevel::Error => Self::Error,
            setting::LogLevel::Warn => Self::Warn,
            setting::LogLevel::Info => Self::Info,
            setting::LogLevel::Debug => Self::Debug,
        }
    }
}

impl From<&internal::BgpConfig> for Bgp {
    fn from(bgp: &internal::BgpConfig) -> Self {
        let model = &bgp.model;
        let fabric = &model.fabric;
        let password = |nth: usize| bgp.passwords.get(nth).cloned().flatten();
        let neighbors = fabric.neighbors.iter().enumerate();
        Self {
            node_name: model.name.clone(),
            asn: number(model.asn),
            router_id: model.router_id,
            source_addresses: model.sources.clone(),
            neighbors: neighbors
                .map(|(nth, neighbor)| Neighbor {
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

/// An AS number is never 0; the type of the model only promises that when it was parsed.
fn number(asn: Asn) -> NonZeroU32 {
    NonZeroU32::new(asn.0).expect("0 is not an AS number")
}

impl From<&fabric::Found> for Peer {
    fn from(found: &fabric::Found) -> Self {
        match found {
            fabric::Found::Port { name, mac } => Self::Interface { name: name.clone(), mac: *mac },
            fabric::Found::Address { address, source } => {
                Self::Ip { address: *address, source_address: *source }
            }
        }
    }
}

impl From<&fabric::Neighbor> for Session {
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

fn families(families: &[Family]) -> Vec<AddressFamily> {
    let family = |family: &Family| match family {
        Family::V4 => AddressFamily::Ipv4,
        Family::V6 => AddressFamily::Ipv6,
    };
    families.iter().map(family).collect()
}

impl From<model::Bfd> for Bfd {
    fn from(bfd: model::Bfd) -> Self {
        Self { interval_ms: bfd.interval, multiplier: bfd.multiplier }
    }
}

impl From<(u16, u16)> for Timers {
    fn from((keepalive_seconds, hold_seconds): (u16, u16)) -> Self {
        Self { keepalive_seconds, hold_seconds }
    }
}

impl From<&internal::Discover> for DiscoverNeighbors {
    fn from(discover: &internal::Discover) -> Self {
        let interfaces = match discover.ports {
            internal::Ports::Advertised => DiscoveredInterfaces::WithRouterAdvertisements,
            internal::Ports::All => DiscoveredInterfaces::All,
        };
        Self { interfaces, session: (&discover.like).into() }
    }
}

impl From<setting::Advertise> for AddressKind {
    fn from(kind: setting::Advertise) -> Self {
        match kind {
            setting::Advertise::Loopback => Self::Loopback,
            setting::Advertise::Dummy => Self::Dummy,
            setting::Advertise::Anycast => Self::Anycast,
        }
    }
}

impl From<&fabric::Announced> for AnnouncedAddress {
    fn from(announced: &fabric::Announced) -> Self {
        Self { kind: announced.kind.into(), interface: announced.link.clone(), prefix: announced.net }
    }
}

impl From<&internal::Announce> for AnnouncedInterface {
    fn from(announce: &internal::Announce) -> Self {
        Self { kind: announce.kind.into(), interface: announce.link.clone() }
    }
}

impl From<&fabric::Inward> for ImportPolicy {
    fn from(inward: &fabric::Inward) -> Self {
        Self {
            prefixes: rules(&inward.filter),
            max_prefixes: inward.max_prefixes,
            local_preference: inward.local_preference,
        }
    }
}

impl From<&fabric::Outward> for ExportPolicy {
    fn from(outward: &fabric::Outward) -> Self {
        Self { communities: outward.communities.clone(), prepend: outward.prepend }
    }
}

fn rules(filter: &Filter) -> Vec<PrefixRule> {
    let rule = |term: &model::Term| PrefixRule {
        action: if term.permit { Action::Permit } else { Action::Deny },
        prefix: term.net,
        min_length: term.least,
        max_length: term.most,
    };
    filter.0.iter().map(rule).collect()
}

impl From<&Workload> for LoadBalancer {
    fn from(workload: &Workload) -> Self {
        let software = match workload.speaker {
            setting::Speaker::Metallb => Some(LoadBalancerSoftware::Metallb),
            setting::Speaker::Cilium => Some(LoadBalancerSoftware::Cilium),
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

impl From<&Domain> for Isolation {
    fn from(domain: &Domain) -> Self {
        match domain {
            Domain::Vrf { name, table } => Self::Vrf { name: name.clone(), table: *table },
            Domain::Namespace { name } => Self::Namespace { name: name.clone() },
            Domain::Shared => Self::None,
        }
    }
}

impl From<&End> for SessionEnd {
    fn from(end: &End) -> Self {
        Self { interface: end.link.clone(), address: end.address, asn: number(end.asn) }
    }
}

impl From<&internal::OwnTemplate> for Template {
    fn from(template: &internal::OwnTemplate) -> Self {
        Self { path: template.path.clone(), text: template.text.clone() }
    }
}

impl From<&internal::DaemonFiles> for Files {
    fn from(files: &internal::DaemonFiles) -> Self {
        Self {
            config: files.configuration.clone(),
            frr_daemons: files.daemons.clone(),
            veth: files.veth.as_ref().map(Into::into),
        }
    }
}

impl From<&internal::VethPair> for VethPair {
    fn from(pair: &internal::VethPair) -> Self {
        let end = |(interface, address): &(String, IpNet)| VethEnd {
            interface: interface.clone(),
            address: *address,
        };
        Self { isolation: (&pair.domain).into(), local: end(&pair.ours), remote: end(&pair.theirs) }
    }
}

impl From<&Carried> for ExtraAddresses {
    fn from(extra: &Carried) -> Self {
        Self { interface: extra.link.clone(), addresses: extra.addresses.clone() }
    }
}

impl From<&internal::Health> for HealthCheck {
    fn from(health: &internal::Health) -> Self {
        let probe = match &health.probe {
            internal::Probe::Url(url) => Probe::Url(url.clone()),
            internal::Probe::Tcp(address) => Probe::Tcp(address.clone()),
            internal::Probe::Command(words) => Probe::Command(words.clone()),
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

impl From<&internal::Status> for StatusListener {
    fn from(status: &internal::Status) -> Self {
        Self {
            address: status.listen,
            port: status.port,
            client_ca: status.ca.clone(),
            certificate: status.certificate.clone(),
            private_key: status.key.clone(),
        }
    }
}
