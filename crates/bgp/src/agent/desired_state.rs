//! The desired state of a node: what its configuration asks for, as far as present conditions allow.

use std::collections::BTreeSet;
use std::fmt;

use ipnet::IpNet;

use super::config::{AgentConfig, BgpConfig, ConfigSource, DiscoveryPorts, VethPair};
use super::link::{self, AmbiguousMac, Link};
use super::wiring::{VethLink, Wiring};
use crate::model::fabric::{AnnouncedAddress, Neighbor, PeerAddress};
use crate::model::{BgpModel, Family, RoutingDomain, Workload};
use crate::render as routing;
use crate::render::{RenderRequest, RouterAddresses, Service, Template};
use crate::setting::{Advertise, Carrier};
use ichor_values::{Backend, Issue, LinkName, Mac, SoftwareVersion};

/// The present conditions of a node.
#[derive(Clone, Copy, Debug)]
pub struct Conditions<'a> {
    /// The links of the node's own network namespace.
    pub links: &'a [Link],
    /// The links on which a router sends advertisements.
    pub advertised: &'a BTreeSet<String>,
    /// Whether the kernel supports VRFs.
    pub vrf: bool,
    /// Whether the health check of the anycast addresses succeeds.
    pub healthy: bool,
    /// Whether the node reboots, shuts down, is reset or upgraded.
    pub leaving: bool,
}

/// What the agent should establish on the node under present conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredState {
    /// The BGP model without missing ports, with the kernel's interface names; none for ready-made files.
    pub model: Option<BgpModel>,
    /// The password of each neighbour of the model.
    passwords: Vec<Option<String>>,
    /// The links it needs.
    pub wiring: Wiring,
    /// The missing conditions.
    pub waiting: Vec<Prerequisite>,
    /// Routers that the daemon's configuration names by address.
    routers: RouterAddresses,
}

/// Something that is missing for the complete configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prerequisite {
    /// A fabric port.
    Port {
        /// Its name in the plan.
        name: LinkName,
        /// Its MAC address.
        mac: Option<Mac>,
    },
    /// Any fabric port.
    AnyPort,
    /// A router advertisement on a port.
    Router(LinkName),
    /// The kernel module for VRFs.
    Vrf(String),
    /// A fabric port to take the MTU of the veth pair from.
    Mtu,
}

impl fmt::Display for Prerequisite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port { name, mac: Some(mac) } => write!(f, "no port has the MAC address {mac} ({name})"),
            Self::Port { name, mac: None } => write!(f, "port {name} not found"),
            Self::Router(port) => write!(f, "no router advertisement on port {port}"),
            Self::AnyPort => write!(f, "no router advertisement on any port"),
            Self::Vrf(name) => write!(
                f,
                "the kernel has no VRF support, so VRF {name} is omitted; load the module with `machine.kernel.modules: [{{name: vrf}}]`"
            ),
            Self::Mtu => {
                write!(f, "no fabric port to take the MTU of the veth pair from")
            }
        }
    }
}

impl DesiredState {
    /// The desired state of a configuration under these conditions, or the ports that share a MAC address.
    pub fn new(config: &AgentConfig, now: Conditions<'_>) -> Result<Self, Vec<AmbiguousMac>> {
        match &config.source {
            ConfigSource::Model(bgp) => Self::from_model(config, bgp, now),
            ConfigSource::Files(files) => {
                let mut waiting = Vec::new();
                let pair =
                    files.veth.clone().and_then(|veth| veth_link(config, veth, &[], now, &mut waiting));
                let wiring =
                    Wiring { pair, extra_addresses: config.extra_addresses.clone(), ..Wiring::default() };
                Ok(Self {
                    model: None,
                    passwords: Vec::new(),
                    wiring,
                    waiting,
                    routers: RouterAddresses::new(),
                })
            }
        }
    }

    fn from_model(
        config: &AgentConfig,
        bgp: &BgpConfig,
        now: Conditions<'_>,
    ) -> Result<Self, Vec<AmbiguousMac>> {
        let mut waiting = Vec::new();
        let mut sessions = fabric_sessions(bgp, now, &mut waiting)?;
        if config.backend == Backend::Gobgp {
            // gobgpd looks up the router of a port when it reads its file, and exits without one.
            sessions.retain(|(neighbor, _)| has_router(neighbor, now, &mut waiting));
        }
        let mut model = bgp.model.clone();
        let (neighbors, passwords): (Vec<_>, Vec<_>) = sessions.into_iter().unzip();
        model.fabric.neighbors = neighbors;
        let ports = fabric_ports(bgp, &model, now);
        announce_interfaces(&mut model, bgp, now);
        let veth = model.workload.as_ref().and_then(veth_pair);
        let pair = veth.and_then(|veth| veth_link(config, veth, &model.fabric.neighbors, now, &mut waiting));
        if pair.is_none() {
            model.workload = None;
        }
        if !now.healthy {
            model.fabric.announced.retain(|announced| announced.kind != Advertise::Anycast);
        }
        if config.drain || now.leaving {
            model.drain();
        }
        let wiring =
            Wiring { pair, extra_addresses: config.extra_addresses.clone(), ports, ..Wiring::default() };
        Ok(Self { model: Some(model), passwords, wiring, waiting, routers: RouterAddresses::new() })
    }

    /// Adds routers that the configuration names by address, for daemons that support both ways.
    #[must_use]
    pub fn with_routers(mut self, routers: &RouterAddresses) -> Self {
        self.routers.clone_from(routers);
        self
    }

    /// Removes the load balancer, whose veth pair cannot be set up.
    #[must_use]
    pub fn without_load_balancer(mut self) -> Self {
        self.wiring.pair = None;
        if let Some(model) = &mut self.model {
            model.workload = None;
        }
        self
    }

    /// Renders the daemon's files for the installed release, or returns every problem.
    pub fn render(
        &self,
        config: &AgentConfig,
        installed: Option<&SoftwareVersion>,
    ) -> Result<Service, Vec<Issue>> {
        let (model, bgp) = match (&self.model, &config.source) {
            (Some(model), ConfigSource::Model(bgp)) => (model, bgp),
            (None, ConfigSource::Model(bgp)) => (&bgp.model, bgp),
            (_, ConfigSource::Files(files)) => {
                let (configuration, daemons) = (&files.configuration.0, files.daemons.as_deref());
                return routing::ready_made_service(config.backend, configuration, daemons, installed);
            }
        };
        let template = bgp.template.as_ref();
        let request = RenderRequest {
            backend: config.backend,
            carrier: Carrier::Ichor,
            model,
            version: installed.or(bgp.version.as_ref()),
            options: &bgp.options,
            template: template.map(|own| Template { path: &own.path, text: &own.text }),
            routers: &self.routers,
        };
        let service = routing::render_with(request, &self.passwords, Vec::new())?;
        service.ok_or_else(|| vec![crate::render::no_daemon()])
    }
}

/// The fabric sessions whose ports exist, each with its password.
fn fabric_sessions(
    bgp: &BgpConfig,
    now: Conditions<'_>,
    waiting: &mut Vec<Prerequisite>,
) -> Result<Vec<(Neighbor, Option<String>)>, Vec<AmbiguousMac>> {
    let mut ambiguous = Vec::new();
    let mut sessions = Vec::new();
    for (nth, neighbor) in bgp.model.fabric.neighbors.iter().enumerate() {
        let password = bgp.passwords.get(nth).cloned().flatten().map(|password| password.0);
        match resolve_port(&neighbor.found, now.links) {
            Ok(Some(found)) => sessions.push((Neighbor { found, ..neighbor.clone() }, password)),
            Ok(None) => waiting.extend(missing_port(&neighbor.found)),
            Err(error) => ambiguous.push(error),
        }
    }
    if let Some(discover) = &bgp.discover {
        let ports = now.links.iter().filter(|link| {
            let is_discovered = discover.ports == DiscoveryPorts::All || now.advertised.contains(&link.name);
            is_discovered && link.is_physical() && link.master.is_none()
        });
        let before = sessions.len();
        sessions.extend(ports.filter_map(|link| {
            let found = PeerAddress::Port { name: LinkName::parse(&link.name).ok()?, mac: link.port_mac() };
            Some((Neighbor { found, ..discover.like.clone() }, None))
        }));
        if sessions.len() == before {
            waiting.push(Prerequisite::AnyPort);
        }
    }
    ambiguous.dedup();
    if ambiguous.is_empty() { Ok(sessions) } else { Err(ambiguous) }
}

/// Replaces the planned name of a neighbour's port by the kernel's; none while the port is missing.
fn resolve_port(configured: &PeerAddress, links: &[Link]) -> Result<Option<PeerAddress>, AmbiguousMac> {
    let PeerAddress::Port { name, mac } = configured else { return Ok(Some(configured.clone())) };
    let link = match mac {
        Some(mac) => link::find_port(links, *mac)?,
        None => links.iter().find(|link| link.name == name.as_str()),
    };
    let name = link.and_then(|link| LinkName::parse(&link.name).ok());
    Ok(name.map(|name| PeerAddress::Port { name, mac: *mac }))
}

fn has_router(neighbor: &Neighbor, now: Conditions<'_>, waiting: &mut Vec<Prerequisite>) -> bool {
    let PeerAddress::Port { name, .. } = &neighbor.found else { return true };
    let is_discovered = now.advertised.contains(name.as_str());
    if !is_discovered {
        waiting.push(Prerequisite::Router(name.clone()));
    }
    is_discovered
}

fn missing_port(configured: &PeerAddress) -> Option<Prerequisite> {
    match configured {
        PeerAddress::Port { name, mac } => Some(Prerequisite::Port { name: name.clone(), mac: *mac }),
        PeerAddress::Address { .. } => None,
    }
}

/// The fabric ports: those of neighbours, and those on which neighbours are discovered.
fn fabric_ports(bgp: &BgpConfig, model: &BgpModel, now: Conditions<'_>) -> Vec<String> {
    let port = |neighbor: &Neighbor| match resolve_port(&neighbor.found, now.links) {
        Ok(Some(PeerAddress::Port { name, .. })) => Some(name.to_string()),
        _ => None,
    };
    let mut ports: Vec<String> = bgp.model.fabric.neighbors.iter().filter_map(port).collect();
    for name in model.fabric.neighbors.iter().filter_map(port) {
        if !ports.contains(&name) {
            ports.push(name);
        }
    }
    ports
}

/// Announces every address of the announced interfaces. An anycast address is never a source address.
fn announce_interfaces(model: &mut BgpModel, bgp: &BgpConfig, now: Conditions<'_>) {
    for announce in &bgp.announce {
        let Some(link) = now.links.iter().find(|link| link.name == announce.link.as_str()) else { continue };
        for net in link.addresses.iter().filter(|net| is_reachable_host(**net)) {
            let net = IpNet::from(net.addr());
            let announced = AnnouncedAddress { kind: announce.kind, link: announce.link.clone(), net };
            if !model.fabric.announced.contains(&announced) {
                model.fabric.announced.push(announced);
            }
            let taken = |source: &std::net::IpAddr| Family::of(IpNet::from(*source)) == Family::of(net);
            if announce.kind != Advertise::Anycast && !model.sources.iter().any(taken) {
                model.sources.push(net.addr());
            }
        }
    }
}

/// Whether an address of a loopback or dummy link is a host address that other nodes can reach.
fn is_reachable_host(net: IpNet) -> bool {
    let link_local = match net {
        IpNet::V4(net) => net.addr().is_link_local(),
        IpNet::V6(net) => net.addr().is_unicast_link_local(),
    };
    net.prefix_len() == net.max_prefix_len() && !net.addr().is_loopback() && !link_local
}

fn veth_pair(workload: &Workload) -> Option<VethPair> {
    let net = |address| IpNet::new(address, workload.prefix).ok();
    Some(VethPair {
        domain: workload.domain.clone(),
        ours: (workload.ours.link.clone(), net(workload.ours.address)?),
        theirs: (workload.theirs.link.clone(), net(workload.theirs.address)?),
    })
}

/// The first fabric link: the port of the first neighbour or the link of its subnet, else any physical port that is up.
fn first_link<'l>(fabric: &[Neighbor], links: &'l [Link]) -> Option<&'l Link> {
    let toward = |neighbor: &Neighbor| match &neighbor.found {
        PeerAddress::Port { name, .. } => links.iter().find(|link| link.name == name.as_str()),
        PeerAddress::Address { address, .. } => {
            links.iter().find(|link| link.addresses.iter().any(|net| net.contains(address)))
        }
    };
    fabric.iter().find_map(toward).or_else(|| links.iter().find(|link| link.is_physical() && link.up))
}

/// The veth pair to the load balancer, unless the kernel cannot create it yet.
fn veth_link(
    config: &AgentConfig,
    veth: VethPair,
    fabric: &[Neighbor],
    now: Conditions<'_>,
    waiting: &mut Vec<Prerequisite>,
) -> Option<VethLink> {
    if let RoutingDomain::Vrf { name, .. } = &veth.domain
        && !now.vrf
    {
        waiting.push(Prerequisite::Vrf(name.clone()));
        return None;
    }
    let Some(mtu) = config.mtu.or_else(|| first_link(fabric, now.links).map(|link| link.mtu)) else {
        waiting.push(Prerequisite::Mtu);
        return None;
    };
    Some(VethLink { domain: veth.domain, ours: veth.ours, theirs: veth.theirs, mtu })
}
