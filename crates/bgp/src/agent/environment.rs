//! Configuration by environment variables, for compatibility with two earlier extensions.
//!
//! One isolates the load balancer in a VRF and finds ports by MAC address ([`ExtensionVariant::Vrf`]); the other isolates it in a network
//! namespace, has fixed defaults, and discovers ports ([`ExtensionVariant::Namespace`]).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use ipnet::IpNet;

use super::config::{
    AgentConfig, AnnouncedInterface, BgpConfig, ConfigSource, DiscoveryPorts, HealthCheck, HealthProbe,
    NeighborDiscovery, VethPair,
};
use crate::model::ProtectedPrefixes;
use crate::model::fabric::{ExportPolicy, Fabric, ImportPolicy, Neighbor, PeerAddress};
use crate::model::workload::SessionEndpoint;
use crate::model::{Bfd, BgpModel, Family, PrefixFilter, PrefixRule, RoutingDomain, Workload};
use crate::setting::{Advertise, LogLevel, Speaker};
use ichor_values::read::Scalar;
use ichor_values::{Asn, Backend, Issue, LinkName, Mac, Mtu, NodeName, ValueError, Word, nearest};

/// How the load balancer is isolated, which also decides the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExtensionVariant {
    /// In a VRF, over IPv6.
    Vrf,
    /// In a network namespace, over IPv4.
    Namespace,
}

/// The variables of both variants.
const BOTH: &[&str] = &[
    "NODE_IP",
    "ASN_LOCAL",
    "PEER_IP_PREFIX",
    "INTERFACE_MTU",
    "ENABLE_BFD",
    "ICHOR_VARIANT",
    "ICHOR_BACKEND",
    "ICHOR_LOG",
    "ICHOR_HEALTH",
    "ICHOR_DRAIN",
    "ALLOWED_PREFIXES",
    "CILIUM_ALLOWED_PREFIXES",
];

/// The variables of the VRF variant only.
const VRF_ONLY: &[&str] = &[
    "FE_MACS",
    "ASN_VRF_METALLB",
    "ASN_METALLB_SPEAKER",
    "VRF_METALLB",
    "METALLB_VRF_ROUTE_TABLE_ID",
    "PEER_IP_FRR",
    "PEER_IP_METALLB",
];

/// The variables of the namespace variant only.
const NAMESPACE_ONLY: &[&str] = &[
    "ASN_METALLB_LOCAL",
    "ASN_METALLB_REMOTE",
    "NAMESPACE_METALLB",
    "PEER_IP_LOCAL",
    "PEER_IP_REMOTE",
    "FE_PORTS",
];

/// Links whose addresses are announced.
const ANNOUNCED: [(&str, Advertise); 3] =
    [("lo", Advertise::Loopback), ("dummy0", Advertise::Dummy), ("dummy1", Advertise::Anycast)];

/// Whether any variable of the agent is set.
pub fn is_configured(variables: &BTreeMap<String, String>) -> bool {
    let known = || BOTH.iter().chain(VRF_ONLY).chain(NAMESPACE_ONLY);
    known().any(|name| variables.contains_key(*name))
}

/// Unknown variables with a similar name, each with the known one.
pub fn misspelled_variables(variables: &BTreeMap<String, String>) -> Vec<(String, &'static str)> {
    let known = || BOTH.iter().chain(VRF_ONLY).chain(NAMESPACE_ONLY).copied();
    let unknown = variables.keys().filter(|name| !known().any(|known| known == **name));
    unknown.filter_map(|name| Some((name.clone(), nearest(name, known())?))).collect()
}

/// The configuration that the variables describe, or every problem with them. `backend` is the installed daemon.
pub fn read_config(
    variables: &BTreeMap<String, String>,
    node: &NodeName,
    backend: Backend,
) -> Result<AgentConfig, Vec<Issue>> {
    let mut reader = VariableReader { variables, problems: Vec::new() };
    let config = reader.config(node, backend);
    match config {
        Some(config) if reader.problems.is_empty() => Ok(config),
        _ => Err(reader.problems),
    }
}

/// The veth pair to the load balancer if variables describe one; for ready-made configuration files.
pub fn read_veth_pair(variables: &BTreeMap<String, String>) -> Result<Option<VethPair>, Vec<Issue>> {
    let veth_names = [
        "PEER_IP_FRR",
        "PEER_IP_METALLB",
        "PEER_IP_LOCAL",
        "PEER_IP_REMOTE",
        "VRF_METALLB",
        "NAMESPACE_METALLB",
    ];
    if !veth_names.iter().any(|name| variables.contains_key(*name)) {
        return Ok(None);
    }
    let mut reader = VariableReader { variables, problems: Vec::new() };
    let variant = reader.variant();
    let link = variant.and_then(|variant| reader.veth_variables(variant));
    if reader.problems.is_empty() {
        return Ok(link.map(|link| VethPair {
            domain: link.domain,
            ours: (link.names.0.to_owned(), link.nets.0),
            theirs: (link.names.1.to_owned(), link.nets.1),
        }));
    }
    Err(reader.problems)
}

struct VariableReader<'v> {
    variables: &'v BTreeMap<String, String>,
    problems: Vec<Issue>,
}

struct VethVariables {
    domain: RoutingDomain,
    names: (&'static str, &'static str),
    nets: (IpNet, IpNet),
}

impl<'v> VariableReader<'v> {
    fn report(&mut self, variable: &str, reason: impl Into<String>) {
        self.problems.push(Issue::error(variable, reason));
    }

    /// Reports a missing variable, and a misspelt one that is set instead.
    fn report_missing(&mut self, name: &str, what: &str) {
        let written = misspelled_variables(self.variables).into_iter().find(|(_, known)| *known == name);
        let hint = written.map(|(written, _)| format!("; did you mean {name} by {written}?"));
        self.report(name, format!("not set; want {what}{}", hint.unwrap_or_default()));
    }

    /// The text of a variable; none if it is unset or empty.
    fn text(&self, name: &str) -> Option<&'v str> {
        self.variables.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    /// The parsed value; none if it is unset or invalid. An invalid one is reported.
    fn value<T: Scalar>(&mut self, name: &str) -> Option<T> {
        let text = self.text(name)?;
        match T::parse(text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.report(name, format!("`{text}` is {error}; want {}", T::form().want));
                None
            }
        }
    }

    fn required<T: Scalar>(&mut self, name: &str, what: &str) -> Option<T> {
        if self.text(name).is_none() {
            self.report_missing(name, what);
        }
        self.value(name)
    }

    fn list<T>(&mut self, name: &str, one: fn(&str) -> Result<T, ValueError>) -> Vec<T> {
        let items =
            self.text(name).unwrap_or_default().split(',').map(str::trim).filter(|item| !item.is_empty());
        let mut values = Vec::new();
        for item in items {
            match one(item) {
                Ok(value) => values.push(value),
                Err(error) => self.report(name, format!("`{item}` is {error}")),
            }
        }
        values
    }

    fn flag(&mut self, name: &str, default: bool) -> bool {
        match self.text(name).map(str::to_ascii_lowercase).as_deref() {
            None => default,
            Some("true" | "yes" | "on" | "1") => true,
            Some("false" | "no" | "off" | "0") => false,
            Some(other) => {
                self.report(name, format!("`{other}` is not a boolean; want true or false"));
                default
            }
        }
    }

    /// The variant: explicit, or implied by the variables that are set.
    fn variant(&mut self) -> Option<ExtensionVariant> {
        let used = |names: &[&'static str]| names.iter().copied().find(|name| self.text(name).is_some());
        let (vrf, namespace) = (used(VRF_ONLY), used(NAMESPACE_ONLY));
        let explicit = match self.text("ICHOR_VARIANT") {
            Some("vrf") => Some(ExtensionVariant::Vrf),
            Some("namespace") => Some(ExtensionVariant::Namespace),
            Some(other) => {
                let reason = format!("`{other}` is not a variant; want vrf or namespace");
                self.report("ICHOR_VARIANT", reason);
                return None;
            }
            None => None,
        };
        match (explicit, vrf, namespace) {
            (None, Some(vrf), Some(namespace)) => {
                let reason = format!(
                    "belongs to the vrf variant, but {namespace} belongs to the namespace variant; set the variables of one variant only"
                );
                self.report(vrf, reason);
                None
            }
            (Some(ExtensionVariant::Vrf), _, Some(other)) => {
                self.report(other, "belongs to the namespace variant, but ICHOR_VARIANT is vrf");
                None
            }
            // Both variants accept MAC addresses of ports.
            (Some(ExtensionVariant::Namespace), Some(other), _) if other != "FE_MACS" => {
                self.report(other, "belongs to the vrf variant, but ICHOR_VARIANT is namespace");
                None
            }
            (Some(explicit), ..) => Some(explicit),
            (None, Some(_), None) => Some(ExtensionVariant::Vrf),
            (None, None, _) => Some(ExtensionVariant::Namespace),
        }
    }

    fn config(&mut self, node: &NodeName, backend: Backend) -> Option<AgentConfig> {
        let variant = self.variant();
        let backend = self.value("ICHOR_BACKEND").unwrap_or(backend);
        let router_id =
            self.required::<Ipv4Addr>("NODE_IP", "the node's IPv4 address, which becomes the router id");
        let asn = self.required::<Asn>("ASN_LOCAL", "the node's AS number toward the fabric");
        let allowed = self.allowed_prefixes();
        let health = self.health();
        let drain = self.flag("ICHOR_DRAIN", false);
        let log = self.value("ICHOR_LOG").unwrap_or(LogLevel::Info);
        let mtu = self.value::<Mtu>("INTERFACE_MTU").map(|mtu| mtu.0);
        let variant = variant?;
        let bfd = self.flag("ENABLE_BFD", variant == ExtensionVariant::Vrf);
        let (neighbors, discover) = self.neighbors(variant, bfd);
        let workload = self.workload(variant, &allowed, backend);
        let asn = asn?;
        let model = BgpModel {
            name: node.clone(),
            nth: 0,
            asn,
            router_id: router_id?,
            sources: Vec::new(),
            transit: false,
            fabric: Fabric {
                neighbors,
                announced: Vec::new(),
                aggregates: Vec::new(),
                inward: ImportPolicy {
                    filter: PrefixFilter::allowing(&[]),
                    max_prefixes: None,
                    local_preference: None,
                },
                outward: ExportPolicy::default(),
                graceful_restart: Some(30),
            },
            workload: Some(workload?),
        };
        let announce = ANNOUNCED.iter().filter_map(|(link, kind)| {
            Some(AnnouncedInterface { link: LinkName::parse(link).ok()?, kind: *kind })
        });
        let bgp = BgpConfig {
            model,
            passwords: Vec::new(),
            discover,
            announce: announce.collect(),
            version: None,
            options: BTreeMap::new(),
            template: None,
        };
        Some(AgentConfig {
            backend,
            source: ConfigSource::Model(Box::new(bgp)),
            mtu: mtu.or((variant == ExtensionVariant::Namespace).then_some(1500)),
            extra_addresses: Vec::new(),
            health,
            drain,
            log,
            status: None,
        })
    }

    fn neighbors(
        &mut self,
        variant: ExtensionVariant,
        bfd: bool,
    ) -> (Vec<Neighbor>, Option<NeighborDiscovery>) {
        let like = |name: LinkName, mac: Option<Mac>| Neighbor {
            found: PeerAddress::Port { name, mac },
            asn: None,
            families: Family::ALL.to_vec(),
            bfd: bfd.then_some(Bfd { interval: 300, multiplier: 3 }),
            timers: (3, 9),
            passive: false,
            password: None,
        };
        let port = |nth: usize| LinkName::parse(&format!("fe{nth}")).expect("a link name");
        let macs = self.macs();
        if !macs.is_empty() {
            return (
                macs.into_iter().enumerate().map(|(nth, mac)| like(port(nth), Some(mac))).collect(),
                None,
            );
        }
        if variant == ExtensionVariant::Vrf {
            if self.text("FE_MACS").is_none() {
                self.report_missing("FE_MACS", "the MAC addresses of the fabric ports, separated by commas");
            }
            return (Vec::new(), None);
        }
        let ports = match self.text("FE_PORTS") {
            None | Some("advertised") => DiscoveryPorts::Advertised,
            Some("all") => DiscoveryPorts::All,
            Some(_) => {
                let names = self.list("FE_PORTS", LinkName::parse);
                return (names.into_iter().map(|name| like(name, None)).collect(), None);
            }
        };
        (Vec::new(), Some(NeighborDiscovery { ports, like: like(port(0), None) }))
    }

    fn macs(&mut self) -> Vec<Mac> {
        let macs = self.list("FE_MACS", |item| {
            Mac::parse(item).map_err(|error| ValueError::new(format!("{error}; want {}", Mac::form().want)))
        });
        let mut seen = Vec::new();
        for mac in macs {
            if seen.contains(&mac) {
                self.report("FE_MACS", format!("duplicate MAC address {mac}"));
            } else {
                seen.push(mac);
            }
        }
        seen
    }

    fn allowed_prefixes(&mut self) -> Vec<IpNet> {
        let net = |item: &str| {
            IpNet::from_str(item).map_err(|_| ValueError::new("not a prefix, such as 10.0.0.0/24"))
        };
        let mut allowed = self.list("ALLOWED_PREFIXES", net);
        allowed.extend(self.list("CILIUM_ALLOWED_PREFIXES", net));
        allowed
    }

    fn veth_variables(&mut self, variant: ExtensionVariant) -> Option<VethVariables> {
        let (domain, names, ours, theirs, prefix) = match variant {
            ExtensionVariant::Vrf => {
                let name = self
                    .value::<LinkName>("VRF_METALLB")
                    .map_or_else(|| "metallb".to_owned(), |name| name.to_string());
                let table = self.value::<u32>("METALLB_VRF_ROUTE_TABLE_ID").unwrap_or(88);
                let domain = RoutingDomain::Vrf { name, table };
                (domain, ("frr-metallb", "metallb-frr"), "fda1:b2c3:d4e5:1::", "fda1:b2c3:d4e5:1::1", 127)
            }
            ExtensionVariant::Namespace => {
                let name = self
                    .value::<Word>("NAMESPACE_METALLB")
                    .map_or_else(|| "metallb".to_owned(), |name| name.to_string());
                (
                    RoutingDomain::Namespace { name },
                    ("veth-a", "veth-b"),
                    "192.168.250.254",
                    "192.168.250.255",
                    31,
                )
            }
        };
        let [our_name, their_name] = match variant {
            ExtensionVariant::Vrf => ["PEER_IP_FRR", "PEER_IP_METALLB"],
            ExtensionVariant::Namespace => ["PEER_IP_LOCAL", "PEER_IP_REMOTE"],
        };
        let default = |text: &str| text.parse::<IpAddr>().expect("an address");
        let ours = self.value(our_name).unwrap_or_else(|| default(ours));
        let theirs = self.value(their_name).unwrap_or_else(|| default(theirs));
        let prefix = self.value("PEER_IP_PREFIX").unwrap_or(prefix);
        let net = |address| IpNet::new(address, prefix);
        let (Ok(our_net), Ok(their_net)) = (net(ours), net(theirs)) else {
            self.report("PEER_IP_PREFIX", format!("prefix length {prefix} is too long for address {ours}"));
            return None;
        };
        if ours.is_ipv4() != theirs.is_ipv4() {
            self.report(
                their_name,
                format!("{theirs} and {ours} ({our_name}) have different address families"),
            );
        } else if ours == theirs {
            self.report(
                their_name,
                format!("{theirs} is also {our_name}; each end needs a different address"),
            );
        } else if our_net.trunc() != their_net.trunc() {
            self.report(
                their_name,
                format!("{theirs} is not in {}, the subnet of {our_name}", our_net.trunc()),
            );
        }
        Some(VethVariables { domain, names, nets: (our_net, their_net) })
    }

    fn workload(
        &mut self,
        variant: ExtensionVariant,
        allowed: &[IpNet],
        backend: Backend,
    ) -> Option<Workload> {
        let (our_asn, their_asn, asns) = match variant {
            ExtensionVariant::Vrf => {
                ("ASN_VRF_METALLB", "ASN_METALLB_SPEAKER", (4_000_099_998, 4_000_099_999))
            }
            ExtensionVariant::Namespace => {
                ("ASN_METALLB_LOCAL", "ASN_METALLB_REMOTE", (4_200_099_998, 4_200_099_999))
            }
        };
        let ours = self.value(our_asn).unwrap_or(Asn(asns.0));
        let theirs = self.value(their_asn).unwrap_or(Asn(asns.1));
        let mut link = self.veth_variables(variant)?;
        if backend == Backend::Gobgp {
            // gobgpd is a single process that listens in the node's own network namespace.
            link.domain = RoutingDomain::Shared;
        }
        let terms: Vec<PrefixRule> = if allowed.is_empty() {
            Family::ALL.map(|family| PrefixRule::hosts(true, family.everything())).to_vec()
        } else {
            allowed.iter().map(|net| PrefixRule::within(true, net.trunc())).collect()
        };
        Some(Workload {
            speaker: Speaker::Metallb,
            ours: SessionEndpoint { link: link.names.0.to_owned(), address: link.nets.0.addr(), asn: ours },
            theirs: SessionEndpoint {
                link: link.names.1.to_owned(),
                address: link.nets.1.addr(),
                asn: theirs,
            },
            prefix: link.nets.0.prefix_len(),
            domain: link.domain,
            families: Family::ALL.to_vec(),
            bfd: None,
            timers: (3, 9),
            filter: ProtectedPrefixes::default().filter(&terms),
        })
    }

    fn health(&mut self) -> Option<HealthCheck> {
        let text = self.text("ICHOR_HEALTH")?;
        let probe = match text.split_once("://") {
            Some(("http" | "https", _)) => HealthProbe::Url(text.to_owned()),
            Some(("tcp", rest)) => HealthProbe::Tcp(rest.to_owned()),
            Some(("command", rest)) => {
                HealthProbe::Command(rest.split_whitespace().map(str::to_owned).collect())
            }
            _ => {
                self.report("ICHOR_HEALTH", format!("`{text}` is not a health check; want https://…, http://…, tcp://HOST:PORT or command://PROGRAM ARGUMENTS"));
                return None;
            }
        };
        Some(HealthCheck::new(probe))
    }
}
