//! What of a duty can be done now: with the links that are there, and what else the node knows of itself.

use std::collections::BTreeSet;
use std::fmt;

use ipnet::IpNet;

use super::config::{AgentConfig, BgpConfig, ConfigSource, Ports, VethPair};
use super::link::{self, Ambiguous, Link};
use super::wiring::{Pair, Wiring};
use crate::model::fabric::{Announced, Found, Neighbor};
use crate::model::{Domain, Family, Model, Workload};
use crate::render as routing;
use crate::render::{Order, Routers, Service, Template};
use crate::setting::{Advertise, Carrier};
use ichor_values::{Backend, Issue, LinkName, Mac, SoftwareVersion};

/// What the node knows of itself.
#[derive(Clone, Copy, Debug)]
pub struct Conditions<'a> {
    /// The links of its own network namespace.
    pub links: &'a [Link],
    /// Those on which a router advertises itself.
    pub advertised: &'a BTreeSet<String>,
    /// Whether the kernel can make a VRF.
    pub vrf: bool,
    /// Whether what is behind the anycast addresses works.
    pub healthy: bool,
    /// Whether the node is about to leave.
    pub leaving: bool,
}

/// What can be done now.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// What is meant, as far as it is possible, with the kernel's names of ports; none for files that are ready.
    pub model: Option<Model>,
    /// A password for each neighbour of the model.
    passwords: Vec<Option<String>>,
    /// The links it needs.
    pub wiring: Wiring,
    /// What it waits for.
    pub waiting: Vec<Waiting>,
    /// Routers that the daemon is told by their addresses.
    routers: Routers,
}

/// What a node waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiting {
    /// A fabric port.
    Port {
        /// Its name in the plan.
        name: LinkName,
        /// Its MAC address.
        mac: Option<Mac>,
    },
    /// Any fabric port.
    AnyPort,
    /// A router on a port.
    Router(LinkName),
    /// The kernel's module for VRFs.
    Vrf(String),
    /// A link whose MTU the one to the speaker shall have.
    Mtu,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port { name, mac: Some(mac) } => write!(f, "no port has the MAC address {mac} ({name})"),
            Self::Port { name, mac: None } => write!(f, "there is no port {name}"),
            Self::Router(port) => write!(f, "no router advertises itself on {port}"),
            Self::AnyPort => write!(f, "no port has a router that advertises itself"),
            Self::Vrf(name) => write!(
                f,
                "the kernel has no VRFs, so {name} is left out; load the module by `machine.kernel.modules: [{{name: vrf}}]`"
            ),
            Self::Mtu => {
                write!(f, "there is no port yet from which the link to the speaker could take its MTU")
            }
        }
    }
}

impl Scene {
    /// What can be done of a duty, or the ports that cannot be told apart.
    pub fn of(duty: &AgentConfig, now: Conditions<'_>) -> Result<Self, Vec<Ambiguous>> {
        match &duty.source {
            ConfigSource::Model(meant) => Self::meant(duty, meant, now),
            ConfigSource::Files(ready) => {
                let mut waiting = Vec::new();
                let pair = ready.veth.clone().and_then(|lead| pair(duty, lead, &[], now, &mut waiting));
                let wiring = Wiring { pair, carried: duty.extra_addresses.clone(), ..Wiring::default() };
                Ok(Self { model: None, passwords: Vec::new(), wiring, waiting, routers: Routers::new() })
            }
        }
    }

    fn meant(duty: &AgentConfig, meant: &BgpConfig, now: Conditions<'_>) -> Result<Self, Vec<Ambiguous>> {
        let mut waiting = Vec::new();
        let mut sessions = sessions(meant, now, &mut waiting)?;
        if duty.backend == Backend::Gobgp {
            // It looks for the router of a port when it reads its file, and ends when there is none.
            sessions.retain(|(neighbor, _)| is_heard(neighbor, now, &mut waiting));
        }
        let mut model = meant.model.clone();
        let (neighbors, passwords): (Vec<_>, Vec<_>) = sessions.into_iter().unzip();
        model.fabric.neighbors = neighbors;
        let ports = ports(meant, &model, now);
        announce(&mut model, meant, now);
        let lead = model.workload.as_ref().and_then(lead);
        let pair = lead.and_then(|lead| pair(duty, lead, &model.fabric.neighbors, now, &mut waiting));
        if pair.is_none() {
            model.workload = None;
        }
        if !now.healthy {
            model.fabric.announced.retain(|announced| announced.kind != Advertise::Anycast);
        }
        if duty.drain || now.leaving {
            model.drain();
        }
        let wiring = Wiring { pair, carried: duty.extra_addresses.clone(), ports, ..Wiring::default() };
        Ok(Self { model: Some(model), passwords, wiring, waiting, routers: Routers::new() })
    }

    /// The same with routers that the daemon is told by their addresses, where it can be told both ways.
    #[must_use]
    pub fn knowing(mut self, routers: &Routers) -> Self {
        self.routers.clone_from(routers);
        self
    }

    /// The same without the speaker: the link to it cannot be made.
    #[must_use]
    pub fn without_speaker(mut self) -> Self {
        self.wiring.pair = None;
        if let Some(model) = &mut self.model {
            model.workload = None;
        }
        self
    }

    /// The daemon's files, for the release that is there, or everything that is wrong.
    pub fn render(&self, duty: &AgentConfig, there: Option<&SoftwareVersion>) -> Result<Service, Vec<Issue>> {
        let (model, meant) = match (&self.model, &duty.source) {
            (Some(model), ConfigSource::Model(meant)) => (model, meant),
            (None, ConfigSource::Model(meant)) => (&meant.model, meant),
            (_, ConfigSource::Files(ready)) => {
                let (configuration, daemons) = (&ready.configuration.0, ready.daemons.as_deref());
                return routing::ready(duty.backend, configuration, daemons, there);
            }
        };
        let template = meant.template.as_ref();
        let order = Order {
            backend: duty.backend,
            carrier: Carrier::Ichor,
            model,
            version: there.or(meant.version.as_ref()),
            options: &meant.options,
            template: template.map(|own| Template { path: &own.path, text: &own.text }),
            routers: &self.routers,
        };
        let service = routing::render_with(order, &self.passwords, Vec::new())?;
        service.ok_or_else(|| vec![crate::render::no_daemon()])
    }
}

/// The sessions with the fabric whose ports are there, each with its password.
fn sessions(
    meant: &BgpConfig,
    now: Conditions<'_>,
    waiting: &mut Vec<Waiting>,
) -> Result<Vec<(Neighbor, Option<String>)>, Vec<Ambiguous>> {
    let mut ambiguous = Vec::new();
    let mut sessions = Vec::new();
    for (nth, neighbor) in meant.model.fabric.neighbors.iter().enumerate() {
        let password = meant.passwords.get(nth).cloned().flatten().map(|password| password.0);
        match found(&neighbor.found, now.links) {
            Ok(Some(found)) => sessions.push((Neighbor { found, ..neighbor.clone() }, password)),
            Ok(None) => waiting.extend(missing(&neighbor.found)),
            Err(error) => ambiguous.push(error),
        }
    }
    if let Some(discover) = &meant.discover {
        let ports = now.links.iter().filter(|link| {
            let heard = discover.ports == Ports::All || now.advertised.contains(&link.name);
            heard && link.is_physical() && link.master.is_none()
        });
        let before = sessions.len();
        sessions.extend(ports.filter_map(|link| {
            let found = Found::Port { name: LinkName::parse(&link.name).ok()?, mac: link.port_mac() };
            Some((Neighbor { found, ..discover.like.clone() }, None))
        }));
        if sessions.len() == before {
            waiting.push(Waiting::AnyPort);
        }
    }
    ambiguous.dedup();
    if ambiguous.is_empty() { Ok(sessions) } else { Err(ambiguous) }
}

/// A neighbour with the kernel's name of its port; none while the port is missing.
fn found(meant: &Found, links: &[Link]) -> Result<Option<Found>, Ambiguous> {
    let Found::Port { name, mac } = meant else { return Ok(Some(meant.clone())) };
    let link = match mac {
        Some(mac) => link::port(links, *mac)?,
        None => links.iter().find(|link| link.name == name.as_str()),
    };
    let name = link.and_then(|link| LinkName::parse(&link.name).ok());
    Ok(name.map(|name| Found::Port { name, mac: *mac }))
}

fn is_heard(neighbor: &Neighbor, now: Conditions<'_>, waiting: &mut Vec<Waiting>) -> bool {
    let Found::Port { name, .. } = &neighbor.found else { return true };
    let heard = now.advertised.contains(name.as_str());
    if !heard {
        waiting.push(Waiting::Router(name.clone()));
    }
    heard
}

fn missing(meant: &Found) -> Option<Waiting> {
    match meant {
        Found::Port { name, mac } => Some(Waiting::Port { name: name.clone(), mac: *mac }),
        Found::Address { .. } => None,
    }
}

/// The ports toward the fabric: those of neighbours, and those on which one may be found.
fn ports(meant: &BgpConfig, model: &Model, now: Conditions<'_>) -> Vec<String> {
    let port = |neighbor: &Neighbor| match found(&neighbor.found, now.links) {
        Ok(Some(Found::Port { name, .. })) => Some(name.to_string()),
        _ => None,
    };
    let mut ports: Vec<String> = meant.model.fabric.neighbors.iter().filter_map(port).collect();
    for name in model.fabric.neighbors.iter().filter_map(port) {
        if !ports.contains(&name) {
            ports.push(name);
        }
    }
    ports
}

/// Adds the addresses of links that are announced whatever they are. Those of an anycast link are never a source.
fn announce(model: &mut Model, meant: &BgpConfig, now: Conditions<'_>) {
    for announce in &meant.announce {
        let Some(link) = now.links.iter().find(|link| link.name == announce.link.as_str()) else { continue };
        for net in link.addresses.iter().filter(|net| is_for_others(**net)) {
            let net = IpNet::from(net.addr());
            let announced = Announced { kind: announce.kind, link: announce.link.clone(), net };
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

/// Whether an address of a loopback or dummy link means something to others.
fn is_for_others(net: IpNet) -> bool {
    let link_local = match net {
        IpNet::V4(net) => net.addr().is_link_local(),
        IpNet::V6(net) => net.addr().is_unicast_link_local(),
    };
    net.prefix_len() == net.max_prefix_len() && !net.addr().is_loopback() && !link_local
}

fn lead(workload: &Workload) -> Option<VethPair> {
    let net = |address| IpNet::new(address, workload.prefix).ok();
    Some(VethPair {
        domain: workload.domain.clone(),
        ours: (workload.ours.link.clone(), net(workload.ours.address)?),
        theirs: (workload.theirs.link.clone(), net(workload.theirs.address)?),
    })
}

/// The first link toward the fabric: the port of the first neighbour, or the link of its network; a port where neither is
/// known.
fn first_link<'l>(fabric: &[Neighbor], links: &'l [Link]) -> Option<&'l Link> {
    let toward = |neighbor: &Neighbor| match &neighbor.found {
        Found::Port { name, .. } => links.iter().find(|link| link.name == name.as_str()),
        Found::Address { address, .. } => {
            links.iter().find(|link| link.addresses.iter().any(|net| net.contains(address)))
        }
    };
    fabric.iter().find_map(toward).or_else(|| links.iter().find(|link| link.is_physical() && link.up))
}

/// The link to the speaker, unless the kernel cannot make it yet.
fn pair(
    duty: &AgentConfig,
    lead: VethPair,
    fabric: &[Neighbor],
    now: Conditions<'_>,
    waiting: &mut Vec<Waiting>,
) -> Option<Pair> {
    if let Domain::Vrf { name, .. } = &lead.domain
        && !now.vrf
    {
        waiting.push(Waiting::Vrf(name.clone()));
        return None;
    }
    let Some(mtu) = duty.mtu.or_else(|| first_link(fabric, now.links).map(|link| link.mtu)) else {
        waiting.push(Waiting::Mtu);
        return None;
    };
    Some(Pair { domain: lead.domain, ours: lead.ours, theirs: lead.theirs, mtu })
}
