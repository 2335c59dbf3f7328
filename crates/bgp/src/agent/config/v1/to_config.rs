//! Conversion of the format to the agent's configuration.

use super::{
    ActionV1, AddressFamilyV1, AddressKindV1, AgentConfigV1, AnnouncedAddressV1, AnnouncedInterfaceV1,
    BackendV1, BfdV1, BgpV1, DiscoverNeighborsV1, DiscoveredInterfacesV1, ExportPolicyV1, ExtraAddressesV1,
    FilesV1, HealthCheckV1, ImportPolicyV1, IsolationV1, LinkName, LoadBalancerSoftwareV1, LoadBalancerV1,
    LogLevelV1, NeighborV1, PeerV1, PrefixRuleV1, ProbeV1, SecretText, SessionEndV1, SessionV1,
    StatusListenerV1, TemplateV1, TimersV1, VethEndV1, VethPairV1,
};
use crate::agent::config as internal;
use crate::agent::wiring::ExtraAddresses;
use crate::model;
use crate::model::workload::{SessionEndpoint, Workload};
use crate::model::{BgpModel, Fabric, Family, PrefixFilter, PrefixRule, RoutingDomain, fabric};
use crate::setting;
use ichor_values::Asn;
use ichor_values::format::InvalidValue;

impl TryFrom<AgentConfigV1> for internal::AgentConfig {
    type Error = InvalidValue;

    fn try_from(config: AgentConfigV1) -> Result<Self, InvalidValue> {
        let source = match (config.bgp, config.files) {
            (Some(bgp), None) => internal::ConfigSource::Model(Box::new(bgp.into())),
            (None, Some(files)) => internal::ConfigSource::Files(Box::new(files.into())),
            (Some(_), Some(_)) => return Err(InvalidValue::new("`bgp` and `files` exclude each other")),
            (None, None) => return Err(InvalidValue::new("one of the keys `bgp` and `files` is missing")),
        };
        Ok(Self {
            backend: config.backend.into(),
            source,
            mtu: config.veth_mtu,
            extra_addresses: config.extra_addresses.into_iter().map(Into::into).collect(),
            health: config.anycast_health_check.map(Into::into),
            drain: config.drain,
            log: config.log_level.into(),
            status: config.status_listener.map(Into::into),
        })
    }
}

impl From<BackendV1> for ichor_values::Backend {
    fn from(backend: BackendV1) -> Self {
        match backend {
            BackendV1::Frr => Self::Frr,
            BackendV1::Bird => Self::Bird,
            BackendV1::Gobgp => Self::Gobgp,
            BackendV1::Native => Self::Native,
        }
    }
}

impl From<LogLevelV1> for setting::LogLevel {
    fn from(level: LogLevelV1) -> Self {
        match level {
            LogLevelV1::Error => Self::Error,
            LogLevelV1::Warn => Self::Warn,
            LogLevelV1::Info => Self::Info,
            LogLevelV1::Debug => Self::Debug,
        }
    }
}

impl From<BgpV1> for internal::BgpConfig {
    fn from(bgp: BgpV1) -> Self {
        let (neighbors, passwords): (Vec<_>, Vec<Option<SecretText>>) =
            bgp.neighbors.into_iter().map(neighbor).unzip();
        let fabric = Fabric {
            neighbors,
            announced: bgp.announced_addresses.into_iter().map(Into::into).collect(),
            aggregates: bgp.aggregates,
            inward: bgp.import_policy.into(),
            outward: bgp.export_policy.into(),
            graceful_restart: bgp.graceful_restart_seconds,
        };
        let model = BgpModel {
            name: bgp.node,
            // Unused on the node: these two concern the cluster and Talos' own BGP.
            nth: 0,
            transit: false,
            asn: Asn(bgp.asn.get()),
            router_id: bgp.router_id,
            sources: bgp.source_addresses,
            fabric,
            workload: bgp.load_balancer.map(Into::into),
        };
        Self {
            model,
            passwords: if passwords.iter().any(Option::is_some) { passwords } else { Vec::new() },
            discover: bgp.discover_neighbors.map(Into::into),
            announce: bgp.announced_interfaces.into_iter().map(Into::into).collect(),
            version: bgp.daemon_version,
            options: bgp.daemon_options,
            template: bgp.template.map(Into::into),
        }
    }
}

fn neighbor(neighbor: NeighborV1) -> (fabric::Neighbor, Option<SecretText>) {
    (session(neighbor.peer.into(), neighbor.session), neighbor.password)
}

fn session(found: fabric::PeerAddress, session: SessionV1) -> fabric::Neighbor {
    fabric::Neighbor {
        found,
        asn: session.remote_asn.map(|asn| Asn(asn.get())),
        families: families(&session.address_families),
        bfd: session.bfd.map(Into::into),
        timers: session.timers.into(),
        passive: session.passive,
        password: None,
    }
}

impl From<PeerV1> for fabric::PeerAddress {
    fn from(peer: PeerV1) -> Self {
        match peer {
            PeerV1::Interface { name, mac } => Self::Port { name, mac },
            PeerV1::Ip { address, source_address } => Self::Address { address, source: source_address },
        }
    }
}

fn families(families: &[AddressFamilyV1]) -> Vec<Family> {
    let family = |family: &AddressFamilyV1| match family {
        AddressFamilyV1::Ipv4 => Family::V4,
        AddressFamilyV1::Ipv6 => Family::V6,
    };
    families.iter().map(family).collect()
}

impl From<BfdV1> for model::Bfd {
    fn from(bfd: BfdV1) -> Self {
        Self { interval: bfd.interval_ms, multiplier: bfd.multiplier }
    }
}

impl From<TimersV1> for (u16, u16) {
    fn from(timers: TimersV1) -> Self {
        (timers.keepalive_seconds, timers.hold_seconds)
    }
}

impl From<DiscoverNeighborsV1> for internal::NeighborDiscovery {
    fn from(discover: DiscoverNeighborsV1) -> Self {
        let ports = match discover.interfaces {
            DiscoveredInterfacesV1::WithRouterAdvertisements => internal::DiscoveryPorts::Advertised,
            DiscoveredInterfacesV1::All => internal::DiscoveryPorts::All,
        };
        // Any name will do: the name of the discovered port replaces it.
        let name = LinkName::parse("fe0").expect("a link name");
        Self { ports, like: session(fabric::PeerAddress::Port { name, mac: None }, discover.session) }
    }
}

impl From<AddressKindV1> for setting::Advertise {
    fn from(kind: AddressKindV1) -> Self {
        match kind {
            AddressKindV1::Loopback => Self::Loopback,
            AddressKindV1::Dummy => Self::Dummy,
            AddressKindV1::Anycast => Self::Anycast,
        }
    }
}

impl From<AnnouncedAddressV1> for fabric::AnnouncedAddress {
    fn from(announced: AnnouncedAddressV1) -> Self {
        Self { kind: announced.kind.into(), link: announced.interface, net: announced.prefix }
    }
}

impl From<AnnouncedInterfaceV1> for internal::AnnouncedInterface {
    fn from(announced: AnnouncedInterfaceV1) -> Self {
        Self { link: announced.interface, kind: announced.kind.into() }
    }
}

impl From<ImportPolicyV1> for fabric::ImportPolicy {
    fn from(policy: ImportPolicyV1) -> Self {
        Self {
            filter: filter(&policy.prefixes),
            max_prefixes: policy.max_prefixes,
            local_preference: policy.local_preference,
        }
    }
}

impl From<ExportPolicyV1> for fabric::ExportPolicy {
    fn from(policy: ExportPolicyV1) -> Self {
        Self { communities: policy.communities, prepend: policy.prepend }
    }
}

fn filter(rules: &[PrefixRuleV1]) -> PrefixFilter {
    let term = |rule: &PrefixRuleV1| PrefixRule {
        permit: rule.action == ActionV1::Permit,
        net: rule.prefix,
        least: rule.min_length,
        most: rule.max_length,
    };
    PrefixFilter(rules.iter().map(term).collect())
}

impl From<LoadBalancerV1> for Workload {
    fn from(balancer: LoadBalancerV1) -> Self {
        let speaker = match balancer.software {
            Some(LoadBalancerSoftwareV1::Metallb) => setting::Speaker::Metallb,
            Some(LoadBalancerSoftwareV1::Cilium) => setting::Speaker::Cilium,
            None => setting::Speaker::None,
        };
        Self {
            speaker,
            domain: balancer.isolation.into(),
            ours: balancer.local.into(),
            theirs: balancer.remote.into(),
            prefix: balancer.prefix_length,
            families: families(&balancer.address_families),
            bfd: balancer.bfd.map(Into::into),
            timers: balancer.timers.into(),
            filter: filter(&balancer.import_prefixes),
        }
    }
}

impl From<IsolationV1> for RoutingDomain {
    fn from(isolation: IsolationV1) -> Self {
        match isolation {
            IsolationV1::Vrf { name, table } => Self::Vrf { name, table },
            IsolationV1::Namespace { name } => Self::Namespace { name },
            IsolationV1::None => Self::Shared,
        }
    }
}

impl From<SessionEndV1> for SessionEndpoint {
    fn from(end: SessionEndV1) -> Self {
        Self { link: end.interface, address: end.address, asn: Asn(end.asn.get()) }
    }
}

impl From<TemplateV1> for internal::UserTemplate {
    fn from(template: TemplateV1) -> Self {
        Self { path: template.path, text: template.text }
    }
}

impl From<FilesV1> for internal::DaemonFiles {
    fn from(files: FilesV1) -> Self {
        Self { configuration: files.config, daemons: files.frr_daemons, veth: files.veth.map(Into::into) }
    }
}

impl From<VethPairV1> for internal::VethPair {
    fn from(pair: VethPairV1) -> Self {
        let end = |end: VethEndV1| (end.interface, end.address);
        Self { domain: pair.isolation.into(), ours: end(pair.local), theirs: end(pair.remote) }
    }
}

impl From<ExtraAddressesV1> for ExtraAddresses {
    fn from(extra: ExtraAddressesV1) -> Self {
        Self { link: extra.interface, addresses: extra.addresses }
    }
}

impl From<HealthCheckV1> for internal::HealthCheck {
    fn from(check: HealthCheckV1) -> Self {
        let probe = match check.probe {
            ProbeV1::Url(url) => internal::HealthProbe::Url(url),
            ProbeV1::Tcp(address) => internal::HealthProbe::Tcp(address),
            ProbeV1::Command(words) => internal::HealthProbe::Command(words),
        };
        Self {
            probe,
            interval: check.interval_ms,
            timeout: check.timeout_ms,
            rise: check.rise,
            fall: check.fall,
        }
    }
}

impl From<StatusListenerV1> for internal::StatusListener {
    fn from(listener: StatusListenerV1) -> Self {
        Self {
            listen: listener.address,
            port: listener.port,
            ca: listener.client_ca,
            certificate: listener.certificate,
            key: listener.private_key,
        }
    }
}
