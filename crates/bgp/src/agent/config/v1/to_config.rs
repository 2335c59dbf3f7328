//! From the format to the agent's configuration.

use super::{
    Action, AddressFamily, AddressKind, AgentConfig, AnnouncedAddress, AnnouncedInterface, Backend, Bfd, Bgp,
    DiscoverNeighbors, DiscoveredInterfaces, ExportPolicy, ExtraAddresses, Files, HealthCheck, Hidden,
    ImportPolicy, Isolation, LinkName, LoadBalancer, LoadBalancerSoftware, LogLevel, Neighbor, Peer,
    PrefixRule, Probe, Session, SessionEnd, StatusListener, Template, Timers, VethEnd, VethPair,
};
use crate::agent::config as internal;
use crate::agent::wiring::Carried;
use crate::model;
use crate::model::workload::{End, Workload};
use crate::model::{Domain, Fabric, Family, Filter, Model, Term, fabric};
use crate::setting;
use ichor_values::Asn;
use ichor_values::format::Invalid;

impl TryFrom<AgentConfig> for internal::AgentConfig {
    type Error = Invalid;

    fn try_from(config: AgentConfig) -> Result<Self, Invalid> {
        let source = match (config.bgp, config.files) {
            (Some(bgp), None) => internal::ConfigSource::Model(Box::new(bgp.into())),
            (None, Some(files)) => internal::ConfigSource::Files(Box::new(files.into())),
            (Some(_), Some(_)) => return Err(Invalid::new("`bgp` and `files` exclude each other")),
            (None, None) => return Err(Invalid::new("one of the keys `bgp` and `files` is missing")),
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

impl From<Backend> for ichor_values::Backend {
    fn from(backend: Backend) -> Self {
        match backend {
            Backend::Frr => Self::Frr,
            Backend::Bird => Self::Bird,
            Backend::Gobgp => Self::Gobgp,
            Backend::Native => Self::Native,
        }
    }
}

impl From<LogLevel> for setting::LogLevel {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::Error,
            LogLevel::Warn => Self::Warn,
            LogLevel::Info => Self::Info,
            LogLevel::Debug => Self::Debug,
        }
    }
}

impl From<Bgp> for internal::BgpConfig {
    fn from(bgp: Bgp) -> Self {
        let (neighbors, passwords): (Vec<_>, Vec<Option<Hidden>>) =
            bgp.neighbors.into_iter().map(neighbor).unzip();
        let fabric = Fabric {
            neighbors,
            announced: bgp.announced_addresses.into_iter().map(Into::into).collect(),
            aggregates: bgp.aggregates,
            inward: bgp.import_policy.into(),
            outward: bgp.export_policy.into(),
            graceful_restart: bgp.graceful_restart_seconds,
        };
        let model = Model {
            name: bgp.node_name,
            // Nobody asks for these two on the node: they are of the cluster and of Talos' own BGP.
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

fn neighbor(neighbor: Neighbor) -> (fabric::Neighbor, Option<Hidden>) {
    (session(neighbor.peer.into(), neighbor.session), neighbor.password)
}

fn session(found: fabric::Found, session: Session) -> fabric::Neighbor {
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

impl From<Peer> for fabric::Found {
    fn from(peer: Peer) -> Self {
        match peer {
            Peer::Interface { name, mac } => Self::Port { name, mac },
            Peer::Ip { address, source_address } => Self::Address { address, source: source_address },
        }
    }
}

fn families(families: &[AddressFamily]) -> Vec<Family> {
    let family = |family: &AddressFamily| match family {
        AddressFamily::Ipv4 => Family::V4,
        AddressFamily::Ipv6 => Family::V6,
    };
    families.iter().map(family).collect()
}

impl From<Bfd> for model::Bfd {
    fn from(bfd: Bfd) -> Self {
        Self { interval: bfd.interval_ms, multiplier: bfd.multiplier }
    }
}

impl From<Timers> for (u16, u16) {
    fn from(timers: Timers) -> Self {
        (timers.keepalive_seconds, timers.hold_seconds)
    }
}

impl From<DiscoverNeighbors> for internal::Discover {
    fn from(discover: DiscoverNeighbors) -> Self {
        let ports = match discover.interfaces {
            DiscoveredInterfaces::WithRouterAdvertisements => internal::Ports::Advertised,
            DiscoveredInterfaces::All => internal::Ports::All,
        };
        // Any name will do: that of the port that is found takes its place.
        let name = LinkName::parse("fe0").expect("a link name");
        Self { ports, like: session(fabric::Found::Port { name, mac: None }, discover.session) }
    }
}

impl From<AddressKind> for setting::Advertise {
    fn from(kind: AddressKind) -> Self {
        match kind {
            AddressKind::Loopback => Self::Loopback,
            AddressKind::Dummy => Self::Dummy,
            AddressKind::Anycast => Self::Anycast,
        }
    }
}

impl From<AnnouncedAddress> for fabric::Announced {
    fn from(announced: AnnouncedAddress) -> Self {
        Self { kind: announced.kind.into(), link: announced.interface, net: announced.prefix }
    }
}

impl From<AnnouncedInterface> for internal::Announce {
    fn from(announced: AnnouncedInterface) -> Self {
        Self { link: announced.interface, kind: announced.kind.into() }
    }
}

impl From<ImportPolicy> for fabric::Inward {
    fn from(policy: ImportPolicy) -> Self {
        Self {
            filter: filter(&policy.prefixes),
            max_prefixes: policy.max_prefixes,
            local_preference: policy.local_preference,
        }
    }
}

impl From<ExportPolicy> for fabric::Outward {
    fn from(policy: ExportPolicy) -> Self {
        Self { communities: policy.communities, prepend: policy.prepend }
    }
}

fn filter(rules: &[PrefixRule]) -> Filter {
    let term = |rule: &PrefixRule| Term {
        permit: rule.action == Action::Permit,
        net: rule.prefix,
        least: rule.min_length,
        most: rule.max_length,
    };
    Filter(rules.iter().map(term).collect())
}

impl From<LoadBalancer> for Workload {
    fn from(balancer: LoadBalancer) -> Self {
        let speaker = match balancer.software {
            Some(LoadBalancerSoftware::Metallb) => setting::Speaker::Metallb,
            Some(LoadBalancerSoftware::Cilium) => setting::Speaker::Cilium,
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

impl From<Isolation> for Domain {
    fn from(isolation: Isolation) -> Self {
        match isolation {
            Isolation::Vrf { name, table } => Self::Vrf { name, table },
            Isolation::Namespace { name } => Self::Namespace { name },
            Isolation::None => Self::Shared,
        }
    }
}

impl From<SessionEnd> for End {
    fn from(end: SessionEnd) -> Self {
        Self { link: end.interface, address: end.address, asn: Asn(end.asn.get()) }
    }
}

impl From<Template> for internal::OwnTemplate {
    fn from(template: Template) -> Self {
        Self { path: template.path, text: template.text }
    }
}

impl From<Files> for internal::DaemonFiles {
    fn from(files: Files) -> Self {
        Self { configuration: files.config, daemons: files.frr_daemons, veth: files.veth.map(Into::into) }
    }
}

impl From<VethPair> for internal::VethPair {
    fn from(pair: VethPair) -> Self {
        let end = |end: VethEnd| (end.interface, end.address);
        Self { domain: pair.isolation.into(), ours: end(pair.local), theirs: end(pair.remote) }
    }
}

impl From<ExtraAddresses> for Carried {
    fn from(extra: ExtraAddresses) -> Self {
        Self { link: extra.interface, addresses: extra.addresses }
    }
}

impl From<HealthCheck> for internal::Health {
    fn from(check: HealthCheck) -> Self {
        let probe = match check.probe {
            Probe::Url(url) => internal::Probe::Url(url),
            Probe::Tcp(address) => internal::Probe::Tcp(address),
            Probe::Command(words) => internal::Probe::Command(words),
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

impl From<StatusListener> for internal::Status {
    fn from(listener: StatusListener) -> Self {
        Self {
            listen: listener.address,
            port: listener.port,
            ca: listener.client_ca,
            certificate: listener.certificate,
            key: listener.private_key,
        }
    }
}
