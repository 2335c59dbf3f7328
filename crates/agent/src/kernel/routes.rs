//! Routes that came by BGP, in the kernel.

use std::io;
use std::net::IpAddr;

use futures_util::StreamExt;
use ichor_bgp::agent::route::{NextHop, Route, RouteChanges, RouteOrigin};
use ichor_bgp::model::Family;
use ipnet::IpNet;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteNextHop, RouteProtocol, RouteScope,
    RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;
use rtnetlink::RouteNextHopBuilder;

use super::{HINT, Kernel, error, unless};

/// A route that the kernel refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} route {} in table {}", route.prefix, route.table)]
pub struct RouteError {
    verb: &'static str,
    /// The route.
    pub route: Route,
    /// The kernel's reason.
    #[source]
    pub source: io::Error,
}

/// Kinds of routes that lead nowhere.
const NOWHERE: [RouteType; 4] =
    [RouteType::Unreachable, RouteType::BlackHole, RouteType::Prohibit, RouteType::Throw];

impl RouteError {
    /// What may help.
    pub fn hint(&self) -> Option<&'static str> {
        (self.source.kind() == io::ErrorKind::PermissionDenied).then_some(HINT)
    }
}

impl Kernel {
    /// The routes of tables that a routing daemon, or the agent for it, installed.
    pub async fn routes(&self, tables: &[u32]) -> io::Result<Vec<Route>> {
        let mut routes = Vec::new();
        for &table in tables {
            for family in Family::ALL {
                let mut request = request(family);
                set_table(&mut request, table);
                let found = self.dump_routes(request).await?;
                routes.extend(found.iter().filter(|message| self::table(message) == table).filter_map(route));
            }
        }
        Ok(routes)
    }

    /// Whether the kernel knows a way to an address: none of those that lead nowhere.
    pub async fn leads_to(&self, address: IpAddr) -> io::Result<bool> {
        let mut request = request(Family::of(address.into()));
        request.header.destination_prefix_length = IpNet::from(address).prefix_len();
        request.attributes.push(RouteAttribute::Destination(address.into()));
        match self.handle.route().get(request).execute().next().await.map(|answer| answer.map_err(error)) {
            Some(Ok(route)) => Ok(!NOWHERE.contains(&route.header.kind)),
            Some(Err(refused)) if means_nowhere(&refused) => Ok(false),
            Some(Err(refused)) => Err(refused),
            None => Err(io::Error::other("the kernel's answer did not come")),
        }
    }

    /// Does what makes the agent's routes those that are wanted. Tries everything, then tells everything that failed.
    pub async fn reconcile(&self, difference: &RouteChanges) -> Vec<RouteError> {
        let mut errors = Vec::new();
        for route in &difference.install {
            if let Err(source) = self.install(route).await {
                errors.push(RouteError { verb: "install", route: route.clone(), source });
            }
        }
        for route in &difference.remove {
            if let Err(source) = self.uninstall(route).await {
                errors.push(RouteError { verb: "remove", route: route.clone(), source });
            }
        }
        errors
    }

    /// Installs a route in the place of one with the same prefix.
    async fn install(&self, route: &Route) -> io::Result<()> {
        let mut message = message(route.table, route.prefix, route.metric);
        message.header.protocol = protocol_of(route.protocol);
        message.attributes.extend(route.source.map(|source| RouteAttribute::PrefSource(source.into())));
        let family = message.header.address_family;
        let mut hops = Vec::new();
        for hop in &route.hops {
            hops.push(next_hop(family, hop)?);
        }
        match &hops[..] {
            [] => return Err(io::Error::from(Errno::EINVAL)),
            [only] => {
                message.attributes.push(RouteAttribute::Oif(only.interface_index));
                message.attributes.extend(only.attributes.iter().cloned());
            }
            _ => message.attributes.push(RouteAttribute::MultiPath(hops)),
        }
        self.handle.route().add(message).replace().execute().await.map_err(error)
    }

    /// Removes a route; it may be gone.
    async fn uninstall(&self, route: &Route) -> io::Result<()> {
        let mut message = message(route.table, route.prefix, route.metric);
        message.header.protocol = protocol_of(route.protocol);
        unless(self.handle.route().del(message).execute().await, &[Errno::ESRCH])
    }

    /// Routes as the kernel tells them; none when there is no such table.
    pub(super) async fn dump_routes(&self, request: RouteMessage) -> io::Result<Vec<RouteMessage>> {
        let answers = match self.list(RouteNetlinkMessage::GetRoute(request)).await {
            Err(error) if error.raw_os_error() == Some(Errno::ENOENT as i32) => Vec::new(),
            answers => answers?,
        };
        let routes = answers.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewRoute(route) => Some(route),
            _ => None,
        });
        Ok(routes.collect())
    }
}

/// What the kernel answers for an address to which it has no route, or one that leads nowhere. IPv4 says `EINVAL` for a black hole.
fn means_nowhere(refusal: &io::Error) -> bool {
    let known = [Errno::ENETUNREACH, Errno::EHOSTUNREACH, Errno::EACCES, Errno::EINVAL];
    known.iter().any(|errno| refusal.raw_os_error() == Some(*errno as i32))
}

/// A request for all routes of a family.
pub(super) fn request(family: Family) -> RouteMessage {
    let mut request = RouteMessage::default();
    request.header.address_family = match family {
        Family::V4 => AddressFamily::Inet,
        Family::V6 => AddressFamily::Inet6,
    };
    request
}

/// A route that leads nowhere so far.
pub(super) fn message(table: u32, prefix: IpNet, metric: u32) -> RouteMessage {
    let mut message = request(Family::of(prefix));
    message.header.kind = RouteType::Unicast;
    message.header.scope = RouteScope::Universe;
    message.header.destination_prefix_length = prefix.prefix_len();
    set_table(&mut message, table);
    if prefix.prefix_len() > 0 {
        message.attributes.push(RouteAttribute::Destination(prefix.network().into()));
    }
    message.attributes.push(RouteAttribute::Priority(metric));
    message
}

/// Puts a route into a table, or asks for those of one.
pub(super) fn set_table(message: &mut RouteMessage, table: u32) {
    message.header.table = u8::try_from(table).unwrap_or(RouteHeader::RT_TABLE_UNSPEC);
    message.attributes.push(RouteAttribute::Table(table));
}

fn next_hop(family: AddressFamily, hop: &NextHop) -> io::Result<RouteNextHop> {
    let builder = RouteNextHopBuilder::new(family).interface(hop.link);
    let builder = match hop.via {
        Some(via) => builder.via(via).map_err(io::Error::other)?,
        None => builder,
    };
    Ok(builder.build())
}

/// The table of a route: its number may be too large for the header.
pub(super) fn table(message: &RouteMessage) -> u32 {
    let told = message.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Table(table) => Some(*table),
        _ => None,
    });
    told.unwrap_or(u32::from(message.header.table))
}

/// The metric of a route.
pub(super) fn metric(message: &RouteMessage) -> u32 {
    let told = message.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Priority(metric) => Some(*metric),
        _ => None,
    });
    told.unwrap_or(0)
}

fn protocol_of(protocol: RouteOrigin) -> RouteProtocol {
    match protocol {
        RouteOrigin::Bgp => RouteProtocol::Bgp,
        RouteOrigin::Bird => RouteProtocol::Bird,
        RouteOrigin::Zebra => RouteProtocol::Zebra,
    }
}

/// The route, if it is one of a routing daemon.
fn route(message: &RouteMessage) -> Option<Route> {
    let protocol = [RouteOrigin::Bgp, RouteOrigin::Bird, RouteOrigin::Zebra]
        .into_iter()
        .find(|protocol| protocol_of(*protocol) == message.header.protocol)?;
    let family = match message.header.address_family {
        AddressFamily::Inet => Family::V4,
        AddressFamily::Inet6 => Family::V6,
        _ => return None,
    };
    let mut route = Route {
        prefix: family.everything(),
        table: table(message),
        protocol,
        metric: metric(message),
        source: None,
        hops: [].into(),
    };
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(destination) => {
                route.prefix =
                    IpNet::new(address(destination)?, message.header.destination_prefix_length).ok()?;
            }
            RouteAttribute::PrefSource(source) => route.source = address(source),
            RouteAttribute::MultiPath(hops) => {
                route.hops =
                    hops.iter().filter_map(|hop| way(Some(hop.interface_index), &hop.attributes)).collect();
            }
            _ => {}
        }
    }
    if route.hops.is_empty() {
        route.hops.extend(way(None, &message.attributes));
    }
    Some(route)
}

/// A way; none without a link, such as into nothing.
fn way(link: Option<u32>, attributes: &[RouteAttribute]) -> Option<NextHop> {
    let (mut link, mut via) = (link, None);
    for attribute in attributes {
        match attribute {
            RouteAttribute::Oif(index) => link = Some(*index),
            RouteAttribute::Gateway(gateway) => via = address(gateway),
            RouteAttribute::Via(RouteVia::Inet6(gateway)) => via = Some(IpAddr::V6(*gateway)),
            RouteAttribute::Via(RouteVia::Inet(gateway)) => via = Some(IpAddr::V4(*gateway)),
            _ => {}
        }
    }
    Some(NextHop { via, link: link? })
}

fn address(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some(IpAddr::V4(*address)),
        RouteAddress::Inet6(address) => Some(IpAddr::V6(*address)),
        _ => None,
    }
}
